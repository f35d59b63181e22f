//! Creating, changing and deleting service instances (`spec/contracts/platform-apis.md`, "Service instances").

use actix_web::{
    HttpRequest,
    web::{Bytes, Data, Path, ServiceConfig, delete, get, patch, post, resource},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::{
    Answer,
    caller::Caller,
    instance_rules::{checked_tags, effective, needs_broker, ordered_plan},
    message::{Metadata, Relation, checked_name, message},
    no_content, ok, service_instances,
    service_instances::visible,
};
use crate::cloud_controller::{
    CloudController,
    broker_client::Target,
    model::{
        Instance, InstanceGuid, JobOperation, JobResource, OperationKind, OperationState, PlanGuid,
        SpaceGuid, Tables,
    },
    refusal::{Fault, Refusal},
    work::Change,
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        resource("/v3/service_instances")
            .route(get().to(service_instances::list))
            .route(post().to(create)),
    )
    .service(
        resource("/v3/service_instances/{guid}")
            .route(get().to(service_instances::one))
            .route(patch().to(update))
            .route(delete().to(remove)),
    );
}

#[derive(Deserialize)]
struct Create {
    #[serde(rename = "type")]
    kind: Kind,
    name: String,
    #[serde(default)]
    tags: Vec<String>,
    parameters: Option<Map<String, Value>>,
    relationships: Relationships,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Managed,
    UserProvided,
}

#[derive(Deserialize)]
struct Relationships {
    space: Relation,
    service_plan: Relation,
}

async fn create(controller: Data<CloudController>, caller: Caller, body: Bytes) -> Answer {
    let wanted: Create = message(&body)?;
    wanted.metadata.must_be_empty()?;
    if wanted.kind == Kind::UserProvided {
        return Err(Refusal::unprocessable(
            "User-provided service instances are not supported",
        ));
    }
    let name = checked_name(&wanted.name)?;
    let tags = checked_tags(wanted.tags)?;
    let space = SpaceGuid::given(&wanted.relationships.space.data.guid);
    let plan = PlanGuid::given(&wanted.relationships.service_plan.data.guid);
    let (operation, orphan) = controller.0.state.change(|tables| {
        if !tables.spaces.contains_key(&space) || !caller.sees_space(tables, &space) {
            return Err(Refusal::unprocessable(
                "Invalid space. Ensure that the space exists and you have access to it.",
            ));
        }
        let ordered = ordered_plan(tables, &caller, &plan)?;
        let maintenance_info = ordered.maintenance_info.clone();
        let orphan = free_name(tables, &space, &name)?;
        let last_operation = tables.operation(OperationKind::Create, OperationState::Initial);
        let now = Timestamp::now();
        let instance = Instance {
            guid: InstanceGuid::random(),
            space,
            plan,
            name,
            tags,
            maintenance_info,
            dashboard_url: None,
            last_operation: last_operation.clone(),
            created_at: now,
            updated_at: now,
        };
        let resource = JobResource::Instance(instance.guid.clone());
        let guid = instance.guid.clone();
        tables.instances.insert(guid.clone(), instance);
        let operation = controller.begun(
            tables,
            JobOperation::CreateInstance,
            resource,
            &last_operation,
            &caller,
        );
        Ok(((operation, guid), orphan))
    })?;
    if let Some(orphan) = orphan {
        controller.mitigate(orphan, caller.identity.request.clone());
    }
    let (operation, guid) = operation;
    let answer = controller.accepted(&operation.job);
    operation.provision(guid, wanted.parameters);
    Ok(answer)
}

/// Makes sure that a name is free in a space. An instance whose creation failed gives its name up: it is forgotten here
/// and what may be left of it at the broker is returned.
fn free_name(
    tables: &mut Tables,
    space: &SpaceGuid,
    name: &str,
) -> Result<Option<Target>, Refusal> {
    let holder = tables
        .instances
        .values()
        .find(|instance| instance.space == *space && instance.name == name);
    let Some(holder) = holder else {
        return Ok(None);
    };
    if !holder
        .last_operation
        .is(OperationKind::Create, OperationState::Failed)
    {
        return Err(Refusal::unprocessable(format!(
            "The service instance name is taken: {name}"
        )));
    }
    let orphan = tables.target(holder);
    let guid = holder.guid.clone();
    tables.forget_instance(&guid);
    Ok(orphan)
}

