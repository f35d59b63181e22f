//! Service instances, to look at (`spec/contracts/platform-apis.md`, "Service instances").

use std::collections::BTreeSet;

use actix_web::web::{ServiceConfig, delete, get, patch, post};
use serde_json::{Value, json};

use super::{
    Response,
    call::{Call, View},
    query::Query,
    resource::{Fields, Included, Listed, Resource, last_operation, reads, relation},
    service_instance_changes::{create, remove, update},
};
use crate::cloud_controller::{
    model::{
        Broker, Instance, InstanceKey, Offering, OperationKind, OperationState, Organization, Plan,
        PlanGuid, Space, SpaceGuid,
    },
    rejection::{ErrorKind, Rejection},
};

pub(super) fn routes(app: &mut ServiceConfig) {
    let one = "/v3/service_instances/{guid}";
    app.configure(reads::<Instance>)
        .route("/v3/service_instances", post().to(create))
        .route(one, patch().to(update))
        .route(one, delete().to(remove))
        .route(
            "/v3/service_instances/{guid}/parameters",
            get().to(parameters),
        );
}

/// `fields[space]` and `fields[space.organization]`, which shared spaces have as well.
pub(super) const OF_SPACE: Fields = (
    "space",
    "spaces",
    &["guid", "name", "relationships.organization"],
);
pub(super) const OF_ORGANIZATION: Fields =
    ("space.organization", "organizations", &["guid", "name"]);
const BROKER: &str = "service_plan.service_offering.service_broker";

