//! Service plans of v2.

use actix_web::{
    HttpRequest,
    web::{Bytes, Data, Path, ServiceConfig, get, put, resource},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    V2Answer,
    body::message,
    caller::V2Caller,
    created,
    listing::{Resource, Row, V2Query, changed},
    rejection::V2Rejection,
    service_instances,
};
use crate::cloud_controller::{
    CloudController,
    model::{InstanceGuid, InstanceKey, Plan, PlanGuid, Tables, Visibility},
};

pub(super) const FIELDS: [&str; 5] = [
    "active",
    "service_guid",
    "service_instance_guid",
    "service_broker_guid",
    "unique_id",
];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/service_plans").route(get().to(list)))
        .service(
            resource("/service_plans/{guid}")
                .route(get().to(one))
                .route(put().to(update)),
        )
        .service(resource("/service_plans/{guid}/service_instances").route(get().to(instances_of)));
}

async fn list(
    controller: Data<CloudController>,
    caller: V2Caller,
    request: HttpRequest,
) -> V2Answer {
    let query = V2Query::of(&request, &FIELDS)?;
    let instances = query
        .values("service_instance_guid")
        .map(<[String]>::to_vec);
    controller.0.state.read(|tables| {
        let permissions = caller.permissions(tables);
        // The filter by instance goes from the instance to its plan.
        let of_instances: Option<Vec<_>> = instances.map(|guids| {
            guids
                .iter()
                .filter_map(|guid| tables.instances.get(&InstanceGuid::given(guid)))
                .map(|instance| (instance.plan.clone(), instance.guid.to_string()))
                .collect()
        });
        let rows = tables
            .plans
            .values()
            .filter(|row| permissions.sees_plan(row))
            .map(|plan| {
                let mut row = row(tables, plan);
                let mine = of_instances.iter().flatten();
                let mine = mine
                    .filter(|(of, _)| *of == plan.guid)
                    .map(|(_, guid)| guid.clone());
                row.fields.push(("service_instance_guid", mine.collect()));
                row
            });
        Ok(query.answer(rows))
    })
}

async fn one(controller: Data<CloudController>, caller: V2Caller, guid: Path<String>) -> V2Answer {
    controller
        .0
        .state
        .read(|tables| Ok(plan(tables, visible(tables, &caller, &guid)?).answer()))
}

async fn instances_of(
    controller: Data<CloudController>,
    caller: V2Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> V2Answer {
    let query = V2Query::of(&request, &service_instances::FIELDS)?;
    controller.0.state.read(|tables| {
        let plan = visible(tables, &caller, &guid)?.guid.clone();
        let permissions = caller.permissions(tables);
        let rows = tables
            .instances
            .with(InstanceKey::Plan(plan))
            .filter(|row| permissions.sees_instance(tables, row))
            .map(|row| service_instances::row(tables, row));
        Ok(query.answer(rows))
    })
}

#[derive(Deserialize)]
struct Update {
    public: Option<bool>,
}

/// A plan that is not public is seen by admins, and by the organizations that have a visibility.
async fn update(
    controller: Data<CloudController>,
    caller: V2Caller,
    guid: Path<String>,
    body: Bytes,
) -> V2Answer {
    caller.must_be_admin()?;
    let wanted: Update = message(&body)?;
    controller.0.state.change(|tables| {
        let row = tables
            .plans
            .get_mut(&PlanGuid::given(&guid))
            .ok_or_else(|| V2Rejection::no_such_plan(&guid))?;
        match (wanted.public, &row.visibility) {
            (Some(true), _) => row.visibility = Visibility::Public,
            (Some(false), Visibility::Public) => row.visibility = Visibility::Admin,
            (Some(false) | None, _) => {}
        }
        row.updated_at = jiff::Timestamp::now();
        let row = row.clone();
        Ok(created(&plan(tables, &row).presented()))
    })
}

fn visible<'a>(tables: &'a Tables, caller: &V2Caller, guid: &str) -> Result<&'a Plan, V2Rejection> {
    tables
        .plans
        .get(&PlanGuid::given(guid))
        .filter(|row| caller.sees_plan(tables, row))
        .ok_or_else(|| V2Rejection::no_such_plan(guid))
}

pub(super) fn row(tables: &Tables, row: &Plan) -> Row {
    let offering = tables.offering_of(row);
    Row {
        resource: plan(tables, row),
        fields: vec![
            ("active", vec![row.available.to_string()]),
            ("service_guid", vec![row.offering.to_string()]),
            (
                "service_broker_guid",
                offering
                    .map(|offering| offering.broker.to_string())
                    .into_iter()
                    .collect(),
            ),
            ("unique_id", vec![row.catalog_id.clone()]),
        ],
    }
}

fn plan(tables: &Tables, plan: &Plan) -> Resource {
    let url = format!("/v2/service_plans/{}", plan.guid);
    let metadata = &plan.catalog_metadata;
    let extra = (!metadata.is_empty()).then(|| Value::Object(metadata.clone()).to_string());
    let schema = |pointer: &str| {
        plan.schemas
            .pointer(pointer)
            .cloned()
            .unwrap_or_else(|| json!({}))
    };
    let limit = plan.maximum_polling_duration;
    let entity = json!({
        "name": plan.name,
        "free": plan.free,
        "description": plan.description,
        "service_guid": plan.offering,
        "extra": extra,
        "unique_id": plan.catalog_id,
        "public": plan.visibility == Visibility::Public,
        "bindable": tables.is_bindable(plan),
        "plan_updateable": tables.is_updateable(plan),
        "active": plan.available,
        "maximum_polling_duration": limit.map(|limit| limit.as_secs()),
        "maintenance_info": plan.maintenance_info.as_ref().map_or_else(|| json!({}), |info| json!(info)),
        "service_url": format!("/v2/services/{}", plan.offering),
        "service_instances_url": format!("{url}/service_instances"),
        "schemas": {
            "service_instance": {
                "create": {"parameters": schema("/service_instance/create/parameters")},
                "update": {"parameters": schema("/service_instance/update/parameters")},
            },
            "service_binding": {"create": {"parameters": schema("/service_binding/create/parameters")}},
        },
    });
    Resource {
        guid: plan.guid.to_string(),
        created_at: plan.created_at,
        updated_at: changed(plan.created_at, plan.updated_at),
        entity,
        url,
    }
}
