//! Service instances of both kinds, to look at (`spec/contracts/platform-apis.md`, "Service instances").

use std::collections::BTreeSet;

use actix_web::web::{ServiceConfig, delete, get, patch, post};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    Answer,
    call::{Call, View},
    ok,
    query::Query,
    resource::{Fields, Included, Listed, Resource, last_operation, reads, relation},
    service_instance_changes::{create, remove, update},
};
use crate::cloud_controller::{
    model::{
        Broker, Instance, InstanceGuid, InstanceKey, Offering, OperationKind, OperationState,
        Organization, Plan, PlanGuid, Space, SpaceGuid, Tables, UserProvidedInstance,
        UserProvidedKey,
    },
    rejection::{ErrorKind, Rejection},
};

pub(super) fn routes(app: &mut ServiceConfig) {
    let one = "/v3/service_instances/{guid}";
    app.configure(reads::<ServiceInstance>)
        .route("/v3/service_instances", post().to(create))
        .route(one, patch().to(update))
        .route(one, delete().to(remove))
        .route(
            "/v3/service_instances/{guid}/parameters",
            get().to(parameters),
        )
        .route(
            "/v3/service_instances/{guid}/credentials",
            get().to(credentials),
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

/// A service instance of either kind.
#[derive(Clone, Copy)]
pub(super) enum ServiceInstance<'a> {
    Managed(&'a Instance),
    UserProvided(&'a UserProvidedInstance),
}

impl Resource for ServiceInstance<'static> {
    type Row<'a> = ServiceInstance<'a>;
    const KIND: &'static str = "Service instance";
    const PATH: &'static str = "/v3/service_instances";
    const FILTERS: &'static [&'static str] = &[
        "type",
        "space_guids",
        "organization_guids",
        "service_plan_guids",
        "service_plan_names",
    ];
    const CHOICES: &'static [(&'static str, &'static [&'static str])] =
        &[("type", &["managed", "user-provided"])];
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

    fn all<'a>(view: &View<'a>) -> Vec<ServiceInstance<'a>> {
        let managed = view.tables.instances.values().map(ServiceInstance::Managed);
        let others = view.tables.user_provided.values();
        managed
            .chain(others.map(ServiceInstance::UserProvided))
            .collect()
    }

    fn get<'a>(view: &View<'a>, guid: &str) -> Option<ServiceInstance<'a>> {
        ServiceInstance::of(view.tables, guid)
    }

    fn candidates<'a>(view: &View<'a>, query: &Query) -> Vec<ServiceInstance<'a>> {
        let tables = view.tables;
        if let Some(guids) = query.wanted("guids") {
            let guids: BTreeSet<_> = guids.iter().collect();
            let found = guids
                .into_iter()
                .filter_map(|guid| ServiceInstance::of(tables, guid));
            return found.collect();
        }
        if let Some(guids) = query.wanted("service_plan_guids") {
            let plans: BTreeSet<_> = guids.iter().map(|guid| PlanGuid::given(guid)).collect();
            let found = plans
                .into_iter()
                .flat_map(|plan| tables.instances.with(InstanceKey::Plan(plan)));
            return found.map(ServiceInstance::Managed).collect();
        }
        let Some(guids) = query.wanted("space_guids") else {
            return Self::all(view);
        };
        let spaces: BTreeSet<_> = guids.iter().map(|guid| SpaceGuid::given(guid)).collect();
        // An instance may be in one of the spaces and shared into another.
        let managed: BTreeSet<_> = spaces
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
        let managed = managed
            .into_iter()
            .filter_map(|guid| tables.instances.get(guid));
        let others = spaces
            .into_iter()
            .flat_map(|space| tables.user_provided.with(UserProvidedKey::Space(space)));
        managed
            .map(ServiceInstance::Managed)
            .chain(others.map(ServiceInstance::UserProvided))
            .collect()
    }

    fn sees(view: &View<'_>, row: &ServiceInstance<'_>) -> bool {
        match row {
            ServiceInstance::Managed(row) => view.permissions.sees_instance(view.tables, row),
            ServiceInstance::UserProvided(row) => {
                view.permissions.sees_space(view.tables, &row.space)
            }
        }
    }

    fn admits(view: &View<'_>, query: &Query, row: &ServiceInstance<'_>) -> bool {
        let spaces = row.shared_spaces().chain([row.space()]);
        let (kind, plan) = match row {
            ServiceInstance::Managed(row) => ("managed", view.tables.plan_of(row)),
            ServiceInstance::UserProvided(_) => ("user-provided", None),
        };
        query.admits("type", kind)
            && query.admits_any("space_guids", spaces.map(SpaceGuid::as_str))
            && query.admits("organization_guids", view.organization(row.space()))
            && query.admits_any(
                "service_plan_guids",
                plan.iter().map(|plan| plan.guid.as_str()),
            )
            && query.admits_any(
                "service_plan_names",
                plan.iter().map(|plan| plan.name.as_str()),
            )
    }

    fn body(view: &View<'_>, row: &ServiceInstance<'_>) -> Value {
        match row {
            ServiceInstance::Managed(row) => managed(view, row),
            ServiceInstance::UserProvided(row) => user_provided(view, row),
        }
    }

    fn include(view: &View<'_>, query: &Query, row: &ServiceInstance<'_>, beside: &mut Included) {
        include_space(view, query, row.space(), beside);
        let ServiceInstance::Managed(instance) = row else {
            return;
        };
        let plan = view.tables.plan_of(instance);
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

impl<'a> ServiceInstance<'a> {
    pub(super) fn of(tables: &'a Tables, guid: &str) -> Option<Self> {
        let managed = tables.instances.get(guid).map(Self::Managed);
        managed.or_else(|| tables.user_provided.get(guid).map(Self::UserProvided))
    }

    pub(super) fn space(self) -> &'a SpaceGuid {
        match self {
            Self::Managed(instance) => &instance.space,
            Self::UserProvided(instance) => &instance.space,
        }
    }

    pub(super) fn instance_guid(self) -> &'a InstanceGuid {
        match self {
            Self::Managed(instance) => &instance.guid,
            Self::UserProvided(instance) => &instance.guid,
        }
    }

    pub(super) fn instance_name(self) -> &'a str {
        match self {
            Self::Managed(instance) => &instance.name,
            Self::UserProvided(instance) => &instance.name,
        }
    }

    pub(super) fn shared_spaces(self) -> impl Iterator<Item = &'a SpaceGuid> {
        let shared = match self {
            Self::Managed(instance) => Some(&instance.shared_spaces),
            Self::UserProvided(_) => None,
        };
        shared.into_iter().flatten()
    }
}

