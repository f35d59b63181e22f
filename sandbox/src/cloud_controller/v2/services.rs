//! Changes in v2 of plans, instances and bindings. The broker is called while the request waits.

use std::collections::BTreeSet;

use actix_web::{HttpResponse, http::header::LOCATION};
use jiff::Timestamp;
use serde::Deserialize;

use super::{
    JSON, V2Response, created,
    kinds::{PlanVisibility, ServiceBinding, ServiceKey},
    no_content,
    rejection::V2Rejection,
    resource::{V2Call, V2Resource, presented, visible},
};
use crate::cloud_controller::{
    api::{View, effective, needs_broker},
    broker_client::AcceptsIncomplete,
    model::{
        AppGuid, BindingGuid, BindingKind, Instance, InstanceGuid, JobResource, OperationKind,
        OperationState, OrganizationGuid, Plan, PlanGuid, RouteGuid, Visibility,
    },
    work::{Change, FirstResponse},
};

#[derive(Deserialize)]
struct PlanUpdate {
    public: Option<bool>,
}

/// A plan that is not public is seen by admins, and by the organizations that have a visibility.
pub(super) async fn update_plan(call: V2Call) -> V2Response {
    call.must_be_admin()?;
    let wanted: PlanUpdate = call.message()?;
    call.change(|tables| {
        let guid = PlanGuid::given(call.guid());
        let row = tables.plans.get_mut(&guid);
        let row = row.ok_or_else(|| V2Rejection::no_such_plan(call.guid()))?;
        match (wanted.public, &row.visibility) {
            (Some(true), _) => row.visibility = Visibility::Public,
            (Some(false), Visibility::Public) => row.visibility = Visibility::Admin,
            (Some(false) | None, _) => {}
        }
        row.updated_at = Timestamp::now();
        let view = call.view(tables);
        Ok(created(&presented::<Plan>(
            &view,
            visible::<Plan>(&view, call.guid())?,
        )))
    })
}

#[derive(Deserialize)]
struct NewVisibility {
    service_plan_guid: String,
    organization_guid: String,
}

pub(super) async fn create_visibility(call: V2Call) -> V2Response {
    call.must_be_admin()?;
    let wanted: NewVisibility = call.message()?;
    let organization = OrganizationGuid::given(&wanted.organization_guid);
    let plan = PlanGuid::given(&wanted.service_plan_guid);
    call.change(|tables| {
        if !tables.organizations.contains_key(&organization) {
            return Err(V2Rejection::visibility_invalid("organization presence"));
        }
        let row = tables.plans.get_mut(&plan);
        let row = row.ok_or_else(|| V2Rejection::visibility_invalid("service_plan presence"))?;
        match &mut row.visibility {
            Visibility::Public => {
                return Err(V2Rejection::visibility_invalid("service_plan is public"));
            }
            Visibility::Admin => {
                row.visibility = Visibility::Organizations(BTreeSet::from([organization.clone()]));
            }
            Visibility::Organizations(organizations) => {
                if !organizations.insert(organization.clone()) {
                    return Err(V2Rejection::visibility_taken(
                        "organization_id and service_plan_id unique",
                    ));
                }
            }
        }
        let row = row.clone();
        let view = call.view(tables);
        Ok(created(&presented::<PlanVisibility>(
            &view,
            (&row, &organization),
        )))
    })
}

pub(super) async fn remove_visibility(call: V2Call) -> V2Response {
    call.must_be_admin()?;
    call.change(|tables| {
        let view = call.view(tables);
        let (plan, organization) = visible::<PlanVisibility>(&view, call.guid())?;
        let (plan, organization) = (plan.guid.clone(), organization.clone());
        if let Some(plan) = tables.plans.get_mut(&plan)
            && let Visibility::Organizations(organizations) = &mut plan.visibility
        {
            organizations.remove(&organization);
            if organizations.is_empty() {
                plan.visibility = Visibility::Admin;
            }
        }
        Ok(no_content())
    })
}

