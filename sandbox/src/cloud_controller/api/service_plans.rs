//! Service plans (`spec/contracts/platform-apis.md`, "Offerings and plans").

use std::collections::BTreeSet;

use actix_web::{
    HttpRequest,
    web::{Bytes, Data, Path, ServiceConfig, delete, get, patch, resource},
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    Answer,
    caller::{Caller, Visitor},
    listing::Included,
    message::{MetadataOnly, checked_metadata, message},
    no_content, ok,
    permissions::Permissions,
    present::{metadata, relation, selected, stamp},
    query::Query,
    service_offerings::broker_name,
};
use crate::cloud_controller::{
    CloudController,
    model::{
        InstanceGuid, Offering, OfferingGuid, OrganizationGuid, Plan, PlanGuid, SpaceGuid, Tables,
        Visibility,
    },
    rejection::Rejection,
};

const BROKER_FIELDS: &str = "fields[service_offering.service_broker]";
const WITH_SPACE: &str = "space.organization";
const WITH_OFFERING: &str = "service_offering";
const FILTERS: [&str; 11] = [
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
    BROKER_FIELDS,
];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/v3/service_plans").route(get().to(list)))
        .service(
            resource("/v3/service_plans/{guid}")
                .route(get().to(one))
                .route(patch().to(update))
                .route(delete().to(remove)),
        );
}

async fn list(controller: Data<CloudController>, visitor: Visitor, request: HttpRequest) -> Answer {
    let query = Query::of(&request, &FILTERS)?;
    query.must_be_one_of("available", &["true", "false"])?;
    let beside = Beside::of(&query)?;
    controller.0.state.read(|tables| {
        let permissions = visitor.permissions(tables);
        let seen =
            |row: &&Plan| admits(&query, tables, row) && sees_plan(permissions.as_ref(), row);
        let page = query.page(
            &controller,
            candidates(&query, tables)
                .into_iter()
                .filter(seen)
                .collect(),
        );
        let included = beside.included(&controller, tables, &page.rows);
        Ok(ok(&included.beside(
            page.presented(|plan| controller.plan(tables, plan)),
        )))
    })
}

async fn one(
    controller: Data<CloudController>,
    visitor: Visitor,
    request: HttpRequest,
    guid: Path<String>,
) -> Answer {
    let query = Query::of_one(&request, &["include", BROKER_FIELDS])?;
    let beside = Beside::of(&query)?;
    controller.0.state.read(|tables| {
        let plan = tables
            .plans
            .get(&PlanGuid::given(&guid))
            .filter(|row| visitor.sees_plan(tables, row))
            .ok_or_else(missing)?;
        let included = beside.included(&controller, tables, &[plan]);
        Ok(ok(&included.beside(controller.plan(tables, plan))))
    })
}

async fn update(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
    body: Bytes,
) -> Answer {
    let wanted: MetadataOnly = message(&body)?;
    let change = checked_metadata(wanted.metadata)?;
    controller.0.state.change(|tables| {
        let guid = visible(tables, &caller, &guid)?;
        caller.must_be_admin()?;
        let row = tables.plans.get_mut(&guid).ok_or_else(missing)?;
        row.metadata.apply(&change);
        row.updated_at = Timestamp::now();
        let row = row.clone();
        Ok(ok(&controller.plan(tables, &row)))
    })
}

/// Forgets a plan that has no instances.
async fn remove(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    controller.0.state.change(|tables| {
        let guid = visible(tables, &caller, &guid)?;
        caller.must_be_admin()?;
        if tables.has_instances(&guid) {
            return Err(Rejection::unprocessable(
                "Please delete the service_instances associations for your service_plans.",
            ));
        }
        tables.plans.remove(&guid);
        Ok(no_content())
    })
}

fn missing() -> Rejection {
    Rejection::no_such("Service plan")
}

fn visible(tables: &Tables, caller: &Caller, guid: &str) -> Result<PlanGuid, Rejection> {
    let guid = PlanGuid::given(guid);
    tables
        .plans
        .get(&guid)
        .filter(|plan| caller.sees_plan(tables, plan))
        .ok_or_else(missing)?;
    Ok(guid)
}

