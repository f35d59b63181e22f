//! Service instances, to look at (`spec/contracts/platform-apis.md`, "Service instances").

use std::collections::BTreeSet;

use actix_web::{
    HttpRequest,
    web::{Data, Path},
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    Answer,
    caller::Caller,
    listing::{Included, Listed},
    ok,
    permissions::Permissions,
    present::{last_operation, metadata, relation, selected, stamp},
    query::Query,
};
use crate::cloud_controller::{
    CloudController,
    model::{
        Instance, InstanceGuid, InstanceKey, PlanGuid, SpaceGuid, Tables, UserProvidedInstance,
        UserProvidedKey,
    },
    rejection::Rejection,
};

const FIELDS: [&str; 5] = [
    "fields[space]",
    "fields[space.organization]",
    "fields[service_plan]",
    "fields[service_plan.service_offering]",
    "fields[service_plan.service_offering.service_broker]",
];
const FILTERS: [&str; 5] = [
    "type",
    "space_guids",
    "organization_guids",
    "service_plan_guids",
    "service_plan_names",
];

/// A service instance of either kind.
#[derive(Clone, Copy)]
pub(super) enum ServiceInstance<'a> {
    Managed(&'a Instance),
    UserProvided(&'a UserProvidedInstance),
}

pub(super) async fn list(
    controller: Data<CloudController>,
    caller: Caller,
    request: HttpRequest,
) -> Answer {
    let query = Query::of(&request, &[&FILTERS[..], &FIELDS].concat())?;
    query.must_be_one_of("type", &["managed", "user-provided"])?;
    let fields = Fields::of(&query)?;
    controller.0.state.read(|tables| {
        let permissions = caller.permissions(tables);
        let seen = |row: &ServiceInstance<'_>| {
            row.is_admitted(&query, tables) && row.is_seen(tables, &permissions)
        };
        let found = candidates(&query, tables).into_iter().filter(seen);
        let page = query.page(&controller, found.collect());
        let included = fields.included(&controller, tables, &page.rows);
        Ok(ok(&included.beside(page.presented(|instance| {
            instance.presented(&controller, tables)
        }))))
    })
}

pub(super) async fn one(
    controller: Data<CloudController>,
    caller: Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> Answer {
    let query = Query::of_one(&request, &FIELDS)?;
    let fields = Fields::of(&query)?;
    controller.0.state.read(|tables| {
        let instance = found(tables, &caller, &guid)?;
        Ok(ok(&fields
            .included(&controller, tables, &[instance])
            .beside(instance.presented(&controller, tables))))
    })
}

/// The instance, of whichever kind, if the caller may see it.
pub(super) fn found<'a>(
    tables: &'a Tables,
    caller: &Caller,
    guid: &str,
) -> Result<ServiceInstance<'a>, Rejection> {
    let permissions = caller.permissions(tables);
    ServiceInstance::get(tables, &InstanceGuid::given(guid))
        .filter(|instance| instance.is_seen(tables, &permissions))
        .ok_or_else(missing)
}

/// The managed instance, if the caller may see it.
pub(super) fn visible<'a>(
    tables: &'a Tables,
    caller: &Caller,
    guid: &str,
) -> Result<&'a Instance, Rejection> {
    match found(tables, caller, guid)? {
        ServiceInstance::Managed(instance) => Ok(instance),
        ServiceInstance::UserProvided(_) => Err(missing()),
    }
}

pub(super) fn missing() -> Rejection {
    Rejection::no_such("Service instance")
}

/// The instances that may match the query, found by its most selective filter.
fn candidates<'a>(query: &Query, tables: &'a Tables) -> Vec<ServiceInstance<'a>> {
    if let Some(guids) = query.wanted("guids") {
        let guids: BTreeSet<_> = guids.iter().map(|guid| InstanceGuid::given(guid)).collect();
        let found = guids
            .iter()
            .filter_map(|guid| ServiceInstance::get(tables, guid));
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
        let managed = tables.instances.values().map(ServiceInstance::Managed);
        let others = tables.user_provided.values();
        return managed
            .chain(others.map(ServiceInstance::UserProvided))
            .collect();
    };
    let spaces: BTreeSet<_> = guids.iter().map(|guid| SpaceGuid::given(guid)).collect();
    // An instance may be in one of the spaces and shared into another.
    let managed: BTreeSet<_> = spaces
        .iter()
        .flat_map(|space| {
            let own = tables.instances.with(InstanceKey::Space(space.clone()));
            own.chain(
                tables
                    .instances
                    .with(InstanceKey::SharedInto(space.clone())),
            )
        })
        .map(|instance| &instance.guid)
        .collect();
    let others = spaces.into_iter().flat_map(|space| {
        tables
            .user_provided
            .with(UserProvidedKey::Space(space))
            .map(ServiceInstance::UserProvided)
    });
    managed
        .into_iter()
        .filter_map(|guid| tables.instances.get(guid))
        .map(ServiceInstance::Managed)
        .chain(others)
        .collect()
}

