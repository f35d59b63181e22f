//! Creating and deleting bindings to apps, service keys and route bindings (`spec/contracts/platform-apis.md`, "Bindings
//! and keys").

use actix_web::HttpResponse;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    Response,
    call::{Call, View},
    message::{Relation, checked_name},
    resource::Resource,
    service_bindings::{CredentialBinding, RouteBinding, must_write},
};
use crate::cloud_controller::{
    model::{
        App, AppGuid, Binding, BindingGuid, BindingKey, BindingKind, Instance, InstanceGuid,
        JobResource, Metadata, MetadataChange, Offering, OperationKind, OperationState, Route,
        RouteGuid, Tables,
    },
    rejection::{ErrorKind, Rejection},
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

struct NewBinding {
    instance: InstanceGuid,
    kind: BindingKind,
    name: Option<String>,
    metadata: MetadataChange,
}

pub(super) async fn create(call: Call) -> Response {
    let wanted: Create = call.message()?;
    let metadata = wanted.metadata;
    let name = wanted.name.as_deref().map(checked_name).transpose()?;
    let (kind, relationships) = (wanted.kind, wanted.relationships);
    let ordered = call.change(|tables| {
        let view = call.view(tables);
        let guid = &relationships.service_instance.data.guid;
        let instance = view.visible::<Instance>(guid).map_err(|_| {
            Rejection::unprocessable(format!("The service instance could not be found: '{guid}'"))
        })?;
        let refuse = |detail: &str| Err(Rejection::unprocessable(detail));
        let kind = match (kind, &relationships.app) {
            (Kind::Key, None) if name.is_some() => BindingKind::Key,
            (Kind::Key, None) => return refuse("Name can't be blank"),
            (Kind::Key, Some(_)) => return refuse("Relationships Unknown field(s): 'app'"),
            (Kind::App, None) => return refuse("Relationships App can't be blank"),
            (Kind::App, Some(app)) => BindingKind::App(bound_app(&view, instance, &app.data.guid)?),
        };
        if kind == BindingKind::Key {
            view.permissions.must_write(tables, &instance.space)?;
        }
        must_be_bindable(tables, instance)?;
        let instance = instance.guid.clone();
        make_room(tables, &instance, &kind, name.as_deref())?;
        let new = NewBinding {
            instance,
            kind,
            name,
            metadata,
        };
        Ok(call.ordered(tables, new))
    })?;
    Ok(call.answered(ordered, wanted.parameters))
}

impl Call {
    /// Adds the row of a binding. The broker is to be asked.
    fn ordered(&self, tables: &mut Tables, new: NewBinding) -> (Operation, BindingGuid) {
        let last_operation = tables.operation(OperationKind::Create, OperationState::Initial);
        let job = new.kind.creation();
        let now = Timestamp::now();
        let binding = Binding {
            guid: BindingGuid::random(),
            instance: new.instance,
            name: new.name,
            kind: new.kind,
            details: None,
            metadata: Metadata::from(&new.metadata),
            last_operation: last_operation.clone(),
            created_at: now,
            updated_at: now,
        };
        let guid = binding.guid.clone();
        tables.bindings.insert(guid.clone(), binding);
        let resource = JobResource::Binding(guid.clone());
        (self.begun(tables, job, resource, &last_operation), guid)
    }

    fn answered(
        &self,
        (operation, guid): (Operation, BindingGuid),
        parameters: Option<Map<String, Value>>,
    ) -> HttpResponse {
        let answer = self.accepted(&operation.job);
        operation.bind(guid, parameters);
        answer
    }
}

/// Makes sure that a broker's instance can be bound now.
fn must_be_bindable(tables: &Tables, instance: &Instance) -> Result<(), Rejection> {
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
fn bound_app(view: &View<'_>, instance: &Instance, guid: &str) -> Result<AppGuid, Rejection> {
    let app = view
        .visible::<App>(guid)
        .map_err(|_| Rejection::unprocessable(format!("The app could not be found: '{guid}'")))?;
    view.permissions.must_operate(view.tables, &app.space)?;
    let mut spaces = instance.shared_spaces.iter().chain([&instance.space]);
    if !spaces.any(|space| *space == app.space) {
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateRouteBinding {
    parameters: Option<Map<String, Value>>,
    relationships: RouteRelationships,
    #[serde(default)]
    metadata: MetadataChange,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RouteRelationships {
    service_instance: Relation,
    route: Relation,
}

pub(super) async fn create_route_binding(call: Call) -> Response {
    let wanted: CreateRouteBinding = call.message()?;
    let metadata = wanted.metadata;
    let relationships = wanted.relationships;
    let ordered = call.change(|tables| {
        let view = call.view(tables);
        let guid = &relationships.service_instance.data.guid;
        let instance = view.visible::<Instance>(guid).map_err(|_| {
            Rejection::unprocessable(format!("The service instance could not be found: {guid}"))
        })?;
        view.permissions.must_write(tables, &instance.space)?;
        let guid = &relationships.route.data.guid;
        let route = view.visible::<Route>(guid).map_err(|_| {
            Rejection::unprocessable(format!("The route could not be found: {guid}"))
        })?;
        if route.space != instance.space {
            return Err(Rejection::unprocessable(
                "The service instance and the route are in different spaces.",
            ));
        }
        let plan = tables.plan_of(instance);
        let offering = plan.and_then(|plan| tables.offering_of(plan));
        if !offering.is_some_and(Offering::forwards_routes) {
            return Err(Rejection::unprocessable(
                "This service instance does not support route binding.",
            ));
        }
        must_be_bindable(tables, instance)?;
        let (instance, route) = (instance.guid.clone(), route.guid.clone());
        must_be_unbound(tables, &instance, &route)?;
        let new = NewBinding {
            instance,
            kind: BindingKind::Route(route),
            name: None,
            metadata,
        };
        Ok(call.ordered(tables, new))
    })?;
    Ok(call.answered(ordered, wanted.parameters))
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

pub(super) async fn remove(call: Call) -> Response {
    call.unbind(|view| {
        let binding = view.visible::<CredentialBinding>(call.guid())?;
        let space = view.tables.space_of(binding);
        let space = space.ok_or_else(|| Rejection::no_such(CredentialBinding::KIND))?;
        view.permissions.must_operate(view.tables, space)?;
        Ok(binding.guid.clone())
    })
}

pub(super) async fn remove_route_binding(call: Call) -> Response {
    call.unbind(|view| {
        let binding = view.visible::<RouteBinding>(call.guid())?;
        must_write(view, binding)?;
        Ok(binding.guid.clone())
    })
}

impl Call {
    /// Begins to delete a binding.
    fn unbind(&self, find: impl FnOnce(&View<'_>) -> Result<BindingGuid, Rejection>) -> Response {
        let (operation, guid) = self.change(|tables| {
            let guid = find(&self.view(tables))?;
            let binding = tables.bindings.get(&guid);
            let binding = binding.ok_or_else(|| Rejection::no_such(CredentialBinding::KIND))?;
            if binding.last_operation.is_running() {
                return Err(Rejection::unprocessable(
                    "There is an operation in progress for the service binding.",
                ));
            }
            let job = binding.kind.deletion();
            let instance = tables.instances.get(&binding.instance);
            if instance.is_some_and(|instance| instance.last_operation.is_running()) {
                return Err(Rejection::unprocessable(
                    "There is an operation in progress for the service instance.",
                ));
            }
            // The row keeps its last operation until the broker has taken the delete.
            let last_operation =
                tables.operation(OperationKind::Delete, OperationState::InProgress);
            let resource = JobResource::Binding(guid.clone());
            Ok((self.begun(tables, job, resource, &last_operation), guid))
        })?;
        let answer = self.accepted(&operation.job);
        operation.unbind(guid);
        Ok(answer)
    }
}