impl Resource for Instance {
    type Row = Self;
    const KIND: &'static str = "Service instance";
    const PATH: &'static str = "/v3/service_instances";
    const FILTERS: &'static [&'static str] = &[
        "type",
        "space_guids",
        "organization_guids",
        "service_plan_guids",
        "service_plan_names",
    ];
    const CHOICES: &'static [(&'static str, &'static [&'static str])] = &[("type", &["managed"])];
    const FIELDS: &'static [Fields] = &[
        OF_SPACE,
        OF_ORGANIZATION,
        (
            "service_plan",
            "service_plans",
            &["guid", "name", "relationships.service_offering"],
        ),
        (
            "service_plan.service_offering",
            "service_offerings",
            &[
                "guid",
                "name",
                "description",
                "documentation_url",
                "tags",
                "relationships.service_broker",
            ],
        ),
        (BROKER, "service_brokers", &["guid", "name"]),
    ];

    fn candidates<'a>(view: &View<'a>, query: &Query) -> Vec<&'a Self> {
        let tables = view.tables;
        if let Some(guids) = query.wanted("guids") {
            let guids: BTreeSet<_> = guids.iter().collect();
            let found = guids
                .into_iter()
                .filter_map(|guid| tables.instances.get(guid.as_str()));
            return found.collect();
        }
        if let Some(guids) = query.wanted("service_plan_guids") {
            let plans: BTreeSet<_> = guids.iter().map(|guid| PlanGuid::given(guid)).collect();
            let found = plans
                .into_iter()
                .flat_map(|plan| tables.instances.with(InstanceKey::Plan(plan)));
            return found.collect();
        }
        let Some(guids) = query.wanted("space_guids") else {
            return Listed::all(view.tables);
        };
        let spaces: BTreeSet<_> = guids.iter().map(|guid| SpaceGuid::given(guid)).collect();
        // An instance may be in one of the spaces and shared into another.
        let found: BTreeSet<_> = spaces
            .iter()
            .flat_map(|space| {
                [
                    InstanceKey::Space(space.clone()),
                    InstanceKey::SharedInto(space.clone()),
                ]
            })
            .flat_map(|key| tables.instances.with(key))
            .map(|instance| &instance.guid)
            .collect();
        found
            .into_iter()
            .filter_map(|guid| tables.instances.get(guid))
            .collect()
    }

    fn sees(view: &View<'_>, row: &Self) -> bool {
        view.permissions.sees_instance(view.tables, row)
    }

    fn admits(view: &View<'_>, query: &Query, row: &Self) -> bool {
        let spaces = row.shared_spaces.iter().chain([&row.space]);
        let plan = view.tables.plan_of(row);
        query.admits("type", "managed")
            && query.admits_any("space_guids", spaces.map(SpaceGuid::as_str))
            && query.admits("organization_guids", view.organization(&row.space))
            && query.admits("service_plan_guids", row.plan.as_str())
            && query.admits_any(
                "service_plan_names",
                plan.iter().map(|plan| plan.name.as_str()),
            )
    }

    fn body(view: &View<'_>, row: &Self) -> Value {
        let path = format!("/v3/service_instances/{}", row.guid);
        let plan = view.tables.plan_of(row);
        let bindings = |kind: &str| {
            let path = format!(
                "/v3/service_{kind}_bindings?service_instance_guids={}",
                row.guid
            );
            view.link(path)
        };
        let mut body = json!({
            "name": row.name,
            "tags": row.tags,
            "last_operation": last_operation(&row.last_operation),
            "type": "managed",
            "maintenance_info": row.maintenance_info.as_ref().map_or_else(|| json!({}), |info| json!(info)),
            "upgrade_available": plan.is_some_and(|plan| row.upgrade_available(plan)),
            "dashboard_url": row.dashboard_url,
            "relationships": {"space": relation(&row.space), "service_plan": relation(&row.plan)},
            "metadata": row.metadata,
            "links": {
                "space": view.link(format_args!("/v3/spaces/{}", row.space)),
                "service_credential_bindings": bindings("credential"),
                "service_route_bindings": bindings("route"),
                "service_plan": view.link(format_args!("/v3/service_plans/{}", row.plan)),
                "parameters": view.link(format_args!("{path}/parameters")),
                "shared_spaces": view.link(format_args!("{path}/relationships/shared_spaces")),
            },
        });
        if let Some(noted) = &row.broker_metadata {
            body["broker_provided_metadata"] = json!(noted);
        }
        body
    }

    fn include(view: &View<'_>, query: &Query, row: &Self, beside: &mut Included) {
        include_space(view, query, &row.space, beside);
        let plan = view.tables.plan_of(row);
        let offering = plan.and_then(|plan| view.tables.offering_of(plan));
        if let Some(plan) = plan {
            beside.add_fields::<Plan>(view, plan, query.fields("service_plan"));
        }
        if let Some(offering) = offering {
            let fields = query.fields("service_plan.service_offering");
            beside.add_fields::<Offering>(view, offering, fields);
            if let Some(broker) = view.tables.brokers.get(&offering.broker) {
                beside.add_fields::<Broker>(view, broker, query.fields(BROKER));
            }
        }
    }
}

/// Adds a space and its organization, each with the fields that were asked for.
pub(super) fn include_space(
    view: &View<'_>,
    query: &Query,
    space: &SpaceGuid,
    beside: &mut Included,
) {
    if let Some(space) = view.tables.spaces.get(space) {
        beside.add_fields::<Space>(view, space, query.fields("space"));
    }
    if let Some(organization) = view.tables.organization_of(space) {
        let fields = query.fields("space.organization");
        beside.add_fields::<Organization>(view, organization, fields);
    }
}

pub(super) fn missing() -> Rejection {
    Rejection::no_such(Instance::KIND)
}

/// Asks the broker, where the offering lets itself be asked.
async fn parameters(call: Call) -> Response {
    let target = call.read(|view| {
        let instance = view.visible::<Instance>(call.guid())?;
        if !view.permissions.sees_space(view.tables, &instance.space) {
            return Err(Rejection::not_authorized());
        }
        let last = &instance.last_operation;
        if last.is(OperationKind::Create, OperationState::Failed) {
            return Err(missing());
        }
        Ok(view.tables.fetchable(instance))
    })?;
    let Some(target) = target else {
        return Err(ErrorKind::ParametersNotSupported
            .with("This service does not support fetching service instance parameters."));
    };
    call.fetched_parameters(&target).await
}
