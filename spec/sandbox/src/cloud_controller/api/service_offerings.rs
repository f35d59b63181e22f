//! Service offerings (`spec/contracts/platform-apis.md`, "Offerings and plans").

use actix_web::{
    HttpRequest,
    web::{Data, Path, ServiceConfig, get, resource},
};
use serde_json::{Value, json};

use super::{
    Answer,
    caller::Visitor,
    listing::{Included, Query},
    ok,
    present::{metadata, relation, selected, stamp},
};
use crate::cloud_controller::{
    CloudController,
    model::{Feature, Offering, OfferingGuid, Tables},
    refusal::Refusal,
};

const BROKER_FIELDS: &str = "fields[service_broker]";

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/v3/service_offerings").route(get().to(list)))
        .service(resource("/v3/service_offerings/{guid}").route(get().to(one)));
}

async fn list(controller: Data<CloudController>, visitor: Visitor, request: HttpRequest) -> Answer {
    let allowed = [
        "available",
        "broker_catalog_ids",
        "service_broker_guids",
        "service_broker_names",
        BROKER_FIELDS,
    ];
    let query = Query::of(&request, &allowed)?;
    let broker_fields = query.items(BROKER_FIELDS, &["guid", "name"])?;
    controller.0.state.read(|tables| {
        let seen = |row: &&Offering| {
            sees(tables, &visitor, row)
                && query.admits_row(*row)
                && query.admits("available", if row.available { "true" } else { "false" })
                && query.admits("broker_catalog_ids", &row.catalog_id)
                && query.admits("service_broker_guids", row.broker.as_str())
                && query.admits("service_broker_names", broker_name(tables, row))
        };
        let page = query.page(
            &controller,
            tables.offerings.values().filter(seen).collect(),
        );
        let mut included = Included::default();
        for offering in page.rows.iter().filter(|_| !broker_fields.is_empty()) {
            if let Some(broker) = tables.brokers.get(&offering.broker) {
                let chosen = || selected(&controller.broker(broker), broker_fields);
                included.add("service_brokers", broker.guid.as_str(), chosen);
            }
        }
        Ok(ok(&included.beside(page.presented(|offering| {
            controller.offering(tables, offering)
        }))))
    })
}

async fn one(controller: Data<CloudController>, visitor: Visitor, guid: Path<String>) -> Answer {
    controller.0.state.read(|tables| {
        let offering = tables
            .offerings
            .get(&OfferingGuid::given(&guid))
            .filter(|row| sees(tables, &visitor, row));
        let offering = offering.ok_or_else(|| Refusal::no_such("Service offering"))?;
        Ok(ok(&controller.offering(tables, offering)))
    })
}

/// An offering is seen through its plans.
fn sees(tables: &Tables, visitor: &Visitor, offering: &Offering) -> bool {
    let mut plans = tables
        .plans
        .values()
        .filter(|plan| plan.offering == offering.guid);
    visitor.sees_everything() || plans.any(|plan| visitor.sees_plan(tables, plan))
}

pub(super) fn broker_name<'a>(tables: &'a Tables, offering: &Offering) -> &'a str {
    tables
        .brokers
        .get(&offering.broker)
        .map_or("", |broker| &broker.name)
}

impl CloudController {
    pub(super) fn offering(&self, tables: &Tables, offering: &Offering) -> Value {
        let path = format!("/v3/service_offerings/{}", offering.guid);
        let plans = format!("/v3/service_plans?service_offering_guids={}", offering.guid);
        let mut broker = relation(&offering.broker);
        broker["data"]["name"] = broker_name(tables, offering).into();
        let shareable = offering
            .metadata
            .get("shareable")
            .and_then(Value::as_bool)
            .unwrap_or_default();
        json!({
            "guid": offering.guid,
            "created_at": stamp(offering.created_at),
            "updated_at": stamp(offering.updated_at),
            "name": offering.name,
            "description": offering.description,
            "available": offering.available,
            "tags": offering.tags,
            "requires": offering.requires,
            "shareable": shareable,
            "documentation_url": offering.metadata.get("documentationUrl"),
            "broker_catalog": {
                "id": offering.catalog_id,
                "metadata": offering.metadata,
                "features": {
                    "plan_updateable": offering.has(Feature::PlanUpdateable),
                    "bindable": offering.has(Feature::Bindable),
                    "instances_retrievable": offering.has(Feature::InstancesRetrievable),
                    "bindings_retrievable": offering.has(Feature::BindingsRetrievable),
                    "allow_context_updates": offering.has(Feature::AllowContextUpdates),
                },
            },
            "relationships": {"service_broker": broker},
            "metadata": metadata(),
            "links": {
                "self": self.link(path),
                "service_plans": self.link(plans),
                "service_broker": self.link(format_args!("/v3/service_brokers/{}", offering.broker)),
            },
        })
    }
}
