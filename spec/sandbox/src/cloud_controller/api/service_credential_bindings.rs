//! Bindings to apps, and service keys (`spec/contracts/platform-apis.md`, "Bindings and keys").

use actix_web::{
    HttpRequest,
    web::{Bytes, Data, Path, ServiceConfig, delete, get, post, resource},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Answer,
    caller::Caller,
    listing::{Included, Query},
    message::{Metadata, Relation, checked_name, message},
    ok,
    present::{last_operation, metadata, relation, stamp},
    service_instances::visible as visible_instance,
};
use crate::cloud_controller::{
    CloudController,
    model::{
        App, AppGuid, Binding, BindingGuid, BindingKind, Instance, JobOperation, JobResource,
        OperationKind, OperationState, Tables,
    },
    refusal::Refusal,
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
    app.service(resource(all).route(get().to(list)).route(post().to(create)))
        .service(
            resource(format!("{all}/{{guid}}"))
                .route(get().to(one))
                .route(delete().to(remove)),
        )
        .service(resource(format!("{all}/{{guid}}/details")).route(get().to(details)));
}

async fn list(controller: Data<CloudController>, caller: Caller, request: HttpRequest) -> Answer {
    let query = Query::of(&request, &FILTERS)?;
    let include = query.items("include", &["app", "service_instance"])?;
    let wants = |what: &str| include.iter().any(|item| item == what);
    controller.0.state.read(|tables| {
        let seen = |row: &&Binding| sees(tables, &caller, row) && admits(&query, tables, row);
        let page = query.page(&controller, tables.bindings.values().filter(seen).collect());
        let mut included = Included::default();
        if wants("app") {
            included.of("apps");
        }
        for binding in &page.rows {
            if let Some(app) = app_of(tables, binding).filter(|_| wants("app")) {
                included.add("apps", app.guid.as_str(), || controller.app(app));
            }
            if let Some(instance) = tables
                .instances
                .get(&binding.instance)
                .filter(|_| wants("service_instance"))
            {
                included.add("service_instances", instance.guid.as_str(), || {
                    controller.instance(tables, instance)
                });
            }
        }
        Ok(ok(&included.beside(
            page.presented(|binding| controller.binding(binding)),
        )))
    })
}

async fn one(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    controller
        .0
        .state
        .read(|tables| Ok(ok(&controller.binding(visible(tables, &caller, &guid)?))))
}

async fn details(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    controller.0.state.read(|tables| {
        let details = visible(tables, &caller, &guid)?.details.clone();
        let mut details = details.ok_or_else(|| {
            Refusal::no_such(
                "Creation of credential binding failed or is in progress: credential binding",
            )
        })?;
        details.entry("credentials").or_insert_with(|| json!({}));
        Ok(ok(&Value::Object(details)))
    })
}

#[derive(Deserialize)]
struct Create {
    #[serde(rename = "type")]
    kind: Kind,
    name: Option<String>,
    parameters: Option<Map<String, Value>>,
    relationships: Relationships,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    App,
    Key,
}

#[derive(Deserialize)]
struct Relationships {
    service_instance: Relation,
    app: Option<Relation>,
}