/// Whether a plan is visible with these permissions, or without a token.
pub(super) fn sees_plan(permissions: Option<&Permissions>, plan: &Plan) -> bool {
    match permissions {
        Some(permissions) => permissions.sees_plan(plan),
        None => plan.visibility == Visibility::Public,
    }
}

/// The plans that may match the query, found by its most selective filter.
fn candidates<'a>(query: &Query, tables: &'a Tables) -> Vec<&'a Plan> {
    if let Some(guids) = query.wanted("service_instance_guids") {
        let plans: BTreeSet<_> = guids
            .iter()
            .filter_map(|guid| Some(&tables.instances.get(&InstanceGuid::given(guid))?.plan))
            .collect();
        return plans
            .into_iter()
            .filter_map(|guid| tables.plans.get(guid))
            .collect();
    }
    if let Some(guids) = query.wanted("service_offering_guids") {
        let offerings: BTreeSet<_> = guids.iter().map(|guid| OfferingGuid::given(guid)).collect();
        return offerings
            .iter()
            .flat_map(|guid| tables.plans_of_offering(guid))
            .collect();
    }
    tables.plans.values().collect()
}

/// All filters but that by instances, which the candidates have passed.
fn admits(query: &Query, tables: &Tables, plan: &Plan) -> bool {
    let Some(offering) = tables.offering_of(plan) else {
        return false;
    };
    query.admits_row(&plan)
        && query.admits("available", if plan.available { "true" } else { "false" })
        && query.admits("broker_catalog_ids", &plan.catalog_id)
        && query.admits("service_broker_guids", offering.broker.as_str())
        && query.admits("service_broker_names", broker_name(tables, offering))
        && query.admits("service_offering_guids", offering.guid.as_str())
        && query.admits("service_offering_names", &offering.name)
        && usable_in(query, tables, &plan.visibility)
}

/// Filters by space and organization let public plans through as well.
pub(super) fn usable_in(query: &Query, tables: &Tables, visibility: &Visibility) -> bool {
    let Visibility::Organizations(organizations) = visibility else {
        return *visibility == Visibility::Public
            || (query.wanted("space_guids").is_none()
                && query.wanted("organization_guids").is_none());
    };
    let of_space = |guid: &String| {
        let space = tables.spaces.get(&SpaceGuid::given(guid));
        space.is_some_and(|space| organizations.contains(&space.organization))
    };
    query.admits_any(
        "organization_guids",
        organizations.iter().map(OrganizationGuid::as_str),
    ) && query
        .wanted("space_guids")
        .is_none_or(|guids| guids.iter().any(of_space))
}

/// The resources to include with plans.
struct Beside<'a> {
    with_space: bool,
    with_offering: bool,
    broker_fields: &'a [String],
}

impl<'a> Beside<'a> {
    fn of(query: &'a Query) -> Result<Self, Rejection> {
        let include = query.include(&[WITH_SPACE, WITH_OFFERING])?;
        let wants = |what: &str| include.iter().any(|item| item == what);
        Ok(Self {
            with_space: wants(WITH_SPACE),
            with_offering: wants(WITH_OFFERING),
            broker_fields: query.fields("service_offering.service_broker", &["guid", "name"])?,
        })
    }

    fn included(&self, controller: &CloudController, tables: &Tables, plans: &[&Plan]) -> Included {
        let mut included = Included::default();
        if self.with_space {
            // Plans belong to a space only when their broker does, and all brokers are global.
            included.of("spaces");
            included.of("organizations");
        }
        let offerings: Vec<&Offering> = plans
            .iter()
            .filter_map(|plan| tables.offering_of(plan))
            .collect();
        for offering in offerings {
            if self.with_offering {
                included.add("service_offerings", offering.guid.as_str(), || {
                    controller.offering(tables, offering)
                });
            }
            let broker = tables.brokers.get(&offering.broker);
            if let Some(broker) = broker.filter(|_| !self.broker_fields.is_empty()) {
                let chosen = || selected(&controller.broker(broker), self.broker_fields);
                included.add("service_brokers", broker.guid.as_str(), chosen);
            }
        }
        included
    }
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
                "metadata": plan.catalog_metadata,
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
            "metadata": metadata(&plan.metadata),
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
        .catalog_metadata
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
