//! Route bindings (`spec/contracts/platform-apis.md`, "Bindings and keys").

use actix_web::{
    HttpRequest,
    web::{Bytes, Data, Path, ServiceConfig, delete, get, patch, post, resource},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Answer,
    caller::Caller,
    listing::Included,
    message::{MetadataOnly, Relation, checked_metadata, message},
    no_content, ok,
    present::{created, last_operation, metadata, relation, stamp},
    query::Query,
    service_binding_changes::{begin_unbind, must_be_bindable},
    service_credential_bindings::{admits_instance, candidates},
    service_instances::{ServiceInstance, found},
};
use crate::cloud_controller::{
    CloudController,
    model::{
        Binding, BindingGuid, BindingKey, BindingKind, InstanceGuid, JobOperation, JobResource,
        Metadata, MetadataChange, OperationKind, OperationState, RouteGuid, Tables,
    },
    rejection::{ErrorKind, Rejection},
};

pub(super) fn routes(app: &mut ServiceConfig) {
    let all = "/v3/service_route_bindings";
    app.service(resource(all).route(get().to(list)).route(post().to(create)))
        .service(
            resource(format!("{all}/{{guid}}"))
                .route(get().to(one))
                .route(patch().to(update))
                .route(delete().to(remove)),
        )
        .service(resource(format!("{all}/{{guid}}/parameters")).route(get().to(parameters)));
}

async fn list(controller: Data<CloudController>, caller: Caller, request: HttpRequest) -> Answer {
    let allowed = [
        "service_instance_guids",
        "service_instance_names",
        "route_guids",
        "include",
    ];
    let query = Query::unnamed(&request, &allowed)?;
    let include = query.include(&["route", "service_instance"])?;
    controller.0.state.read(|tables| {
        let permissions = caller.permissions(tables);
        let seen = |row: &&Binding| {
            let BindingKind::Route(route) = &row.kind else {
                return false;
            };
            query.admits_row(row)
                && query.admits("route_guids", route.as_str())
                && query.admits("service_instance_guids", row.instance.as_str())
                && admits_instance(&query, tables, row)
                && permissions.sees_binding(tables, row)
        };
        let found = candidates(&query, tables).into_iter().filter(seen);
        let page = query.page(&controller, found.collect());
        let included = included(&controller, tables, &page.rows, include);
        Ok(ok(&included.beside(page.presented(|binding| {
            controller.route_binding(tables, binding)
        }))))
    })
}

async fn one(
    controller: Data<CloudController>,
    caller: Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> Answer {
    let query = Query::of_one(&request, &["include"])?;
    let include = query.include(&["route", "service_instance"])?;
    controller.0.state.read(|tables| {
        let binding = visible(tables, &caller, &guid)?;
        let included = included(&controller, tables, &[binding], include);
        Ok(ok(
            &included.beside(controller.route_binding(tables, binding))
        ))
    })
}

async fn parameters(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
) -> Answer {
    let target = controller.0.state.read(|tables| {
        let binding = visible(tables, &caller, &guid)?;
        Ok(tables.fetchable_binding(binding))
    })?;
    let Some(target) = target else {
        return Err(ErrorKind::BindingParametersNotSupported
            .with("This service does not support fetching service binding parameters."));
    };
    let body = controller.fetched(&target, &caller.identity).await?;
    Ok(ok(body.get("parameters").unwrap_or(&json!({}))))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    parameters: Option<Map<String, Value>>,
    relationships: Relationships,
    #[serde(default)]
    metadata: MetadataChange,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Relationships {
    service_instance: Relation,
    route: Relation,
}

async fn create(controller: Data<CloudController>, caller: Caller, body: Bytes) -> Answer {
    let wanted: Create = message(&body)?;
    let change = checked_metadata(wanted.metadata)?;
    let relationships = wanted.relationships;
    let begun = controller.0.state.change(|tables| {
        let guid = &relationships.service_instance.data.guid;
        let instance = found(tables, &caller, guid).map_err(|_| {
            Rejection::unprocessable(format!("The service instance could not be found: {guid}"))
        })?;
        let permissions = caller.permissions(tables);
        permissions.must_write(tables, instance.space())?;
        let route = RouteGuid::given(&relationships.route.data.guid);
        let found_route = tables
            .routes
            .get(&route)
            .filter(|row| permissions.sees_space(tables, &row.space))
            .ok_or_else(|| {
                Rejection::unprocessable(format!("The route could not be found: {route}"))
            })?;
        if found_route.space != *instance.space() {
            return Err(Rejection::unprocessable(
                "The service instance and the route are in different spaces.",
            ));
        }
        let url = match instance {
            ServiceInstance::Managed(instance) => {
                let offering = tables
                    .plan_of(instance)
                    .and_then(|plan| tables.offering_of(plan));
                let forwards =
                    |requires: &[String]| requires.iter().any(|what| what == "route_forwarding");
                if !offering.is_some_and(|offering| forwards(&offering.requires)) {
                    return Err(does_not_support_routes());
                }
                must_be_bindable(tables, instance)?;
                None
            }
            ServiceInstance::UserProvided(instance) => Some(
                instance
                    .route_service_url
                    .clone()
                    .ok_or_else(does_not_support_routes)?,
            ),
        };
        let instance = match instance {
            ServiceInstance::Managed(instance) => instance.guid.clone(),
            ServiceInstance::UserProvided(instance) => instance.guid.clone(),
        };
        must_be_unbound(tables, &instance, &route)?;
        let state = match url {
            Some(_) => OperationState::Succeeded,
            None => OperationState::Initial,
        };
        let last_operation = tables.operation(OperationKind::Create, state);
        let now = Timestamp::now();
        let binding = Binding {
            guid: BindingGuid::random(),
            instance,
            name: None,
            kind: BindingKind::Route(route),
            details: url.map(|url| Map::from_iter([("route_service_url".to_owned(), url.into())])),
            metadata: Metadata::from(&change),
            last_operation: last_operation.clone(),
            created_at: now,
            updated_at: now,
        };
        let guid = binding.guid.clone();
        tables.bindings.insert(guid.clone(), binding.clone());
        if state == OperationState::Succeeded {
            return Ok(Err(created(&controller.route_binding(tables, &binding))));
        }
        let resource = JobResource::Binding(guid.clone());
        let job = JobOperation::CreateRouteBinding;
        Ok(Ok((
            controller.begun(tables, job, resource, &last_operation, &caller),
            guid,
        )))
    })?;
    Ok(match begun {
        Err(made) => made,
        Ok((operation, guid)) => {
            let answer = controller.accepted(&operation.job);
            operation.bind(guid, wanted.parameters);
            answer
        }
    })
}

fn does_not_support_routes() -> Rejection {
    Rejection::unprocessable("This service instance does not support route binding.")
}

/// A route is bound to one instance, and once. A binding whose creation failed makes way.
fn must_be_unbound(
    tables: &mut Tables,
    instance: &InstanceGuid,
    route: &RouteGuid,
) -> Result<(), Rejection> {
    let key = BindingKey::Route(route.clone());
    let Some(there) = tables.bindings.with(key).next() else {
        return Ok(());
    };
    if there
        .last_operation
        .is(OperationKind::Create, OperationState::Failed)
    {
        let failed = there.guid.clone();
        tables.bindings.remove(&failed);
        return Ok(());
    }
    if there.instance == *instance {
        return Err(ErrorKind::AlreadyBoundToRoute
            .with("The route and service instance are already bound."));
    }
    Err(Rejection::unprocessable(
        "A route may only be bound to a single service instance",
    ))
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
        let binding = visible(tables, &caller, &guid)?;
        let space = tables.space_of(binding).ok_or_else(missing)?;
        caller.permissions(tables).must_write(tables, space)?;
        let guid = binding.guid.clone();
        let row = tables.bindings.get_mut(&guid).ok_or_else(missing)?;
        row.metadata.apply(&change);
        row.updated_at = Timestamp::now();
        let row = row.clone();
        Ok(ok(&controller.route_binding(tables, &row)))
    })
}