async fn create(controller: Data<CloudController>, caller: Caller, body: Bytes) -> Answer {
    let wanted: Create = message(&body)?;
    wanted.metadata.must_be_empty()?;
    let name = wanted.name.as_deref().map(checked_name).transpose()?;
    let (operation, guid) = controller.0.state.change(|tables| {
        let instance = bindable_instance(
            tables,
            &caller,
            &wanted.relationships.service_instance.data.guid,
        )?
        .clone();
        let kind = match (wanted.kind, &wanted.relationships.app) {
            (Kind::Key, None) if name.is_some() => BindingKind::Key,
            (Kind::Key, None) => return Err(Refusal::unprocessable("Name can't be blank")),
            (Kind::Key, Some(_)) => return Err(Refusal::unprocessable("Unknown field(s): 'app'")),
            (Kind::App, None) => {
                return Err(Refusal::unprocessable(
                    "Relationships 'app' is not provided",
                ));
            }
            (Kind::App, Some(app)) => {
                BindingKind::App(bound_app(tables, &instance, &app.data.guid)?)
            }
        };
        make_room(tables, &instance, &kind, name.as_deref())?;
        let last_operation = tables.operation(OperationKind::Create, OperationState::Initial);
        let now = Timestamp::now();
        let job = match kind {
            BindingKind::App(_) => JobOperation::CreateBinding,
            BindingKind::Key => JobOperation::CreateKey,
        };
        let binding = Binding {
            guid: BindingGuid::random(),
            instance: instance.guid,
            name,
            kind,
            details: None,
            last_operation: last_operation.clone(),
            created_at: now,
            updated_at: now,
        };
        let guid = binding.guid.clone();
        tables.bindings.insert(guid.clone(), binding);
        let resource = JobResource::Binding(guid.clone());
        Ok((
            controller.begun(tables, job, resource, &last_operation, &caller),
            guid,
        ))
    })?;
    let answer = controller.accepted(&operation.job);
    operation.bind(guid, wanted.parameters);
    Ok(answer)
}

fn bindable_instance<'a>(
    tables: &'a Tables,
    caller: &Caller,
    guid: &str,
) -> Result<&'a Instance, Refusal> {
    let instance = visible_instance(tables, caller, guid).map_err(|_| {
        Refusal::unprocessable(format!("The service instance could not be found: {guid}"))
    })?;
    if instance.last_operation.is_running() {
        return Err(Refusal::unprocessable(
            "There is an operation in progress for the service instance",
        ));
    }
    if instance
        .last_operation
        .is(OperationKind::Create, OperationState::Failed)
    {
        return Err(Refusal::unprocessable("Service instance not found"));
    }
    let bindable = tables
        .plan_of(instance)
        .is_some_and(|plan| tables.is_bindable(plan));
    if bindable {
        Ok(instance)
    } else {
        Err(Refusal::unprocessable(
            "Service plan does not allow bindings.",
        ))
    }
}

fn bound_app(tables: &Tables, instance: &Instance, guid: &str) -> Result<AppGuid, Refusal> {
    let app = tables.apps.get(&AppGuid::given(guid));
    let app =
        app.ok_or_else(|| Refusal::unprocessable(format!("The app could not be found: {guid}")))?;
    if app.space != instance.space {
        return Err(Refusal::unprocessable(
            "The service instance and the app are in different spaces.",
        ));
    }
    Ok(app.guid.clone())
}

/// Makes sure that there is no such binding yet. One whose creation failed makes way.
fn make_room(
    tables: &mut Tables,
    instance: &Instance,
    kind: &BindingKind,
    name: Option<&str>,
) -> Result<(), Refusal> {
    let same = |binding: &&Binding| match kind {
        BindingKind::Key => binding.kind == BindingKind::Key && binding.name.as_deref() == name,
        BindingKind::App(_) => binding.kind == *kind,
    };
    let Some(there) = tables.bindings_of(&instance.guid).find(same) else {
        return Ok(());
    };
    if !there
        .last_operation
        .is(OperationKind::Create, OperationState::Failed)
    {
        return Err(Refusal::unprocessable(match kind {
            BindingKind::App(_) => "The app is already bound to the service instance".to_owned(),
            BindingKind::Key => format!(
                "The binding name is invalid. Key binding names must be unique. The service instance already has a \
                 key binding with name '{}'.",
                name.unwrap_or_default()
            ),
        }));
    }
    let failed = there.guid.clone();
    tables.bindings.remove(&failed);
    Ok(())
}