#[derive(Deserialize)]
struct InstanceUpdate {
    maintenance_info: Option<Version>,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

pub(super) async fn update_instance(call: V2Call) -> V2Response {
    let wanted: InstanceUpdate = call.message()?;
    let guid = InstanceGuid::given(call.guid());
    let begun = call.change(|tables| {
        let view = call.view(tables);
        let row = visible::<Instance>(&view, call.guid())?.clone();
        view.permissions.must_write(tables, &row.space)?;
        if row.last_operation.is_running() {
            return Err(V2Rejection::in_progress(&row.name));
        }
        let change = Change {
            maintenance_version: wanted.maintenance_info.map(|info| info.version),
            ..Change::default()
        };
        let change = effective(&view, &row, change)?;
        if !needs_broker(tables, &row, &change) {
            change.apply_to(tables, &row.guid);
            return Ok(None);
        }
        Ok(Some((call.begun_update(tables, &row.guid), change)))
    })?;
    let answer = match begun {
        None => Some(FirstResponse::Done),
        Some((operation, change)) => {
            let answer = operation.update_and_wait(guid, change, call.accepts_incomplete());
            answer.await
        }
    };
    answered(&call, answer, None)
}

pub(super) async fn remove_instance(call: V2Call) -> V2Response {
    if call.is_set("purge") {
        call.must_be_admin()?;
        return call.change(|tables| {
            let guid = visible::<Instance>(&call.view(tables), call.guid())?
                .guid
                .clone();
            tables.forget_instance(&guid);
            Ok(no_content())
        });
    }
    let (operation, guid, name) = call.change(|tables| {
        let view = call.view(tables);
        let row = visible::<Instance>(&view, call.guid())?;
        view.permissions.must_write(tables, &row.space)?;
        if row.last_operation.prevents_delete() {
            return Err(V2Rejection::in_progress(&row.name));
        }
        if tables.bindings_of(&row.guid).next().is_some() {
            return Err(V2Rejection::association_not_empty(
                "service_bindings, service_keys, and routes associations for your service_instances.",
            ));
        }
        if !row.shared_spaces.is_empty() {
            return Err(V2Rejection::shared(&row.name));
        }
        let (guid, name) = (row.guid.clone(), row.name.clone());
        Ok((call.begun_delete(tables, &guid), guid, name))
    })?;
    let answer = operation
        .deprovision_and_wait(guid, call.accepts_incomplete())
        .await;
    match answer {
        Some(FirstResponse::Done) => Ok(no_content()),
        other => answered(&call, other, Some(&name)),
    }
}

/// 201 when it is done, 202 when the broker is at it, both with the instance.
fn answered(call: &V2Call, answer: Option<FirstResponse>, deleted: Option<&str>) -> V2Response {
    let shown = || {
        call.read(|view| {
            let row = visible::<Instance>(view, call.guid())?;
            Ok::<_, V2Rejection>(presented::<Instance>(view, row))
        })
    };
    match answer {
        Some(FirstResponse::Done) => Ok(created(&shown()?)),
        Some(FirstResponse::Begun) => {
            let location = format!("{}/{}", Instance::PATH, call.guid());
            Ok(HttpResponse::Accepted()
                .insert_header((LOCATION, location))
                .content_type(JSON)
                .body(shown()?.to_string()))
        }
        Some(FirstResponse::Refused(failure)) => Err(V2Rejection::broker(&failure, deleted)),
        None => Err(V2Rejection::stopping("")),
    }
}

pub(super) async fn unbind_app(call: V2Call) -> V2Response {
    let app = BindingKind::App(AppGuid::given(call.part("app")));
    unbind(&call, AcceptsIncomplete::Synchronous, |view| {
        let row = visible::<ServiceBinding>(view, call.guid())?;
        if row.kind != app {
            return Err(V2Rejection::no_such_binding(call.guid()));
        }
        Ok(row.guid.clone())
    })
    .await
}

/// Brokers are never given time for keys.
pub(super) async fn remove_key(call: V2Call) -> V2Response {
    unbind(&call, AcceptsIncomplete::Synchronous, |view| {
        Ok(visible::<ServiceKey>(view, call.guid())?.guid.clone())
    })
    .await
}

pub(super) async fn unbind_route(call: V2Call) -> V2Response {
    let (instance, route) = (call.guid(), call.part("route"));
    let wanted = BindingKind::Route(RouteGuid::given(route));
    unbind(&call, call.accepts_incomplete(), |view| {
        let instance_guid = &visible::<Instance>(view, instance)?.guid;
        let mut bindings = view.tables.bindings_of(instance_guid);
        let binding = bindings.find(|binding| binding.kind == wanted);
        let binding = binding.ok_or_else(|| V2Rejection::not_bound(route, instance))?;
        Ok(binding.guid.clone())
    })
    .await
}

/// Has the broker delete a binding and waits for its answer.
async fn unbind(
    call: &V2Call,
    accepts_incomplete: AcceptsIncomplete,
    find: impl FnOnce(&View<'_>) -> Result<BindingGuid, V2Rejection>,
) -> V2Response {
    let (operation, guid, name) = call.change(|tables| {
        let view = call.view(tables);
        let guid = find(&view)?;
        let row = tables.bindings.get(&guid);
        let row = row.ok_or_else(|| V2Rejection::no_such_binding(guid.as_str()))?;
        let instance = tables.instances.get(&row.instance);
        let name = instance.map_or_else(String::new, |instance| instance.name.clone());
        if let Some(space) = tables.space_of(row) {
            view.permissions.must_operate(tables, space)?;
        }
        let instance_is_busy = instance.is_some_and(|row| row.last_operation.is_running());
        if row.last_operation.is_running() || instance_is_busy {
            return Err(V2Rejection::in_progress(&name));
        }
        let job = row.kind.deletion();
        // The row keeps its last operation until the broker has taken the delete.
        let last_operation = tables.operation(OperationKind::Delete, OperationState::InProgress);
        let resource = JobResource::Binding(guid.clone());
        let operation = call.begun(tables, job, resource, &last_operation);
        Ok((operation, guid, name))
    })?;
    match operation.unbind_and_wait(guid, accepts_incomplete).await {
        Some(FirstResponse::Done) => Ok(no_content()),
        Some(FirstResponse::Begun) => Ok(HttpResponse::Accepted().content_type(JSON).body("{}")),
        Some(FirstResponse::Refused(failure)) => Err(V2Rejection::broker(&failure, Some(&name))),
        None => Err(V2Rejection::stopping("")),
    }
}