#[derive(Deserialize)]
struct Update {
    name: Option<String>,
    tags: Option<Vec<String>>,
    parameters: Option<Map<String, Value>>,
    #[serde(default)]
    relationships: UpdateRelationships,
    maintenance_info: Option<Version>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
struct UpdateRelationships {
    service_plan: Option<Relation>,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

async fn update(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
    body: Bytes,
) -> Answer {
    let wanted: Update = message(&body)?;
    wanted.metadata.must_be_empty()?;
    let change = Change {
        name: wanted.name.as_deref().map(checked_name).transpose()?,
        tags: wanted.tags.map(checked_tags).transpose()?,
        parameters: wanted.parameters,
        plan: wanted
            .relationships
            .service_plan
            .map(|relation| PlanGuid::given(&relation.data.guid)),
        maintenance_version: wanted.maintenance_info.map(|info| info.version),
    };
    let begun = controller.0.state.change(|tables| {
        let instance = visible(tables, &caller, &guid)?.clone();
        if instance
            .last_operation
            .is(OperationKind::Create, OperationState::Failed)
        {
            return Err(Refusal::no_such("Service instance"));
        }
        if instance.last_operation.is_running() {
            let detail = format!(
                "An operation for service instance {} is in progress.",
                instance.name
            );
            return Err(Fault::AsyncInstanceOperationInProgress.with(detail));
        }
        let change = effective(tables, &caller, &instance, change)?;
        if !needs_broker(tables, &instance, &change) {
            change.apply_to(tables, &instance.guid);
            let body = tables
                .instances
                .get(&instance.guid)
                .map(|instance| controller.instance(tables, instance));
            return Ok(Err(ok(&body.unwrap_or_default())));
        }
        let last_operation = tables.operation(OperationKind::Update, OperationState::InProgress);
        if let Some(row) = tables.instances.get_mut(&instance.guid) {
            row.last_operation = last_operation.clone();
        }
        let resource = JobResource::Instance(instance.guid.clone());
        let operation = controller.begun(
            tables,
            JobOperation::UpdateInstance,
            resource,
            &last_operation,
            &caller,
        );
        Ok(Ok((operation, instance.guid, change)))
    })?;
    Ok(match begun {
        Err(unchanged) => unchanged,
        Ok((operation, guid, change)) => {
            let answer = controller.accepted(&operation.job);
            operation.update(guid, change);
            answer
        }
    })
}

async fn remove(
    controller: Data<CloudController>,
    caller: Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> Answer {
    let mut purge = false;
    for (name, value) in form_urlencoded::parse(request.query_string().as_bytes()) {
        match (name.as_ref(), value.as_ref()) {
            ("purge", "true") => purge = true,
            ("purge", "false") => {}
            _ => {
                return Err(Fault::BadQueryParameter
                    .with("The query parameter is invalid: only 'purge' is known"));
            }
        }
    }
    if purge {
        return purge_instance(&controller, &caller, &guid);
    }
    let (operation, guid) = controller.0.state.change(|tables| {
        let instance = visible(tables, &caller, &guid)?;
        let last = &instance.last_operation;
        // A create that the broker is at can be given up.
        if last.is_running() && !last.is(OperationKind::Create, OperationState::InProgress) {
            return Err(Refusal::unprocessable(
                "There is an operation in progress for the service instance.",
            ));
        }
        let guid = instance.guid.clone();
        let last_operation = tables.operation(OperationKind::Delete, OperationState::InProgress);
        if let Some(row) = tables.instances.get_mut(&guid) {
            row.last_operation = last_operation.clone();
        }
        let resource = JobResource::Instance(guid.clone());
        let operation = controller.begun(
            tables,
            JobOperation::DeleteInstance,
            resource,
            &last_operation,
            &caller,
        );
        Ok((operation, guid))
    })?;
    let answer = controller.accepted(&operation.job);
    operation.deprovision(guid);
    Ok(answer)
}

/// Forgets an instance and its bindings. The broker is not called.
fn purge_instance(controller: &CloudController, caller: &Caller, guid: &str) -> Answer {
    caller.must_be_admin()?;
    controller.0.state.change(|tables| {
        let guid = visible(tables, caller, guid)?.guid.clone();
        tables.forget_instance(&guid);
        Ok(no_content())
    })
}
