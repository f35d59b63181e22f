//! What users may order, and which of their wishes are changes.

use super::caller::Caller;
use crate::cloud_controller::{
    model::{Feature, Instance, Plan, PlanGuid, Tables},
    refusal::{Fault, Refusal},
    work::Change,
};

const TAGS_LIMIT: usize = 2_048;

/// The plan, if the caller may order it.
pub(super) fn ordered_plan<'a>(
    tables: &'a Tables,
    caller: &Caller,
    guid: &PlanGuid,
) -> Result<&'a Plan, Refusal> {
    let plan = tables
        .plans
        .get(guid)
        .filter(|plan| plan.available && caller.sees_plan(tables, plan));
    plan.ok_or_else(|| {
        Refusal::unprocessable(
            "Invalid service plan. Ensure that the service plan exists, is available, and you have access to it.",
        )
    })
}

/// What of a change is one. Refuses what the plan does not allow.
pub(super) fn effective(
    tables: &Tables,
    caller: &Caller,
    instance: &Instance,
    mut change: Change,
) -> Result<Change, Refusal> {
    change.plan = change.plan.filter(|plan| *plan != instance.plan);
    if let Some(name) = &change.name {
        let taken = |other: &Instance| {
            other.guid != instance.guid && other.space == instance.space && other.name == *name
        };
        if tables.instances.values().any(taken) {
            return Err(Refusal::unprocessable(format!(
                "The service instance name is taken: {name}"
            )));
        }
    }
    if let Some(guid) = &change.plan {
        let new = ordered_plan(tables, caller, guid)?;
        let old = tables
            .plan_of(instance)
            .filter(|old| old.offering == new.offering);
        let old = old.ok_or_else(|| {
            Refusal::unprocessable("service plan relates to a different service offering")
        })?;
        if !tables.is_updateable(old) {
            return Err(Refusal::unprocessable(
                "The service does not support changing plans.",
            ));
        }
        if change.maintenance_version.is_some() {
            return Err(Fault::MaintenanceInfoNotUpdatableWhenChangingPlan
                .with("maintenance_info should not be changed when switching to different plan."));
        }
    }
    if let Some(version) = &change.maintenance_version {
        let offered = tables
            .plan_of(instance)
            .and_then(|plan| plan.maintenance_info.as_ref());
        let offered = offered.ok_or_else(|| {
            Fault::MaintenanceInfoNotSupported.with(
                "The service broker does not support upgrades for service instances created from this plan.",
            )
        })?;
        let current = instance.maintenance_info.as_ref().map(|info| &info.version);
        if current == Some(version) {
            change.maintenance_version = None;
        } else if offered.version != *version {
            return Err(Fault::MaintenanceInfoConflict.with(
                "maintenance_info.version requested is invalid. Please ensure the catalog is up to date and you are \
                 providing a version supported by this service plan.",
            ));
        }
    }
    Ok(change)
}

/// Whether the broker must be asked for a change.
pub(super) fn needs_broker(tables: &Tables, instance: &Instance, change: &Change) -> bool {
    let renamed = change
        .name
        .as_ref()
        .is_some_and(|name| *name != instance.name);
    let offering = tables
        .plan_of(instance)
        .and_then(|plan| tables.offering_of(plan));
    change.plan.is_some()
        || change.parameters.is_some()
        || change.maintenance_version.is_some()
        || (renamed && offering.is_some_and(|offering| offering.has(Feature::AllowContextUpdates)))
}

/// Tags that fit.
pub(super) fn checked_tags(tags: Vec<String>) -> Result<Vec<String>, Refusal> {
    if tags.iter().map(String::len).sum::<usize>() > TAGS_LIMIT {
        return Err(Refusal::unprocessable(format!(
            "combined length of tags cannot exceed {TAGS_LIMIT} characters"
        )));
    }
    Ok(tags)
}