impl<'a> ServiceInstance<'a> {
    pub(super) fn get(tables: &'a Tables, guid: &InstanceGuid) -> Option<Self> {
        let managed = tables.instances.get(guid).map(Self::Managed);
        managed.or_else(|| tables.user_provided.get(guid).map(Self::UserProvided))
    }

    pub(super) fn space(self) -> &'a SpaceGuid {
        match self {
            Self::Managed(instance) => &instance.space,
            Self::UserProvided(instance) => &instance.space,
        }
    }

    fn is_seen(self, tables: &Tables, permissions: &Permissions) -> bool {
        match self {
            Self::Managed(instance) => permissions.sees_instance(tables, instance),
            Self::UserProvided(instance) => permissions.sees_space(tables, &instance.space),
        }
    }

    fn is_admitted(&self, query: &Query, tables: &Tables) -> bool {
        let organization = || {
            tables
                .organization_of(self.space())
                .map_or("", |organization| organization.guid.as_str())
        };
        let in_spaces = || match self {
            Self::Managed(instance) => {
                let spaces = instance.shared_spaces.iter().chain([&instance.space]);
                query.admits_any("space_guids", spaces.map(SpaceGuid::as_str))
            }
            Self::UserProvided(instance) => query.admits("space_guids", instance.space.as_str()),
        };
        let of_plan = || match self {
            Self::Managed(instance) => {
                let plan_name = tables.plan_of(instance).map_or("", |plan| &plan.name);
                query.admits("service_plan_guids", instance.plan.as_str())
                    && query.admits("service_plan_names", plan_name)
            }
            Self::UserProvided(_) => {
                query.wanted("service_plan_guids").is_none()
                    && query.wanted("service_plan_names").is_none()
            }
        };
        query.admits_row(self)
            && query.admits("type", self.kind())
            && in_spaces()
            && query.admits_any("organization_guids", std::iter::once_with(organization))
            && of_plan()
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Managed(_) => "managed",
            Self::UserProvided(_) => "user-provided",
        }
    }

    pub(super) fn presented(self, controller: &CloudController, tables: &Tables) -> Value {
        match self {
            Self::Managed(instance) => controller.instance(tables, instance),
            Self::UserProvided(instance) => controller.user_provided(instance),
        }
    }
}

impl Listed for ServiceInstance<'_> {
    fn guid(&self) -> &str {
        match self {
            Self::Managed(instance) => instance.guid.as_str(),
            Self::UserProvided(instance) => instance.guid.as_str(),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Managed(instance) => &instance.name,
            Self::UserProvided(instance) => &instance.name,
        }
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

/// The fields requested in addition to the instances.
struct Fields<'a> {
    space: &'a [String],
    organization: &'a [String],
    plan: &'a [String],
    offering: &'a [String],
    broker: &'a [String],
}

impl<'a> Fields<'a> {
    fn of(query: &'a Query) -> Result<Self, Rejection> {
        let offering = [
            "guid",
            "name",
            "description",
            "documentation_url",
            "tags",
            "relationships.service_broker",
        ];
        let (plan, broker) = (
            "service_plan",
            "service_plan.service_offering.service_broker",
        );
        Ok(Self {
            space: query.fields("space", &["guid", "name", "relationships.organization"])?,
            organization: query.fields("space.organization", &["guid", "name"])?,
            plan: query.fields(plan, &["guid", "name", "relationships.service_offering"])?,
            offering: query.fields("service_plan.service_offering", &offering)?,
            broker: query.fields(broker, &["guid", "name"])?,
        })
    }