async fn remove(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    let (operation, guid) = controller.0.state.change(|tables| {
        let binding = visible(tables, &caller, &guid)?;
        let (guid, kind) = (binding.guid.clone(), binding.kind.clone());
        if binding.last_operation.is_running() {
            return Err(Refusal::unprocessable(
                "There is an operation in progress for the service binding.",
            ));
        }
        if tables
            .instances
            .get(&binding.instance)
            .is_some_and(|instance| instance.last_operation.is_running())
        {
            return Err(Refusal::unprocessable(
                "There is an operation in progress for the service instance.",
            ));
        }
        let last_operation = tables.operation(OperationKind::Delete, OperationState::InProgress);
        if let Some(row) = tables.bindings.get_mut(&guid) {
            row.last_operation = last_operation.clone();
        }
        let job = match kind {
            BindingKind::App(_) => JobOperation::DeleteBinding,
            BindingKind::Key => JobOperation::DeleteKey,
        };
        let resource = JobResource::Binding(guid.clone());
        Ok((
            controller.begun(tables, job, resource, &last_operation, &caller),
            guid,
        ))
    })?;
    let answer = controller.accepted(&operation.job);
    operation.unbind(guid);
    Ok(answer)
}

fn visible<'a>(tables: &'a Tables, caller: &Caller, guid: &str) -> Result<&'a Binding, Refusal> {
    let binding = tables
        .bindings
        .get(&BindingGuid::given(guid))
        .filter(|binding| sees(tables, caller, binding));
    binding.ok_or_else(|| Refusal::no_such("Service credential binding"))
}

fn sees(tables: &Tables, caller: &Caller, binding: &Binding) -> bool {
    tables
        .instances
        .get(&binding.instance)
        .is_some_and(|instance| caller.sees_instance(tables, instance))
}

fn app_of<'a>(tables: &'a Tables, binding: &Binding) -> Option<&'a App> {
    match &binding.kind {
        BindingKind::App(app) => tables.apps.get(app),
        BindingKind::Key => None,
    }
}

fn admits(query: &Query, tables: &Tables, binding: &Binding) -> bool {
    let Some(instance) = tables.instances.get(&binding.instance) else {
        return false;
    };
    let Some(plan) = tables.plan_of(instance) else {
        return false;
    };
    let app = app_of(tables, binding);
    query.admits_row(binding)
        && query.admits("type", kind_name(&binding.kind))
        && query.admits("service_instance_guids", instance.guid.as_str())
        && query.admits("service_instance_names", &instance.name)
        && query.admits("service_plan_guids", plan.guid.as_str())
        && query.admits("service_plan_names", &plan.name)
        && query.admits("service_offering_guids", plan.offering.as_str())
        && query.admits(
            "service_offering_names",
            tables
                .offering_of(plan)
                .map_or("", |offering| &offering.name),
        )
        && query.admits_any("app_guids", app.iter().map(|app| app.guid.as_str()))
        && query.admits_any("app_names", app.iter().map(|app| app.name.as_str()))
}

fn kind_name(kind: &BindingKind) -> &'static str {
    match kind {
        BindingKind::App(_) => "app",
        BindingKind::Key => "key",
    }
}

impl CloudController {
    fn binding(&self, binding: &Binding) -> Value {
        let path = format!("/v3/service_credential_bindings/{}", binding.guid);
        let instance = format!("/v3/service_instances/{}", binding.instance);
        let mut body = json!({
            "guid": binding.guid,
            "created_at": stamp(binding.created_at),
            "updated_at": stamp(binding.updated_at),
            "name": binding.name,
            "type": kind_name(&binding.kind),
            "last_operation": last_operation(&binding.last_operation),
            "metadata": metadata(),
            "relationships": {"service_instance": relation(&binding.instance)},
            "links": {
                "self": self.link(&path),
                "details": self.link(format_args!("{path}/details")),
                "service_instance": self.link(instance),
                "parameters": self.link(format_args!("{path}/parameters")),
            },
        });
        if let BindingKind::App(app) = &binding.kind {
            body["relationships"]["app"] = relation(app);
            body["links"]["app"] = self.link(format_args!("/v3/apps/{app}"));
        }
        body
    }
}