impl Listed for ServiceInstance<'_> {
    fn guid(&self) -> &str {
        self.instance_guid().as_str()
    }

    fn name(&self) -> &str {
        self.instance_name()
    }

    fn created_at(&self) -> Timestamp {
        match self {
            Self::Managed(instance) => instance.created_at,
            Self::UserProvided(instance) => instance.created_at,
        }
    }

    fn updated_at(&self) -> Timestamp {
        match self {
            Self::Managed(instance) => instance.updated_at,
            Self::UserProvided(instance) => instance.updated_at,
        }
    }
}

fn managed(view: &View<'_>, row: &Instance) -> Value {
    let path = format!("/v3/service_instances/{}", row.guid);
    let plan = view.tables.plan_of(row);
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
        "links": links(view, &row.guid, &row.space),
    });
    if let Some(noted) = &row.broker_metadata {
        body["broker_provided_metadata"] = json!(noted);
    }
    let links = &mut body["links"];
    links["service_plan"] = view.link(format_args!("/v3/service_plans/{}", row.plan));
    links["parameters"] = view.link(format_args!("{path}/parameters"));
    links["shared_spaces"] = view.link(format_args!("{path}/relationships/shared_spaces"));
    body
}

fn user_provided(view: &View<'_>, row: &UserProvidedInstance) -> Value {
    let mut links = links(view, &row.guid, &row.space);
    links["credentials"] = view.link(format_args!(
        "/v3/service_instances/{}/credentials",
        row.guid
    ));
    json!({
        "name": row.name,
        "tags": row.tags,
        "last_operation": last_operation(&row.last_operation),
        "type": "user-provided",
        "syslog_drain_url": row.syslog_drain_url,
        "route_service_url": row.route_service_url,
        "relationships": {"space": relation(&row.space)},
        "metadata": row.metadata,
        "links": links,
    })
}

/// The links that instances of both kinds have.
fn links(view: &View<'_>, guid: &InstanceGuid, space: &SpaceGuid) -> Value {
    let bindings = |kind: &str| {
        let path = format!("/v3/service_{kind}_bindings?service_instance_guids={guid}");
        view.link(path)
    };
    json!({
        "space": view.link(format_args!("/v3/spaces/{space}")),
        "service_credential_bindings": bindings("credential"),
        "service_route_bindings": bindings("route"),
    })
}

pub(super) fn missing() -> Rejection {
    Rejection::no_such(ServiceInstance::KIND)
}

/// Asks the broker, where the offering lets itself be asked.
async fn parameters(call: Call) -> Answer {
    let target = call.read(|view| {
        let instance = view.visible::<ServiceInstance>(call.guid())?;
        if !view.permissions.sees_space(view.tables, instance.space()) {
            return Err(Rejection::not_authorized());
        }
        let ServiceInstance::Managed(instance) = instance else {
            return Ok(None);
        };
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

async fn credentials(call: Call) -> Answer {
    call.read(|view| {
        let instance = view.visible::<ServiceInstance>(call.guid())?;
        let ServiceInstance::UserProvided(instance) = instance else {
            return Err(missing());
        };
        if !view.permissions.sees_secrets(&instance.space) {
            return Err(Rejection::not_authorized());
        }
        Ok(ok(&Value::Object(instance.credentials.clone())))
    })
}
