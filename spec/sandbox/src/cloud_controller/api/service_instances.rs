//! Service instances, to look at (`spec/contracts/platform-apis.md`, "Service instances").

use actix_web::{
    HttpRequest,
    web::{Data, Path, ServiceConfig, get, resource},
};
use serde_json::{Value, json};

use super::{
    Answer,
    caller::Caller,
    listing::{Included, Page, Query},
    ok,
    present::{last_operation, metadata, relation, selected, stamp},
};
use crate::cloud_controller::{
    CloudController,
    model::{Instance, InstanceGuid, Tables},
    refusal::{Fault, Refusal},
};

const SPACE: &str = "fields[space]";
const ORGANIZATION: &str = "fields[space.organization]";
const PLAN: &str = "fields[service_plan]";
const OFFERING: &str = "fields[service_plan.service_offering]";
const BROKER: &str = "fields[service_plan.service_offering.service_broker]";
const PARAMETERS: [&str; 10] = [
    "type",
    "space_guids",
    "organization_guids",
    "service_plan_guids",
    "service_plan_names",
    SPACE,
    ORGANIZATION,
    PLAN,
    OFFERING,
    BROKER,
];

/// Reading routes. Those of `/v3/service_instances` and `/v3/service_instances/{guid}` stand with the changes, because
/// one resource has all methods of a path.
pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/v3/service_instances/{guid}/parameters").route(get().to(parameters)))
        .service(resource("/v3/service_instances/{guid}/permissions").route(get().to(permissions)))
        .service(
            resource("/v3/service_instances/{guid}/relationships/shared_spaces")
                .route(get().to(shared_spaces)),
        );
}

pub(super) async fn list(
    controller: Data<CloudController>,
    caller: Caller,
    request: HttpRequest,
) -> Answer {
    let query = Query::of(&request, &PARAMETERS)?;
    let fields = Fields::of(&query)?;
    controller.0.state.read(|tables| {
        let seen =
            |row: &&Instance| caller.sees_instance(tables, row) && admits(&query, tables, row);
        let page = query.page(
            &controller,
            tables.instances.values().filter(seen).collect(),
        );
        let included = fields.included(&controller, tables, &page);
        Ok(ok(&included.beside(page.presented(|instance| {
            controller.instance(tables, instance)
        }))))
    })
}

pub(super) async fn one(
    controller: Data<CloudController>,
    caller: Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> Answer {
    let query = Query::of(&request, &PARAMETERS[5..])?;
    let fields = Fields::of(&query)?;
    controller.0.state.read(|tables| {
        let instance = visible(tables, &caller, &guid)?;
        let page = query.page(&controller, vec![instance]);
        Ok(ok(&fields
            .included(&controller, tables, &page)
            .beside(controller.instance(tables, instance))))
    })
}

/// Asks the broker, where the offering lets itself be asked.
async fn parameters(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
) -> Answer {
    let found = controller.0.state.read(|tables| {
        let instance = visible(tables, &caller, &guid)?;
        Ok(tables.fetchable(instance))
    })?;
    let Some(target) = found else {
        return Err(Fault::BadRequest
            .with("This service does not support fetching service instance parameters."));
    };
    let body = controller.fetched(&target, &caller.identity).await?;
    Ok(ok(body.get("parameters").unwrap_or(&json!({}))))
}

async fn permissions(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
) -> Answer {
    controller.0.state.read(|tables| {
        visible(tables, &caller, &guid)?;
        Ok(ok(&json!({"read": true, "manage": true})))
    })
}

/// Nothing is shared: there is no route to share with.
async fn shared_spaces(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
) -> Answer {
    controller.0.state.read(|tables| {
        let guid = &visible(tables, &caller, &guid)?.guid;
        let path = format!("/v3/service_instances/{guid}/relationships/shared_spaces");
        Ok(ok(
            &json!({"data": [], "links": {"self": controller.link(path)}}),
        ))
    })
}

/// The instance, if the caller may see it.
pub(super) fn visible<'a>(
    tables: &'a Tables,
    caller: &Caller,
    guid: &str,
) -> Result<&'a Instance, Refusal> {
    let instance = tables.instances.get(&InstanceGuid::given(guid));
    instance
        .filter(|instance| caller.sees_instance(tables, instance))
        .ok_or_else(|| Refusal::no_such("Service instance"))
}

fn admits(query: &Query, tables: &Tables, instance: &Instance) -> bool {
    let organization = tables
        .organization_of(&instance.space)
        .map_or("", |organization| organization.guid.as_str());
    let plan_name = tables.plan_of(instance).map_or("", |plan| &plan.name);
    query.admits_row(instance)
        && query.admits("type", "managed")
        && query.admits("space_guids", instance.space.as_str())
        && query.admits("organization_guids", organization)
        && query.admits("service_plan_guids", instance.plan.as_str())
        && query.admits("service_plan_names", plan_name)
}

/// What was asked for beside the instances.
struct Fields<'a> {
    space: &'a [String],
    organization: &'a [String],
    plan: &'a [String],
    offering: &'a [String],
    broker: &'a [String],
}

impl<'a> Fields<'a> {
    fn of(query: &'a Query) -> Result<Self, Refusal> {
        let offering = [
            "guid",
            "name",
            "description",
            "documentation_url",
            "tags",
            "relationships.service_broker",
        ];
        Ok(Self {
            space: query.items(SPACE, &["guid", "name", "relationships.organization"])?,
            organization: query.items(ORGANIZATION, &["guid", "name"])?,
            plan: query.items(PLAN, &["guid", "name", "relationships.service_offering"])?,
            offering: query.items(OFFERING, &offering)?,
            broker: query.items(BROKER, &["guid", "name"])?,
        })
    }

    fn included(
        &self,
        controller: &CloudController,
        tables: &Tables,
        page: &Page<'_, Instance>,
    ) -> Included {
        let mut included = Included::default();
        for instance in &page.rows {
            if let Some(space) = tables
                .spaces
                .get(&instance.space)
                .filter(|_| !self.space.is_empty())
            {
                included.add("spaces", space.guid.as_str(), || {
                    selected(&controller.space(space), self.space)
                });
            }
            let organization = tables
                .organization_of(&instance.space)
                .filter(|_| !self.organization.is_empty());
            if let Some(organization) = organization {
                included.add("organizations", organization.guid.as_str(), || {
                    selected(&controller.organization(organization), self.organization)
                });
            }
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

impl CloudController {
    pub(super) fn instance(&self, tables: &Tables, instance: &Instance) -> Value {
        let path = format!("/v3/service_instances/{}", instance.guid);
        let bindings = |kind: &str| {
            format!(
                "/v3/service_{kind}_bindings?service_instance_guids={}",
                instance.guid
            )
        };
        let upgrade_available = tables
            .plan_of(instance)
            .is_some_and(|plan| instance.upgrade_available(plan));
        json!({
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
            "metadata": metadata(),
            "links": {
                "self": self.link(&path),
                "space": self.link(format_args!("/v3/spaces/{}", instance.space)),
                "service_credential_bindings": self.link(bindings("credential")),
                "service_route_bindings": self.link(bindings("route")),
                "service_plan": self.link(format_args!("/v3/service_plans/{}", instance.plan)),
                "parameters": self.link(format_args!("{path}/parameters")),
                "shared_spaces": self.link(format_args!("{path}/relationships/shared_spaces")),
            },
        })
    }
}
