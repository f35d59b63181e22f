//! Bindings to apps, and service keys, to look at (`spec/contracts/platform-apis.md`, "Bindings and keys").

use std::collections::BTreeSet;

use actix_web::{
    HttpRequest,
    web::{Bytes, Data, Path, ServiceConfig, delete, get, patch, post, resource},
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    Answer,
    caller::Caller,
    listing::Included,
    message::{MetadataOnly, checked_metadata, message},
    ok,
    present::{last_operation, metadata, relation, stamp},
    query::Query,
    service_binding_changes as changes,
    service_instances::ServiceInstance,
};
use crate::cloud_controller::{
    CloudController,
    model::{
        App, AppGuid, Binding, BindingGuid, BindingKey, BindingKind, InstanceGuid, OperationKind,
        Tables,
    },
    rejection::{ErrorKind, Rejection},
};

const FILTERS: [&str; 10] = [
    "type",
    "service_instance_guids",
    "service_instance_names",
    "service_plan_guids",
    "service_plan_names",
    "service_offering_guids",
    "service_offering_names",
    "app_guids",
    "app_names",
    "include",
];

pub(super) fn routes(app: &mut ServiceConfig) {
    let all = "/v3/service_credential_bindings";
    app.service(
        resource(all)
            .route(get().to(list))
            .route(post().to(changes::create)),
    )
    .service(
        resource(format!("{all}/{{guid}}"))
            .route(get().to(one))
            .route(patch().to(update))
            .route(delete().to(changes::remove)),
    )
    .service(resource(format!("{all}/{{guid}}/details")).route(get().to(details)))
    .service(resource(format!("{all}/{{guid}}/parameters")).route(get().to(parameters)));
}

async fn list(controller: Data<CloudController>, caller: Caller, request: HttpRequest) -> Answer {
    let query = Query::of(&request, &FILTERS)?;
    query.must_be_one_of("type", &["app", "key"])?;
    let include = query.include(&["app", "service_instance"])?;
    controller.0.state.read(|tables| {
        let permissions = caller.permissions(tables);
        let seen = |row: &&Binding| {
            is_credential(row)
                && admits(&query, tables, row)
                && permissions.sees_binding(tables, row)
        };
        let found = candidates(&query, tables).into_iter().filter(seen);
        let page = query.page(&controller, found.collect());
        let included = included(&controller, tables, &page.rows, include);
        Ok(ok(&included.beside(
            page.presented(|binding| controller.binding(tables, binding)),
        )))
    })
}

async fn one(
    controller: Data<CloudController>,
    caller: Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> Answer {
    let query = Query::of_one(&request, &["include"])?;
    let include = query.include(&["app", "service_instance"])?;
    controller.0.state.read(|tables| {
        let binding = visible(tables, &caller, &guid)?;
        let included = included(&controller, tables, &[binding], include);
        Ok(ok(&included.beside(controller.binding(tables, binding))))
    })
}

/// Credentials are for those who may see the secrets of the space; for others there are none.
async fn details(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    let (is_key, mut details) = controller.0.state.read(|tables| {
        let binding = visible(tables, &caller, &guid)?;
        let permissions = caller.permissions(tables);
        let secrets = tables
            .space_of(binding)
            .is_some_and(|space| permissions.sees_secrets(space));
        if !secrets {
            return Err(missing());
        }
        let details = binding.details.clone().ok_or_else(|| {
            Rejection::no_such(
                "Creation of credential binding failed or is in progress: credential binding",
            )
        })?;
        Ok((binding.kind == BindingKind::Key, details))
    })?;
    let credentials = details.entry("credentials").or_insert_with(|| json!({}));
    if is_key {
        let resolved = controller.key_credentials(credentials.take());
        *credentials = resolved.map_err(|rejection| {
            ErrorKind::ServiceUnavailable.with(format!(
                "Fetching credentials from CredHub failed; reason: {rejection}"
            ))
        })?;
    }
    Ok(ok(&Value::Object(details)))
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

async fn update(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
    body: Bytes,
) -> Answer {
    controller.0.state.change(|tables| {
        let binding = visible(tables, &caller, &guid)?;
        let space = tables.space_of(binding).ok_or_else(missing)?;
        caller.permissions(tables).must_write(tables, space)?;
        let last = &binding.last_operation;
        if last.is_running() && last.kind == OperationKind::Delete {
            return Err(Rejection::unprocessable(
                "The service binding is being deleted",
            ));
        }
        let guid = binding.guid.clone();
        let wanted: MetadataOnly = message(&body)?;
        let change = checked_metadata(wanted.metadata)?;
        let row = tables.bindings.get_mut(&guid).ok_or_else(missing)?;
        row.metadata.apply(&change);
        row.updated_at = Timestamp::now();
        let row = row.clone();
        Ok(ok(&controller.binding(tables, &row)))
    })
}

pub(super) fn missing() -> Rejection {
    Rejection::no_such("Service credential binding")
}

pub(super) fn visible<'a>(
    tables: &'a Tables,
    caller: &Caller,
    guid: &str,
) -> Result<&'a Binding, Rejection> {
    let permissions = caller.permissions(tables);
    let binding = tables
        .bindings
        .get(&BindingGuid::given(guid))
        .filter(|binding| is_credential(binding) && permissions.sees_binding(tables, binding));
    binding.ok_or_else(missing)
}

