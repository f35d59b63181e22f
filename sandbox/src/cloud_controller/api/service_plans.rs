//! Service plans and their visibility (`spec/contracts/platform-apis.md`, "Offerings and plans", "Plan visibility").

use std::collections::BTreeSet;

use actix_web::web::{ServiceConfig, delete, get, patch, post};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Response,
    call::{Call, View},
    message::Named,
    no_content, ok,
    query::Query,
    resource::{Fields, Included, Listed, Resource, reads, relation},
    service_offerings::broker_name,
};
use crate::cloud_controller::{
    model::{Broker, Offering, OfferingGuid, OrganizationGuid, Plan, PlanGuid, Tables, Visibility},
    rejection::{ErrorKind, Rejection},
};

pub(super) fn routes(app: &mut ServiceConfig) {
    let visibility = "/v3/service_plans/{guid}/visibility";
    app.configure(reads::<Plan>)
        .route(visibility, get().to(read_visibility))
        .route(visibility, patch().to(replace_visibility))
        .route(visibility, post().to(add_visibility))
        .route(
            "/v3/service_plans/{guid}/visibility/{organization}",
            delete().to(remove_organization),
        );
}

impl Resource for Plan {
    type Row = Self;
    const KIND: &'static str = "Service plan";
    const PATH: &'static str = "/v3/service_plans";
    const PUBLIC: bool = true;
    const FILTERS: &'static [&'static str] = &[
        "available",
        "broker_catalog_ids",
        "service_broker_guids",
        "service_broker_names",
        "service_offering_guids",
        "service_offering_names",
        "service_instance_guids",
        "space_guids",
        "organization_guids",
    ];
    const CHOICES: &'static [(&'static str, &'static [&'static str])] =
        &[("available", &["true", "false"])];
    const INCLUDES: &'static [(&'static str, &'static str)] = &[
        // Plans belong to a space only when their broker does, and all brokers are global.
        ("space.organization", "spaces"),
        ("space.organization", "organizations"),
        ("service_offering", "service_offerings"),
    ];
    const FIELDS: &'static [Fields] = &[(
        "service_offering.service_broker",
        "service_brokers",
        &["guid", "name"],
    )];

    fn candidates<'a>(view: &View<'a>, query: &Query) -> Vec<&'a Self> {
        let tables = view.tables;
        if let Some(guids) = query.wanted("service_instance_guids") {
            let instances = guids
                .iter()
                .filter_map(|guid| tables.instances.get(guid.as_str()));
            let plans: BTreeSet<_> = instances.map(|instance| &instance.plan).collect();
            return plans
                .into_iter()
                .filter_map(|guid| tables.plans.get(guid))
                .collect();
        }
        if let Some(guids) = query.wanted("service_offering_guids") {
            let offerings: BTreeSet<_> =
                guids.iter().map(|guid| OfferingGuid::given(guid)).collect();
            return offerings
                .iter()
                .flat_map(|guid| tables.plans_of_offering(guid))
                .collect();
        }
        Listed::all(view.tables)
    }

    fn sees(view: &View<'_>, row: &Self) -> bool {
        view.permissions.sees_plan(row)
    }

    /// All filters but that by instances, which the candidates have passed.
    fn admits(view: &View<'_>, query: &Query, row: &Self) -> bool {
        let Some(offering) = view.tables.offering_of(row) else {
            return false;
        };
        query.admits("available", if row.available { "true" } else { "false" })
            && query.admits("broker_catalog_ids", &row.catalog_id)
            && query.admits("service_broker_guids", offering.broker.as_str())
            && query.admits("service_broker_names", broker_name(view.tables, offering))
            && query.admits("service_offering_guids", offering.guid.as_str())
            && query.admits("service_offering_names", &offering.name)
            && usable_in(query, view.tables, &row.visibility)
    }

    fn body(view: &View<'_>, row: &Self) -> Value {
        let offering = format!("/v3/service_offerings/{}", row.offering);
        let visibility = format!("/v3/service_plans/{}/visibility", row.guid);
        json!({
            "name": row.name,
            "visibility_type": visibility_type(&row.visibility),
            "available": row.available,
            "free": row.free,
            "costs": costs(row),
            "description": row.description,
            "maintenance_info": row.maintenance_info.as_ref().map_or_else(|| json!({}), |info| json!(info)),
            "broker_catalog": {
                "id": row.catalog_id,
                "metadata": row.catalog_metadata,
                "maximum_polling_duration": row.maximum_polling_duration.map(|limit| limit.as_secs()),
                "features": {
                    "bindable": view.tables.is_bindable(row),
                    "plan_updateable": view.tables.is_updateable(row),
                },
            },
            "schemas": row.parameter_schemas(),
            "relationships": {"service_offering": relation(&row.offering)},
            "metadata": row.metadata,
            "links": {"service_offering": view.link(offering), "visibility": view.link(visibility)},
        })
    }

    fn include(view: &View<'_>, query: &Query, row: &Self, beside: &mut Included) {
        let Some(offering) = view.tables.offering_of(row) else {
            return;
        };
        if query.includes("service_offering") {
            beside.add::<Offering>(view, offering);
        }
        if let Some(broker) = view.tables.brokers.get(&offering.broker) {
            let fields = query.fields("service_offering.service_broker");
            beside.add_fields::<Broker>(view, broker, fields);
        }
    }
}

