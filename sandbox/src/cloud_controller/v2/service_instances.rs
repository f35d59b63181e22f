//! Service instances of v2, to look at.

use actix_web::{
    HttpRequest,
    web::{Data, Path, ServiceConfig, get, resource},
};
use serde_json::{Value, json};

use super::{
    V2Answer,
    caller::V2Caller,
    listing::{Resource, Row, V2Query, changed, stamp},
    rejection::V2Rejection,
    service_bindings, service_keys,
};
use crate::cloud_controller::{
    CloudController,
    model::{BindingKind, Instance, InstanceGuid, LastOperation, OperationState, Tables},
};

pub(super) const FIELDS: [&str; 5] = [
    "name",
    "space_guid",
    "service_plan_guid",
    "organization_guid",
    "service_binding_guid",
];

/// The route `/service_instances/{guid}` is with the changes.
pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        resource("/service_instances/{guid}/service_bindings").route(get().to(bindings_of)),
    )
    .service(resource("/service_instances/{guid}/service_keys").route(get().to(keys_of)));
}

pub(super) async fn one(
    controller: Data<CloudController>,
    caller: V2Caller,
    guid: Path<String>,
) -> V2Answer {
    controller
        .0
        .state
        .read(|tables| Ok(instance(tables, visible(tables, &caller, &guid)?).answer()))
}

async fn bindings_of(
    controller: Data<CloudController>,
    caller: V2Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> V2Answer {
    let query = V2Query::of(&request, &service_bindings::FIELDS)?;
    controller.0.state.read(|tables| {
        let instance = visible(tables, &caller, &guid)?;
        let rows = tables
            .bindings_of(&instance.guid)
            .filter(|binding| matches!(binding.kind, BindingKind::App(_)))
            .map(|binding| service_bindings::row(tables, &caller, binding));
        Ok(query.answer(rows))
    })
}

async fn keys_of(
    controller: Data<CloudController>,
    caller: V2Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> V2Answer {
    let query = V2Query::of(&request, &service_keys::FIELDS)?;
    controller.0.state.read(|tables| {
        let instance = visible(tables, &caller, &guid)?;
        let rows = tables
            .bindings_of(&instance.guid)
            .filter(|binding| binding.kind == BindingKind::Key)
            .map(|binding| service_keys::row(tables, &caller, binding));
        Ok(query.answer(rows))
    })
}

pub(super) fn visible<'a>(
    tables: &'a Tables,
    caller: &V2Caller,
    guid: &str,
) -> Result<&'a Instance, V2Rejection> {
    tables
        .instances
        .get(&InstanceGuid::given(guid))
        .filter(|instance| caller.permissions(tables).sees_instance(tables, instance))
        .ok_or_else(|| V2Rejection::no_such_instance(guid))
}

pub(super) fn row(tables: &Tables, row: &Instance) -> Row {
    let organization = tables.organization_of(&row.space);
    let bindings = tables.bindings_of(&row.guid);
    Row {
        resource: instance(tables, row),
        fields: vec![
            ("name", vec![row.name.clone()]),
            ("space_guid", vec![row.space.to_string()]),
            ("service_plan_guid", vec![row.plan.to_string()]),
            (
                "organization_guid",
                organization
                    .map(|organization| organization.guid.to_string())
                    .into_iter()
                    .collect(),
            ),
            (
                "service_binding_guid",
                bindings.map(|binding| binding.guid.to_string()).collect(),
            ),
        ],
    }
}

pub(super) fn instance(tables: &Tables, instance: &Instance) -> Resource {
    let url = format!("/v2/service_instances/{}", instance.guid);
    let below = |name: &str| format!("{url}/{name}");
    let offering = tables.plan_of(instance).map(|plan| &plan.offering);
    let info = instance.maintenance_info.as_ref();
    let entity = json!({
        "name": instance.name,
        "credentials": {},
        "service_plan_guid": instance.plan,
        "space_guid": instance.space,
        "gateway_data": null,
        "dashboard_url": instance.dashboard_url,
        "type": "managed_service_instance",
        "last_operation": last_operation(&instance.last_operation),
        "tags": instance.tags,
        "maintenance_info": info.map_or_else(|| json!({}), |info| json!(info)),
        "service_guid": offering,
        "space_url": format!("/v2/spaces/{}", instance.space),
        "service_plan_url": format!("/v2/service_plans/{}", instance.plan),
        "service_bindings_url": below("service_bindings"),
        "service_keys_url": below("service_keys"),
        "routes_url": below("routes"),
        "service_url": offering.map(|offering| format!("/v2/services/{offering}")),
        "shared_from_url": below("shared_from"),
        "shared_to_url": below("shared_to"),
        "service_instance_parameters_url": below("parameters"),
    });
    Resource {
        guid: instance.guid.to_string(),
        created_at: instance.created_at,
        updated_at: changed(instance.created_at, instance.updated_at),
        entity,
        url,
    }
}

/// v2 knows no `initial`.
pub(super) fn last_operation(operation: &LastOperation) -> Value {
    let state = match operation.state {
        OperationState::Initial => OperationState::InProgress,
        other => other,
    };
    json!({
        "type": operation.kind,
        "state": state,
        "description": operation.description.as_deref().unwrap_or_default(),
        "updated_at": stamp(operation.updated_at),
        "created_at": stamp(operation.created_at),
    })
}
