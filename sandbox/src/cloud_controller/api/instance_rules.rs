//! The rules for orders, and for which requested values are changes.

use super::{call::View, spaces::ordered_space};
use crate::cloud_controller::{
    broker_client::Target,
    model::{
        BindingKind, Feature, Instance, InstanceGuid, InstanceKey, OperationKind, OperationState,
        Plan, PlanGuid, SpaceGuid, Tables, Visibility,
    },
    rejection::{ErrorKind, Rejection},
    work::Change,
};

const TAGS_LIMIT: usize = 2_048;

/// The space, if the caller may order services in it.
pub(super) fn orderable_space(view: &View<'_>, guid: &str) -> Result<SpaceGuid, Rejection> {
    if !view.caller.is_admin() {
        view.tables.must_be_enabled("service_instance_creation")?;
    }
    let space = ordered_space(view, guid)?;
    view.permissions.must_write(view.tables, &space)?;
    Ok(space)
}

pub(super) fn ordered_plan<'a>(view: &View<'a>, guid: &str) -> Result<&'a Plan, Rejection> {
    let plan = view
        .visible::<Plan>(guid)
        .ok()
        .filter(|plan| plan.available);
    plan.ok_or_else(|| {
        Rejection::unprocessable(
            "Invalid service plan. Ensure that the service plan exists, is available, and you have access to it.",
        )
    })
}

/// A plan that is visible through one organization cannot be ordered in another.
pub(super) fn must_be_usable(
    tables: &Tables,
    plan: &Plan,
    space: &SpaceGuid,
) -> Result<(), Rejection> {
    let organization = tables.spaces.get(space).map(|space| &space.organization);
    match &plan.visibility {
        Visibility::Organizations(organizations)
            if !organization.is_some_and(|guid| organizations.contains(guid)) =>
        {
            Err(Rejection::unprocessable(
                "Invalid service plan. This could be due to a space-scoped broker which is offering the service plan \
                 'inside' another space or the plan is not available in this organization.",
            ))
        }
        _ => Ok(()),
    }
}

/// Makes sure that no instance has a name in a space, but for one that may keep it.
pub(super) fn must_be_free(
    tables: &Tables,
    space: &SpaceGuid,
    name: &str,
    but_for: Option<&InstanceGuid>,
) -> Result<(), Rejection> {
    let key = InstanceKey::Name(space.clone(), name.to_owned());
    let mut holders = tables.instances.with(key).map(|row| &row.guid);
    if holders.any(|guid| Some(guid) != but_for) {
        return Err(Rejection::unprocessable(format!(
            "The service instance name is taken: {name}"
        )));
    }
    Ok(())
}

/// Makes sure that a name is free in a space. An instance whose creation failed gives its name up: it is forgotten here
/// and what may be left of it at the broker is returned.
pub(super) fn free_name(
    tables: &mut Tables,
    space: &SpaceGuid,
    name: &str,
) -> Result<Option<Target>, Rejection> {
    let key = InstanceKey::Name(space.clone(), name.to_owned());
    let holder = tables.instances.with(key).next();
    let failed = holder.filter(|holder| {
        holder
            .last_operation
            .is(OperationKind::Create, OperationState::Failed)
    });
    let Some(holder) = failed else {
        must_be_free(tables, space, name, None)?;
        return Ok(None);
    };
    let (orphan, guid) = (tables.target(holder), holder.guid.clone());
    tables.forget_instance(&guid);
    Ok(orphan)
}

/// The parts of a change that differ from the instance. Rejects what the plan does not allow.
pub(in crate::cloud_controller) fn effective(
    view: &View<'_>,
    instance: &Instance,
    mut change: Change,
) -> Result<Change, Rejection> {
    let tables = view.tables;
    if let Some(guid) = change.plan.as_ref().filter(|guid| **guid != instance.plan) {
        ordered_plan(view, guid.as_str())?;
    }
    if let Some(name) = &change.name {
        must_be_free(tables, &instance.space, name, Some(&instance.guid))?;
        if !instance.shared_spaces.is_empty() {
            return Err(Rejection::unprocessable(
                "Service instances that have been shared cannot be renamed",
            ));
        }
    }
    change.plan = change.plan.filter(|plan| *plan != instance.plan);
    if let Some(guid) = &change.plan {
        check_plan_change(tables, instance, guid)?;
        if change.maintenance_version.is_some() {
            return Err(ErrorKind::MaintenanceInfoNotUpdatableWhenChangingPlan
                .with("maintenance_info should not be changed when switching to different plan."));
        }
    }
    change.maintenance_version = upgrade(tables, instance, change.maintenance_version)?;
    must_have_accessible_plan(tables, instance, &change)?;
    Ok(change)
}