/// Filters by space and organization let public plans through as well.
pub(super) fn usable_in(query: &Query, tables: &Tables, visibility: &Visibility) -> bool {
    let Visibility::Organizations(organizations) = visibility else {
        return *visibility == Visibility::Public
            || (query.wanted("space_guids").is_none()
                && query.wanted("organization_guids").is_none());
    };
    let of_space = |guid: &String| {
        let space = tables.spaces.get(guid.as_str());
        space.is_some_and(|space| organizations.contains(&space.organization))
    };
    let spaces = query.wanted("space_guids");
    let guids = organizations.iter().map(OrganizationGuid::as_str);
    query.admits_any("organization_guids", guids)
        && spaces.is_none_or(|guids| guids.iter().any(of_space))
}

/// One entry per currency of each of the catalog's costs.
fn costs(plan: &Plan) -> Vec<Value> {
    let costs = plan.catalog_metadata.get("costs").and_then(Value::as_array);
    costs
        .into_iter()
        .flatten()
        .flat_map(|cost| {
            let amounts = cost["amount"].as_object().into_iter().flatten();
            amounts.map(|(currency, amount)| {
                json!({"currency": currency.to_uppercase(), "amount": amount, "unit": cost["unit"]})
            })
        })
        .collect()
}

/// Only admins change plans, and a plan that the caller does not see is not there.
fn changeable(call: &Call, tables: &Tables) -> Result<PlanGuid, Rejection> {
    let guid = call.view(tables).visible::<Plan>(call.guid())?.guid.clone();
    call.caller.must_be_admin()?;
    Ok(guid)
}

async fn read_visibility(call: Call) -> Response {
    call.read(|view| {
        let plan = view.visible::<Plan>(call.guid())?;
        Ok(ok(&visibility(view.tables, plan)))
    })
}

#[derive(Deserialize)]
struct Wanted {
    #[serde(rename = "type")]
    kind: WantedKind,
    #[serde(default)]
    organizations: Vec<Named>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum WantedKind {
    Admin,
    Public,
    Organization,
    Space,
}

async fn replace_visibility(call: Call) -> Response {
    change_visibility(&call, |wanted, _| wanted)?;
    read_visibility(call).await
}

async fn add_visibility(call: Call) -> Response {
    let kind = change_visibility(&call, |mut wanted, there| {
        if let (Visibility::Organizations(more), Visibility::Organizations(there)) =
            (&mut wanted, there)
        {
            more.extend(there.iter().cloned());
        }
        wanted
    })?;
    Ok(ok(&json!({"type": kind})))
}

/// Sets the visibility to what becomes of the requested and the present one. Returns its type.
fn change_visibility(
    call: &Call,
    change: impl FnOnce(Visibility, &Visibility) -> Visibility,
) -> Result<&'static str, Rejection> {
    call.change(|tables| {
        let guid = changeable(call, tables)?;
        let wanted: Wanted = call.message().map_err(|rejection| match rejection.kind() {
            ErrorKind::UnprocessableEntity => bad_request(&rejection.to_string()),
            _ => rejection,
        })?;
        let wanted = wanted.visibility(tables)?;
        let plan = tables.plans.get_mut(&guid);
        let plan = plan.ok_or_else(|| Rejection::no_such(Plan::KIND))?;
        plan.visibility = change(wanted, &plan.visibility);
        Ok(visibility_type(&plan.visibility))
    })
}

async fn remove_organization(call: Call) -> Response {
    call.change(|tables| {
        let plan = changeable(&call, tables)?;
        let organization = OrganizationGuid::given(call.part("organization"));
        if !tables.organizations.contains_key(&organization) {
            return Err(Rejection::no_such("Organization"));
        }
        let plan = tables.plans.get_mut(&plan);
        let plan = plan.ok_or_else(|| Rejection::no_such(Plan::KIND))?;
        let Visibility::Organizations(organizations) = &mut plan.visibility else {
            return Err(Rejection::unprocessable(
                "Cannot delete visibilities from non-org-restricted plans",
            ));
        };
        if !organizations.remove(&organization) {
            return Err(Rejection::no_such("Service plan visibility"));
        }
        if organizations.is_empty() {
            plan.visibility = Visibility::Admin;
        }
        Ok(no_content())
    })
}

fn bad_request(detail: &str) -> Rejection {
    ErrorKind::BadRequest.with(format!("Bad request: {detail}"))
}

impl Wanted {
    fn visibility(&self, tables: &Tables) -> Result<Visibility, Rejection> {
        match self.kind {
            WantedKind::Admin => Ok(Visibility::Admin),
            WantedKind::Public => Ok(Visibility::Public),
            WantedKind::Space => Err(bad_request(
                "Type must be one of 'public', 'admin', 'organization'",
            )),
            WantedKind::Organization => {
                let guids = self.organizations.iter().map(|named| named.guid.as_str());
                let guids: BTreeSet<_> = guids.map(OrganizationGuid::given).collect();
                let mut there = guids
                    .iter()
                    .map(|guid| tables.organizations.contains_key(guid));
                if guids.is_empty() || !there.all(|there| there) {
                    return Err(bad_request(
                        "Organizations must be a valid organization list",
                    ));
                }
                Ok(Visibility::Organizations(guids))
            }
        }
    }
}

fn visibility_type(visibility: &Visibility) -> &'static str {
    match visibility {
        Visibility::Admin => "admin",
        Visibility::Public => "public",
        Visibility::Organizations(_) => "organization",
    }
}

fn visibility(tables: &Tables, plan: &Plan) -> Value {
    let mut body = json!({"type": visibility_type(&plan.visibility)});
    if let Visibility::Organizations(guids) = &plan.visibility {
        let organizations = guids
            .iter()
            .filter_map(|guid| tables.organizations.get(guid));
        body["organizations"] = organizations
            .map(|organization| json!({"guid": organization.guid, "name": organization.name}))
            .collect();
    }
    body
}
