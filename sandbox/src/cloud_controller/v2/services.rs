//! Services of v2: the offerings of v3.

use actix_web::{
    HttpRequest,
    web::{Data, Path, ServiceConfig, get, resource},
};
use serde_json::{Value, json};

use super::{
    V2Answer,
    caller::V2Caller,
    listing::{Resource, Row, V2Query, changed},
    rejection::V2Rejection,
    service_plans,
};
use crate::cloud_controller::{
    CloudController,
    model::{Feature, Offering, OfferingGuid, Tables},
};

const FIELDS: [&str; 5] = [
    "active",
    "label",
    "unique_id",
    "service_broker_guid",
    "provider",
];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/services").route(get().to(list)))
        .service(resource("/services/{guid}/service_plans").route(get().to(plans_of)));
}

async fn list(
    controller: Data<CloudController>,
    caller: V2Caller,
    request: HttpRequest,
) -> V2Answer {
    let query = V2Query::of(&request, &FIELDS)?;
    controller.0.state.read(|tables| {
        let rows = tables
            .offerings
            .values()
            .filter(|row| sees(tables, &caller, row))
            .map(|row| Row {
                resource: service(tables, row),
                fields: vec![
                    ("active", vec![row.available.to_string()]),
                    ("label", vec![row.name.clone()]),
                    ("unique_id", vec![row.catalog_id.clone()]),
                    ("service_broker_guid", vec![row.broker.to_string()]),
                    ("provider", Vec::new()),
                ],
            });
        Ok(query.answer(rows))
    })
}

async fn plans_of(
    controller: Data<CloudController>,
    caller: V2Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> V2Answer {
    let query = V2Query::of(&request, &service_plans::FIELDS)?;
    controller.0.state.read(|tables| {
        let offering = visible(tables, &caller, &guid)?;
        let permissions = caller.permissions(tables);
        let rows = tables
            .plans_of_offering(&offering.guid)
            .filter(|row| permissions.sees_plan(row))
            .map(|row| service_plans::row(tables, row));
        Ok(query.answer(rows))
    })
}

fn visible<'a>(
    tables: &'a Tables,
    caller: &V2Caller,
    guid: &str,
) -> Result<&'a Offering, V2Rejection> {
    tables
        .offerings
        .get(&OfferingGuid::given(guid))
        .filter(|row| sees(tables, caller, row))
        .ok_or_else(|| V2Rejection::no_such_service(guid))
}

/// A service is seen through its plans.
fn sees(tables: &Tables, caller: &V2Caller, offering: &Offering) -> bool {
    let permissions = caller.permissions(tables);
    permissions.sees_everything()
        || tables
            .plans_of_offering(&offering.guid)
            .any(|plan| permissions.sees_plan(plan))
}

fn service(tables: &Tables, offering: &Offering) -> Resource {
    let url = format!("/v2/services/{}", offering.guid);
    let metadata = &offering.catalog_metadata;
    let extra = (!metadata.is_empty()).then(|| Value::Object(metadata.clone()).to_string());
    let broker = tables.brokers.get(&offering.broker);
    let entity = json!({
        "label": offering.name,
        "provider": null,
        "url": null,
        "description": offering.description,
        "long_description": null,
        "version": null,
        "info_url": null,
        "active": offering.available,
        "bindable": offering.has(Feature::Bindable),
        "unique_id": offering.catalog_id,
        "extra": extra,
        "tags": offering.tags,
        "requires": offering.requires,
        "documentation_url": null,
        "service_broker_guid": offering.broker,
        "service_broker_name": broker.map(|broker| &broker.name),
        "plan_updateable": offering.has(Feature::PlanUpdateable),
        "bindings_retrievable": offering.has(Feature::BindingsRetrievable),
        "instances_retrievable": offering.has(Feature::InstancesRetrievable),
        "allow_context_updates": offering.has(Feature::AllowContextUpdates),
        "service_plans_url": format!("{url}/service_plans"),
    });
    Resource {
        guid: offering.guid.to_string(),
        created_at: offering.created_at,
        updated_at: changed(offering.created_at, offering.updated_at),
        entity,
        url,
    }
}