fn is_credential(binding: &Binding) -> bool {
    !matches!(binding.kind, BindingKind::Route(_))
}

/// The bindings that may match the query, found by its most selective filter.
pub(super) fn candidates<'a>(query: &Query, tables: &'a Tables) -> Vec<&'a Binding> {
    let with = |guids: &[String], key: fn(&str) -> BindingKey| {
        let guids: BTreeSet<_> = guids.iter().collect();
        guids
            .into_iter()
            .flat_map(|guid| tables.bindings.with(key(guid)))
            .collect()
    };
    if let Some(guids) = query.wanted("service_instance_guids") {
        return with(guids, |guid| {
            BindingKey::Instance(InstanceGuid::given(guid))
        });
    }
    if let Some(guids) = query.wanted("app_guids") {
        return with(guids, |guid| BindingKey::App(AppGuid::given(guid)));
    }
    tables.bindings.values().collect()
}

fn app_of<'a>(tables: &'a Tables, binding: &Binding) -> Option<&'a App> {
    match &binding.kind {
        BindingKind::App(app) => tables.apps.get(app),
        BindingKind::Key | BindingKind::Route(_) => None,
    }
}

fn admits(query: &Query, tables: &Tables, binding: &Binding) -> bool {
    let app = app_of(tables, binding);
    query.admits_row(&binding)
        && query.admits("type", kind_name(&binding.kind))
        && query.admits("service_instance_guids", binding.instance.as_str())
        && admits_instance(query, tables, binding)
        && query.admits_any("app_guids", app.iter().map(|app| app.guid.as_str()))
        && query.admits_any("app_names", app.iter().map(|app| app.name.as_str()))
}

/// The filters by name of the instance, and by plan and offering, which user-provided instances do not have.
pub(super) fn admits_instance(query: &Query, tables: &Tables, binding: &Binding) -> bool {
    match ServiceInstance::get(tables, &binding.instance) {
        None => false,
        Some(ServiceInstance::UserProvided(instance)) => {
            query.admits("service_instance_names", &instance.name)
                && [
                    "service_plan_guids",
                    "service_plan_names",
                    "service_offering_guids",
                    "service_offering_names",
                ]
                .iter()
                .all(|filter| query.wanted(filter).is_none())
        }
        Some(ServiceInstance::Managed(instance)) => {
            let Some(plan) = tables.plan_of(instance) else {
                return false;
            };
            let offering = tables.offering_of(plan);
            query.admits("service_instance_names", &instance.name)
                && query.admits("service_plan_guids", plan.guid.as_str())
                && query.admits("service_plan_names", &plan.name)
                && query.admits("service_offering_guids", plan.offering.as_str())
                && query.admits(
                    "service_offering_names",
                    offering.map_or("", |offering| &offering.name),
                )
        }
    }
}

fn included(
    controller: &CloudController,
    tables: &Tables,
    bindings: &[&Binding],
    include: &[String],
) -> Included {
    let mut included = Included::default();
    let wants = |what: &str| include.iter().any(|item| item == what);
    if wants("app") {
        included.of("apps");
    }
    if wants("service_instance") {
        included.of("service_instances");
    }
    for binding in bindings {
        if let Some(app) = app_of(tables, binding).filter(|_| wants("app")) {
            included.add("apps", app.guid.as_str(), || controller.app(app));
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

fn kind_name(kind: &BindingKind) -> &'static str {
    match kind {
        BindingKind::App(_) => "app",
        BindingKind::Key => "key",
        BindingKind::Route(_) => "route",
    }
}

impl CloudController {
    pub(super) fn binding(&self, tables: &Tables, binding: &Binding) -> Value {
        let path = format!("/v3/service_credential_bindings/{}", binding.guid);
        let instance = format!("/v3/service_instances/{}", binding.instance);
        let mut body = json!({
            "guid": binding.guid,
            "created_at": stamp(binding.created_at),
            "updated_at": stamp(binding.updated_at),
            "name": binding.name,
            "type": kind_name(&binding.kind),
            "last_operation": last_operation(&binding.last_operation),
            "metadata": metadata(&binding.metadata),
            "relationships": {"service_instance": relation(&binding.instance)},
            "links": {
                "self": self.link(&path),
                "details": self.link(format_args!("{path}/details")),
                "service_instance": self.link(instance),
            },
        });
        if tables.instances.contains_key(&binding.instance) {
            body["links"]["parameters"] = self.link(format_args!("{path}/parameters"));
        }
        if let BindingKind::App(app) = &binding.kind {
            body["relationships"]["app"] = relation(app);
            body["links"]["app"] = self.link(format_args!("/v3/apps/{app}"));
        }
        body
    }
}