async fn remove(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    let begun = controller.0.state.change(|tables| {
        let binding = visible(tables, &caller, &guid)?;
        let space = tables.space_of(binding).ok_or_else(missing)?;
        caller.permissions(tables).must_write(tables, space)?;
        let guid = binding.guid.clone();
        begin_unbind(&controller, tables, &caller, &guid)
    })?;
    Ok(match begun {
        None => no_content(),
        Some((operation, guid)) => {
            let answer = controller.accepted(&operation.job);
            operation.unbind(guid);
            answer
        }
    })
}

fn missing() -> Rejection {
    Rejection::no_such("Service route binding")
}

fn visible<'a>(tables: &'a Tables, caller: &Caller, guid: &str) -> Result<&'a Binding, Rejection> {
    let permissions = caller.permissions(tables);
    tables
        .bindings
        .get(&BindingGuid::given(guid))
        .filter(|binding| matches!(binding.kind, BindingKind::Route(_)))
        .filter(|binding| permissions.sees_binding(tables, binding))
        .ok_or_else(missing)
}

fn included(
    controller: &CloudController,
    tables: &Tables,
    bindings: &[&Binding],
    include: &[String],
) -> Included {
    let mut included = Included::default();
    let wants = |what: &str| include.iter().any(|item| item == what);
    if wants("route") {
        included.of("routes");
    }
    if wants("service_instance") {
        included.of("service_instances");
    }
    for binding in bindings {
        let route = match &binding.kind {
            BindingKind::Route(guid) => tables.routes.get(guid),
            BindingKind::App(_) | BindingKind::Key => None,
        };
        if let Some(route) = route.filter(|_| wants("route")) {
            included.add("routes", route.guid.as_str(), || controller.route(route));
        }
        let instance = ServiceInstance::get(tables, &binding.instance);
        if let Some(instance) = instance.filter(|_| wants("service_instance")) {
            included.add("service_instances", binding.instance.as_str(), || {
                instance.presented(controller, tables)
            });
        }
    }
    included
}

impl CloudController {
    fn route_binding(&self, tables: &Tables, binding: &Binding) -> Value {
        let path = format!("/v3/service_route_bindings/{}", binding.guid);
        let instance = format!("/v3/service_instances/{}", binding.instance);
        let url = binding.details.as_ref();
        let url = url.and_then(|details| details.get("route_service_url"));
        let mut body = json!({
            "guid": binding.guid,
            "route_service_url": url,
            "created_at": stamp(binding.created_at),
            "updated_at": stamp(binding.updated_at),
            "last_operation": last_operation(&binding.last_operation),
            "relationships": {"service_instance": relation(&binding.instance)},
            "metadata": metadata(&binding.metadata),
            "links": {"self": self.link(&path), "service_instance": self.link(instance)},
        });
        if let BindingKind::Route(route) = &binding.kind {
            body["relationships"]["route"] = relation(route);
            body["links"]["route"] = self.link(format_args!("/v3/routes/{route}"));
        }
        if tables.instances.contains_key(&binding.instance) {
            body["links"]["parameters"] = self.link(format_args!("{path}/parameters"));
        }
        body
    }
}
