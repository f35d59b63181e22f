//! Service plans (`spec/contracts/platform-apis.md`, "Offerings and plans").

use actix_web::{
    HttpRequest,
    web::{Data, Path, ServiceConfig, get, resource},
};
use serde_json::{Value, json};

use super::{
    Answer,
    caller::Visitor,
    listing::{Included, Page, Query},
    ok,
    present::{metadata, relation, selected, stamp},
    service_offerings::broker_name,
};
use crate::cloud_controller::{
    CloudController,
    model::{Offering, OrganizationGuid, Plan, PlanGuid, Tables, Visibility},
    refusal::Refusal,
};

const BROKER_FIELDS: &str = "fields[service_offering.service_broker]";
const WITH_SPACE: &str = "space.organization";
const WITH_OFFERING: &str = "service_offering";
const FILTERS: [&str; 10] = [
    "available",
    "broker_catalog_ids",
    "service_broker_guids",
    "service_broker_names",
    "service_offering_guids",
    "service_offering_names",
    "service_instance_guids",
    "space_guids",
    "organization_guids",
    "include",
];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/v3/service_plans").route(get().to(list)))
        .service(resource("/v3/service_plans/{guid}").route(get().to(one)));
}

async fn list(controller: Data<CloudController>, visitor: Visitor, request: HttpRequest) -> Answer {
    let query = Query::of(&request, &[&FILTERS[..], &[BROKER_FIELDS]].concat())?;
    let include = query.items("include", &[WITH_SPACE, WITH_OFFERING])?;
    let broker_fields = query.items(BROKER_FIELDS, &["guid", "name"])?;
    controller.0.state.read(|tables| {
        let seen = |row: &&Plan| visitor.sees_plan(tables, row) && admits(&query, tables, row);
        let page = query.page(&controller, tables.plans.values().filter(seen).collect());
        let included = included(&controller, tables, &page, include, broker_fields);
        Ok(ok(&included.beside(
            page.presented(|plan| controller.plan(tables, plan)),
        )))
    })
}

async fn one(controller: Data<CloudController>, visitor: Visitor, guid: Path<String>) -> Answer {
    controller.0.state.read(|tables| {
        let plan = tables
            .plans
            .get(&PlanGuid::given(&guid))
            .filter(|row| visitor.sees_plan(tables, row));
        Ok(ok(&controller.plan(
            tables,
            plan.ok_or_else(|| Refusal::no_such("Service plan"))?,
        )))
    })
}

fn admits(query: &Query, tables: &Tables, plan: &Plan) -> bool {
    let Some(offering) = tables.offering_of(plan) else {
        return false;
    };
    let instances = tables
        .instances
        .values()
        .filter(|instance| instance.plan == plan.guid);
    query.admits_row(plan)
        && query.admits("available", if plan.available { "true" } else { "false" })
        && query.admits("broker_catalog_ids", &plan.catalog_id)
        && query.admits("service_broker_guids", offering.broker.as_str())
        && query.admits("service_broker_names", broker_name(tables, offering))
        && query.admits("service_offering_guids", offering.guid.as_str())
        && query.admits("service_offering_names", &offering.name)
        && query.admits_any(
            "service_instance_guids",
            instances.map(|instance| instance.guid.as_str()),
        )
        && usable_in(query, tables, &plan.visibility)
}

/// Filters by space and organization let public plans through as well.
fn usable_in(query: &Query, tables: &Tables, visibility: &Visibility) -> bool {
    match visibility {
        Visibility::Public => true,
        Visibility::Admin => {
            query.admits_any("space_guids", [].into_iter())
                && query.admits_any("organization_guids", [].into_iter())
        }
        Visibility::Organizations(organizations) => {
            let spaces = tables
                .spaces
                .values()
                .filter(|space| organizations.contains(&space.organization));
            query.admits_any(
                "organization_guids",
                organizations.iter().map(OrganizationGuid::as_str),
            ) && query.admits_any("space_guids", spaces.map(|space| space.guid.as_str()))
        }
    }
}

fn included(
    controller: &CloudController,
    tables: &Tables,
    page: &Page<'_, Plan>,
    include: &[String],
    broker_fields: &[String],
) -> Included {
    let mut included = Included::default();
    let wants = |what: &str| include.iter().any(|item| item == what);
    if wants(WITH_SPACE) {
        // Plans belong to a space only when their broker does, and all brokers are global.
        included.of("spaces");
        included.of("organizations");
    }
    let offerings: Vec<&Offering> = page
        .rows
        .iter()
        .filter_map(|plan| tables.offering_of(plan))
        .collect();
    for offering in offerings {
        if wants(WITH_OFFERING) {
            included.add("service_offerings", offering.guid.as_str(), || {
                controller.offering(tables, offering)
            });
        }
        if let Some(broker) = tables
            .brokers
            .get(&offering.broker)
            .filter(|_| !broker_fields.is_empty())
        {
            let chosen = || selected(&controller.broker(broker), broker_fields);
            included.add("service_brokers", broker.guid.as_str(), chosen);
        }
    }
    included
}

impl CloudController {
    pub(super) fn plan(&self, tables: &Tables, plan: &Plan) -> Value {
        let path = format!("/v3/service_plans/{}", plan.guid);
        let schema = |pointer: &str| {
            plan.schemas
                .pointer(pointer)
                .cloned()
                .unwrap_or_else(|| json!({}))
        };
        json!({
            "guid": plan.guid,
            "created_at": stamp(plan.created_at),
            "updated_at": stamp(plan.updated_at),
            "name": plan.name,
            "visibility_type": visibility_type(&plan.visibility),
            "available": plan.available,
            "free": plan.free,
            "costs": costs(plan),
            "description": plan.description,
            "maintenance_info": plan.maintenance_info.as_ref().map_or_else(|| json!({}), |info| json!(info)),
            "broker_catalog": {
                "id": plan.catalog_id,
                "metadata": plan.metadata,
                "maximum_polling_duration": plan.maximum_polling_duration.map(|limit| limit.as_secs()),
                "features": {
                    "bindable": tables.is_bindable(plan),
                    "plan_updateable": tables.is_updateable(plan),
                },
            },
            "schemas": {
                "service_instance": {
                    "create": {"parameters": schema("/service_instance/create/parameters")},
                    "update": {"parameters": schema("/service_instance/update/parameters")},
                },
                "service_binding": {"create": {"parameters": schema("/service_binding/create/parameters")}},
            },
            "relationships": {"service_offering": relation(&plan.offering)},
            "metadata": metadata(),
            "links": {
                "self": self.link(&path),
                "service_offering": self.link(format_args!("/v3/service_offerings/{}", plan.offering)),
                "visibility": self.link(format_args!("{path}/visibility")),
            },
        })
    }
}

pub(super) fn visibility_type(visibility: &Visibility) -> &'static str {
    match visibility {
        Visibility::Admin => "admin",
        Visibility::Public => "public",
        Visibility::Organizations(_) => "organization",
    }
}

/// One entry per currency of each of the catalog's costs.
fn costs(plan: &Plan) -> Vec<Value> {
    let costs = plan
        .metadata
        .get("costs")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    costs
        .flat_map(|cost| {
            let amounts = cost["amount"].as_object().into_iter().flatten();
            amounts.map(|(currency, amount)| {
                json!({"currency": currency.to_uppercase(), "amount": amount, "unit": cost["unit"]})
            })
        })
        .collect()
}
