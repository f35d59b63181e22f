//! Creating and deleting bindings to apps, and service keys (`spec/contracts/platform-apis.md`, "Bindings and keys").

use actix_web::{
    HttpResponse,
    web::{Bytes, Data, Path},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Answer,
    caller::Caller,
    message::{Relation, checked_metadata, checked_name, message},
    no_content,
    present::created,
    service_credential_bindings::{missing, visible},
    service_instances::{ServiceInstance, found},
};
use crate::cloud_controller::{
    CloudController,
    model::{
        AppGuid, Binding, BindingGuid, BindingKey, BindingKind, Instance, InstanceGuid,
        JobOperation, JobResource, LastOperation, Metadata, MetadataChange, OperationKind,
        OperationState, Tables,
    },
    rejection::Rejection,
    work::Operation,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    #[serde(rename = "type")]
    kind: Kind,
    name: Option<String>,
    parameters: Option<Map<String, Value>>,
    relationships: Relationships,
    #[serde(default)]
    metadata: MetadataChange,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    App,
    Key,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Relationships {
    service_instance: Relation,
    app: Option<Relation>,
}

/// The outcome of an order for a binding.
enum Ordered {
    /// The broker is to be asked.
    Begun(Operation, BindingGuid),
    /// It is there already.
    Made(HttpResponse),
}

pub(super) async fn create(
    controller: Data<CloudController>,
    caller: Caller,
    body: Bytes,
) -> Answer {
    let wanted: Create = message(&body)?;
    let metadata = checked_metadata(wanted.metadata)?;
    let name = wanted.name.as_deref().map(checked_name).transpose()?;
    let (kind, relationships) = (wanted.kind, wanted.relationships);
    let has_parameters = wanted.parameters.is_some();
    let ordered = controller.0.state.change(|tables| {
        let guid = &relationships.service_instance.data.guid;
        let instance = found(tables, &caller, guid).map_err(|_| {
            Rejection::unprocessable(format!("The service instance could not be found: '{guid}'"))
        })?;
        let kind = match (kind, &relationships.app) {
            (Kind::Key, None) if name.is_some() => BindingKind::Key,
            (Kind::Key, None) => return Err(Rejection::unprocessable("Name can't be blank")),
            (Kind::Key, Some(_)) => {
                return Err(Rejection::unprocessable(
                    "Relationships Unknown field(s): 'app'",
                ));
            }
            (Kind::App, None) => {
                return Err(Rejection::unprocessable(
                    "Relationships App can't be blank",
                ));
            }
            (Kind::App, Some(app)) => {
                BindingKind::App(bound_app(tables, &caller, instance, &app.data.guid)?)
            }
        };
        let binding = |instance: InstanceGuid, last_operation: LastOperation| Binding {
            guid: BindingGuid::random(),
            instance,
            name: name.clone(),
            kind: kind.clone(),
            details: None,
            metadata: Metadata::from(&metadata),
            last_operation,
            created_at: Timestamp::now(),
            updated_at: Timestamp::now(),
        };
        let instance = match instance {
            ServiceInstance::Managed(instance) => instance,
            ServiceInstance::UserProvided(instance) => {
                if kind == BindingKind::Key {
                    return Err(Rejection::unprocessable(
                        "Service credential bindings of type 'key' are not supported for user-provided service \
                         instances.",
                    ));
                }
                if has_parameters {
                    return Err(Rejection::unprocessable(
                        "Binding parameters are not supported for user-provided service instances",
                    ));
                }
                let instance = instance.clone();
                make_room(tables, &instance.guid, &kind, name.as_deref())?;
                let last = tables.operation(OperationKind::Create, OperationState::Succeeded);
                let mut binding = binding(instance.guid, last);
                let mut details = Map::new();
                details.insert("credentials".to_owned(), json!(instance.credentials));
                if let Some(url) = instance.syslog_drain_url {
                    details.insert("syslog_drain_url".to_owned(), url.into());
                }
                binding.details = Some(details);
                tables
                    .bindings
                    .insert(binding.guid.clone(), binding.clone());
                return Ok(Ordered::Made(created(
                    &controller.binding(tables, &binding),
                )));
            }
        };
        if kind == BindingKind::Key {
            caller
                .permissions(tables)
                .must_write(tables, &instance.space)?;
        }
        must_be_bindable(tables, instance)?;
        let instance = instance.guid.clone();
        make_room(tables, &instance, &kind, name.as_deref())?;
        let last_operation = tables.operation(OperationKind::Create, OperationState::Initial);
        let job = match kind {
            BindingKind::App(_) | BindingKind::Route(_) => JobOperation::CreateBinding,
            BindingKind::Key => JobOperation::CreateKey,
        };
        let binding = binding(instance, last_operation.clone());
        let guid = binding.guid.clone();
        tables.bindings.insert(guid.clone(), binding);
        let resource = JobResource::Binding(guid.clone());
        let operation = controller.begun(tables, job, resource, &last_operation, &caller);
        Ok(Ordered::Begun(operation, guid))
    })?;
    match ordered {
        Ordered::Made(answer) => Ok(answer),
        Ordered::Begun(operation, guid) => {
            let answer = controller.accepted(&operation.job);
            operation.bind(guid, wanted.parameters);
            Ok(answer)
        }
    }
}

/// Makes sure that a broker's instance can be bound now.
pub(super) fn must_be_bindable(tables: &Tables, instance: &Instance) -> Result<(), Rejection> {
    let last = &instance.last_operation;
    if last.is(OperationKind::Create, OperationState::Failed) {
        return Err(Rejection::unprocessable("Service instance not found"));
    }
    if last.is_running() {
        return Err(Rejection::unprocessable(
            "There is an operation in progress for the service instance",
        ));
    }
    let bindable = tables
        .plan_of(instance)
        .is_some_and(|plan| tables.is_bindable(plan));
    if bindable {
        Ok(())
    } else {
        Err(Rejection::unprocessable(
            "Service plan does not allow bindings.",
        ))
    }
}

/// The app, if the caller may bind it to the instance.
fn bound_app(
    tables: &Tables,
    caller: &Caller,
    instance: ServiceInstance<'_>,
    guid: &str,
) -> Result<AppGuid, Rejection> {
    let permissions = caller.permissions(tables);
    let app = tables
        .apps
        .get(&AppGuid::given(guid))
        .filter(|app| permissions.sees_space(tables, &app.space))
        .ok_or_else(|| Rejection::unprocessable(format!("The app could not be found: '{guid}'")))?;
    permissions.must_operate(tables, &app.space)?;
    let is_shared = match instance {
        ServiceInstance::Managed(instance) => instance.shared_spaces.contains(&app.space),
        ServiceInstance::UserProvided(_) => false,
    };
    if app.space != *instance.space() && !is_shared {
        return Err(Rejection::unprocessable(
            "The service instance and the app are in different spaces",
        ));
    }
    Ok(app.guid.clone())
}

/// Makes sure that there is no such binding yet. One whose creation failed makes way.
fn make_room(
    tables: &mut Tables,
    instance: &InstanceGuid,
    kind: &BindingKind,
    name: Option<&str>,
) -> Result<(), Rejection> {
    let same = |binding: &&Binding| match kind {
        BindingKind::Key => binding.kind == BindingKind::Key && binding.name.as_deref() == name,
        BindingKind::App(_) | BindingKind::Route(_) => binding.kind == *kind,
    };
    let there = tables.bindings_of(instance).find(same);
    let there = there.map(|binding| (binding.guid.clone(), binding.last_operation.clone()));
    if let Some((failed, last)) = there {
        if !last.is(OperationKind::Create, OperationState::Failed) {
            return Err(Rejection::unprocessable(match kind {
                BindingKind::App(_) | BindingKind::Route(_)
                    if last.kind == OperationKind::Delete =>
                {
                    "The binding is getting deleted or its deletion failed".to_owned()
                }
                BindingKind::App(_) | BindingKind::Route(_) => {
                    "The app is already bound to the service instance".to_owned()
                }
                BindingKind::Key => format!(
                    "The binding name is invalid. Key binding names must be unique. The service instance already has \
                     a key binding with name '{}'.",
                    name.unwrap_or_default()
                ),
            }));
        }
        tables.bindings.remove(&failed);
    }
    match (kind, name) {
        (BindingKind::App(app), Some(name)) => must_be_free(tables, app, name),
        _ => Ok(()),
    }
}

/// An app has one binding of a name.
fn must_be_free(tables: &Tables, app: &AppGuid, name: &str) -> Result<(), Rejection> {
    let mut bindings = tables.bindings.with(BindingKey::App(app.clone()));
    if bindings.any(|binding| binding.name.as_deref() == Some(name)) {
        return Err(Rejection::unprocessable(format!(
            "The binding name is invalid. App binding names must be unique. The app already has a binding with name \
             '{name}'."
        )));
    }
    Ok(())
}

pub(super) async fn remove(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
) -> Answer {
    let begun = controller.0.state.change(|tables| {
        let binding = visible(tables, &caller, &guid)?;
        let space = tables.space_of(binding).ok_or_else(missing)?;
        caller.permissions(tables).must_operate(tables, space)?;
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

/// Begins to delete a binding. One of a user-provided instance is gone at once.
pub(super) fn begin_unbind(
    controller: &CloudController,
    tables: &mut Tables,
    caller: &Caller,
    guid: &BindingGuid,
) -> Result<Option<(Operation, BindingGuid)>, Rejection> {
    let binding = tables.bindings.get(guid).ok_or_else(missing)?;
    if binding.last_operation.is_running() {
        return Err(Rejection::unprocessable(
            "There is an operation in progress for the service binding.",
        ));
    }
    let job = match binding.kind {
        BindingKind::App(_) => JobOperation::DeleteBinding,
        BindingKind::Key => JobOperation::DeleteKey,
        BindingKind::Route(_) => JobOperation::DeleteRouteBinding,
    };
    let Some(instance) = tables.instances.get(&binding.instance) else {
        tables.bindings.remove(guid);
        return Ok(None);
    };
    if instance.last_operation.is_running() {
        return Err(Rejection::unprocessable(
            "There is an operation in progress for the service instance.",
        ));
    }
    // The row keeps its last operation until the broker has taken the delete.
    let last_operation = tables.operation(OperationKind::Delete, OperationState::InProgress);
    let resource = JobResource::Binding(guid.clone());
    let operation = controller.begun(tables, job, resource, &last_operation, caller);
    Ok(Some((operation, guid.clone())))
}