    fn included(
        &self,
        controller: &CloudController,
        tables: &Tables,
        instances: &[ServiceInstance<'_>],
    ) -> Included {
        let mut included = Included::default();
        for (fields, kind) in [
            (self.space, "spaces"),
            (self.organization, "organizations"),
            (self.plan, "service_plans"),
            (self.offering, "service_offerings"),
            (self.broker, "service_brokers"),
        ] {
            if !fields.is_empty() {
                included.of(kind);
            }
        }
        for instance in instances {
            add_location(
                &mut included,
                controller,
                tables,
                instance.space(),
                (self.space, self.organization),
            );
            let ServiceInstance::Managed(instance) = instance else {
                continue;
            };
            let Some(plan) = tables.plan_of(instance) else {
                continue;
            };
            if !self.plan.is_empty() {
                included.add("service_plans", plan.guid.as_str(), || {
                    selected(&controller.plan(tables, plan), self.plan)
                });
            }
            if let Some(offering) = tables
                .offering_of(plan)
                .filter(|_| !self.offering.is_empty())
            {
                included.add("service_offerings", offering.guid.as_str(), || {
                    selected(&controller.offering(tables, offering), self.offering)
                });
            }
            if let Some(broker) = tables.broker_of(plan).filter(|_| !self.broker.is_empty()) {
                included.add("service_brokers", broker.guid.as_str(), || {
                    selected(&controller.broker(broker), self.broker)
                });
            }
        }
        included
    }
}

/// Adds a space and its organization, each with the fields that were asked for.
pub(super) fn add_location(
    included: &mut Included,
    controller: &CloudController,
    tables: &Tables,
    space: &SpaceGuid,
    (space_fields, organization_fields): (&[String], &[String]),
) {
    let row = tables.spaces.get(space);
    if let Some(space) = row.filter(|_| !space_fields.is_empty()) {
        included.add("spaces", space.guid.as_str(), || {
            selected(&controller.space(space), space_fields)
        });
    }
    let row = tables.organization_of(space);
    if let Some(organization) = row.filter(|_| !organization_fields.is_empty()) {
        included.add("organizations", organization.guid.as_str(), || {
            selected(&controller.organization(organization), organization_fields)
        });
    }
}

impl CloudController {
    pub(super) fn instance(&self, tables: &Tables, instance: &Instance) -> Value {
        let path = format!("/v3/service_instances/{}", instance.guid);
        let upgrade_available = tables
            .plan_of(instance)
            .is_some_and(|plan| instance.upgrade_available(plan));
        let mut body = json!({
            "guid": instance.guid,
            "created_at": stamp(instance.created_at),
            "updated_at": stamp(instance.updated_at),
            "name": instance.name,
            "tags": instance.tags,
            "last_operation": last_operation(&instance.last_operation),
            "type": "managed",
            "maintenance_info": instance.maintenance_info.as_ref().map_or_else(|| json!({}), |info| json!(info)),
            "upgrade_available": upgrade_available,
            "dashboard_url": instance.dashboard_url,
            "relationships": {"space": relation(&instance.space), "service_plan": relation(&instance.plan)},
            "metadata": metadata(&instance.metadata),
            "links": self.instance_links(&instance.guid, &instance.space),
        });
        if let Some(noted) = &instance.broker_metadata {
            body["broker_provided_metadata"] =
                json!({"labels": noted.labels, "attributes": noted.attributes});
        }
        let links = &mut body["links"];
        links["service_plan"] = self.link(format_args!("/v3/service_plans/{}", instance.plan));
        links["parameters"] = self.link(format_args!("{path}/parameters"));
        links["shared_spaces"] = self.link(format_args!("{path}/relationships/shared_spaces"));
        body
    }

    pub(super) fn user_provided(&self, instance: &UserProvidedInstance) -> Value {
        let path = format!("/v3/service_instances/{}", instance.guid);
        let mut body = json!({
            "guid": instance.guid,
            "created_at": stamp(instance.created_at),
            "updated_at": stamp(instance.updated_at),
            "name": instance.name,
            "tags": instance.tags,
            "last_operation": last_operation(&instance.last_operation),
            "type": "user-provided",
            "syslog_drain_url": instance.syslog_drain_url,
            "route_service_url": instance.route_service_url,
            "relationships": {"space": relation(&instance.space)},
            "metadata": metadata(&instance.metadata),
            "links": self.instance_links(&instance.guid, &instance.space),
        });
        body["links"]["credentials"] = self.link(format_args!("{path}/credentials"));
        body
    }

    /// The links that instances of both kinds have.
    fn instance_links(&self, guid: &InstanceGuid, space: &SpaceGuid) -> Value {
        let bindings = |kind: &str| {
            let path = format!("/v3/service_{kind}_bindings?service_instance_guids={guid}");
            self.link(path)
        };
        json!({
            "self": self.link(format_args!("/v3/service_instances/{guid}")),
            "space": self.link(format_args!("/v3/spaces/{space}")),
            "service_credential_bindings": bindings("credential"),
            "service_route_bindings": bindings("route"),
        })
    }
}