fn check_plan_change(
    tables: &Tables,
    instance: &Instance,
    guid: &PlanGuid,
) -> Result<(), Rejection> {
    let new = tables.plans.get(guid);
    let old = tables
        .plan_of(instance)
        .filter(|old| new.is_some_and(|new| old.offering == new.offering));
    let (Some(new), Some(old)) = (new, old) else {
        return Err(Rejection::unprocessable(
            "service plan relates to a different service offering",
        ));
    };
    if !tables.is_updateable(old) {
        return Err(Rejection::unprocessable(
            "The service does not support changing plans.",
        ));
    }
    let mut bindings = tables.bindings_of(&instance.guid);
    if !tables.is_bindable(new)
        && bindings.any(|binding| matches!(binding.kind, BindingKind::App(_)))
    {
        return Err(Rejection::unprocessable(
            "The service plan is invalid: cannot switch to non-bindable plan when service bindings exist",
        ));
    }
    Ok(())
}

fn upgrade(
    tables: &Tables,
    instance: &Instance,
    version: Option<String>,
) -> Result<Option<String>, Rejection> {
    let Some(version) = version else {
        return Ok(None);
    };
    let offered = tables
        .plan_of(instance)
        .and_then(|plan| plan.maintenance_info.as_ref());
    let offered = offered.ok_or_else(|| {
        ErrorKind::MaintenanceInfoNotSupported.with(
            "The service broker does not support upgrades for service instances created from this plan.",
        )
    })?;
    let current = instance.maintenance_info.as_ref().map(|info| &info.version);
    if current == Some(&version) {
        Ok(None)
    } else if offered.version == version {
        Ok(Some(version))
    } else {
        Err(ErrorKind::MaintenanceInfoConflict.with(
            "maintenance_info.version requested is invalid. Please ensure the catalog is up to date and you are \
             providing a version supported by this service plan.",
        ))
    }
}

/// Changes that need the broker are rejected while the plan is not in the catalog.
fn must_have_accessible_plan(
    tables: &Tables,
    instance: &Instance,
    change: &Change,
) -> Result<(), Rejection> {
    let plan = tables.plan_of(instance);
    if plan.is_none_or(|plan| plan.available) {
        return Ok(());
    }
    let contextual =
        plan.is_some_and(|plan| tables.offering_has(plan, Feature::AllowContextUpdates));
    let what = match change {
        Change {
            parameters: Some(_),
            ..
        } => "parameters",
        Change { name: Some(_), .. } if contextual => "name",
        Change {
            maintenance_version: Some(_),
            ..
        } => "maintenance_info",
        _ => return Ok(()),
    };
    Err(Rejection::unprocessable(format!(
        "Cannot update {what} of a service instance that belongs to inaccessible plan"
    )))
}

/// Whether the broker must be asked for a change.
pub(in crate::cloud_controller) fn needs_broker(
    tables: &Tables,
    instance: &Instance,
    change: &Change,
) -> bool {
    let contextual = || {
        tables
            .plan_of(instance)
            .is_some_and(|plan| tables.offering_has(plan, Feature::AllowContextUpdates))
    };
    change.plan.is_some()
        || change.parameters.is_some()
        || change.maintenance_version.is_some()
        || (change.name.is_some() && contextual())
}

pub(super) fn checked_tags(tags: Vec<String>) -> Result<Vec<String>, Rejection> {
    if tags.iter().map(String::len).sum::<usize>() > TAGS_LIMIT {
        return Err(Rejection::unprocessable(format!(
            "Tags combined length of tags cannot exceed {TAGS_LIMIT} characters"
        )));
    }
    Ok(tags)
}
