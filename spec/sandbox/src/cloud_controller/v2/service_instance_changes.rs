//! Creating, changing and deleting service instances in v2. The broker is called while the request waits; a row of a new
//! instance is written when the broker has taken it.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::LOCATION,
    web::{Bytes, Data, Path, ServiceConfig, delete, get, post, put, resource},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    JSON, V2Answer,
    body::message,
    caller::V2Caller,
    created,
    listing::parameters,
    no_content,
    refusal::V2Refusal,
    service_instances::{self, instance, visible},
    spaces,
};
use crate::cloud_controller::{
    CloudController,
    api::{effective, needs_broker},
    broker_client::Patience,
    model::{
        Instance, InstanceGuid, InstanceKey, JobOperation, JobResource, Metadata, OperationKind,
        OperationState, PlanGuid, SpaceGuid, Tables,
    },
    work::{Change, FirstAnswer, NewInstance, must_be_allowed, must_have_room},
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        resource("/service_instances")
            .route(get().to(service_instances::list))
            .route(post().to(create)),
    )
    .service(
        resource("/service_instances/{guid}")
            .route(get().to(service_instances::one))
            .route(put().to(update))
            .route(delete().to(remove)),
    );
}

#[derive(Deserialize)]
struct Create {
    name: String,
    space_guid: String,
    service_plan_guid: String,
    parameters: Option<Map<String, Value>>,
    #[serde(default)]
    tags: Vec<String>,
}

async fn create(
    controller: Data<CloudController>,
    caller: V2Caller,
    request: HttpRequest,
    body: Bytes,
) -> V2Answer {
    let wanted: Create = message(&body)?;
    let guid = InstanceGuid::random();
    let (operation, row) = controller.0.state.change(|tables| {
        let row = ordered(tables, &caller, &guid, &wanted)?;
        let operation = controller.begun(
            tables,
            JobOperation::CreateInstance,
            JobResource::Instance(guid.clone()),
            &row.last_operation,
            &caller,
        );
        Ok::<_, V2Refusal>((operation, row))
    })?;
    let new = NewInstance::StoredWhenAccepted(Box::new(row));
    let answer = operation
        .provision_and_wait(new, wanted.parameters, patience(&request))
        .await;
    answered(&controller, &guid, answer, None)
}

fn ordered(
    tables: &mut Tables,
    caller: &V2Caller,
    guid: &InstanceGuid,
    wanted: &Create,
) -> Result<Instance, V2Refusal> {
    let space = spaces::visible(tables, caller, &wanted.space_guid)?
        .guid
        .clone();
    caller.permissions(tables).must_write(tables, &space)?;
    let plan = tables
        .plans
        .get(&PlanGuid::given(&wanted.service_plan_guid))
        .filter(|plan| plan.available)
        .ok_or_else(|| V2Refusal::no_such_plan(&wanted.service_plan_guid))?;
    if !caller.sees_plan(tables, plan) {
        return Err(V2Refusal::plan_not_visible(""));
    }
    must_be_free(tables, &space, &wanted.name, None)?;
    must_have_room(tables, &space, plan)?;
    let (plan, maintenance_info) = (plan.guid.clone(), plan.maintenance_info.clone());
    let now = Timestamp::now();
    Ok(Instance {
        guid: guid.clone(),
        space,
        plan,
        name: wanted.name.clone(),
        tags: wanted.tags.clone(),
        maintenance_info,
        dashboard_url: None,
        shared_spaces: std::collections::BTreeSet::new(),
        metadata: Metadata::default(),
        broker_metadata: None,
        last_operation: tables.operation(OperationKind::Create, OperationState::InProgress),
        created_at: now,
        updated_at: now,
    })
}

fn must_be_free(
    tables: &Tables,
    space: &SpaceGuid,
    name: &str,
    but_for: Option<&InstanceGuid>,
) -> Result<(), V2Refusal> {
    let key = InstanceKey::Name(space.clone(), name.to_owned());
    let taken = tables
        .instances
        .with(key)
        .any(|instance| Some(&instance.guid) != but_for);
    if taken {
        return Err(V2Refusal::instance_name_taken(name));
    }
    Ok(())
}

#[derive(Deserialize)]
struct Update {
    name: Option<String>,
    tags: Option<Vec<String>>,
    parameters: Option<Map<String, Value>>,
    service_plan_guid: Option<String>,
    maintenance_info: Option<Version>,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

async fn update(
    controller: Data<CloudController>,
    caller: V2Caller,
    request: HttpRequest,
    guid: Path<String>,
    body: Bytes,
) -> V2Answer {
    let wanted: Update = message(&body)?;
    let begun = controller.0.state.change(|tables| {
        let row = visible(tables, &caller, &guid)?.clone();
        caller.permissions(tables).must_write(tables, &row.space)?;
        if row.last_operation.is_running() {
            return Err(V2Refusal::in_progress(&row.name));
        }
        let change = changes(tables, &caller, &row, wanted)?;
        if !needs_broker(tables, &row, &change) {
            change.apply_to(tables, &row.guid);
            return Ok(None);
        }
        let last_operation = tables.operation(OperationKind::Update, OperationState::InProgress);
        if let Some(row) = tables.instances.get_mut(&row.guid) {
            row.last_operation = last_operation.clone();
        }
        let operation = controller.begun(
            tables,
            JobOperation::UpdateInstance,
            JobResource::Instance(row.guid.clone()),
            &last_operation,
            &caller,
        );
        Ok(Some((operation, change)))
    })?;
    let guid = InstanceGuid::given(&guid);
    let answer = match begun {
        None => Some(FirstAnswer::Done),
        Some((operation, change)) => {
            operation
                .update_and_wait(guid.clone(), change, patience(&request))
                .await
        }
    };
    answered(&controller, &guid, answer, None)
}

/// What of the wishes is a change; those that v2 refuses in its own way come first.
fn changes(
    tables: &Tables,
    caller: &V2Caller,
    row: &Instance,
    wanted: Update,
) -> Result<Change, V2Refusal> {
    if let Some(name) = &wanted.name {
        must_be_free(tables, &row.space, name, Some(&row.guid))?;
    }
    let plan = wanted.service_plan_guid.as_deref().map(PlanGuid::given);
    if let Some(new) = plan.as_ref().filter(|plan| **plan != row.plan) {
        let new = tables
            .plans
            .get(new)
            .ok_or_else(|| V2Refusal::no_such_plan(new.as_str()))?;
        if tables
            .plan_of(row)
            .is_some_and(|old| !tables.is_updateable(old))
        {
            return Err(V2Refusal::plan_not_updateable(""));
        }
        must_be_allowed(tables, &row.space, new)?;
    }
    let change = Change {
        name: wanted.name,
        tags: wanted.tags,
        parameters: wanted.parameters,
        plan,
        maintenance_version: wanted.maintenance_info.map(|info| info.version),
        ..Change::default()
    };
    Ok(effective(tables, caller, row, change)?)
}

async fn remove(
    controller: Data<CloudController>,
    caller: V2Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> V2Answer {
    if parameters(&request)
        .get("purge")
        .is_some_and(|purge| purge == "true")
    {
        caller.must_be_admin()?;
        return controller.0.state.change(|tables| {
            let guid = visible(tables, &caller, &guid)?.guid.clone();
            tables.forget_instance(&guid);
            Ok(no_content())
        });
    }
    let (operation, guid, name) = controller.0.state.change(|tables| {
        let row = visible(tables, &caller, &guid)?;
        caller.permissions(tables).must_write(tables, &row.space)?;
        let last = &row.last_operation;
        // A create that the broker is at can be given up.
        if last.is_running() && !last.is(OperationKind::Create, OperationState::InProgress) {
            return Err(V2Refusal::in_progress(&row.name));
        }
        if tables.bindings_of(&row.guid).next().is_some() {
            return Err(V2Refusal::association_not_empty(
                "service_bindings, service_keys, and routes associations for your service_instances.",
            ));
        }
        if !row.shared_spaces.is_empty() {
            return Err(V2Refusal::shared(&row.name));
        }
        let (guid, name) = (row.guid.clone(), row.name.clone());
        // The row keeps its last operation until the broker has taken the delete.
        let last_operation = tables.operation(OperationKind::Delete, OperationState::InProgress);
        let operation = controller.begun(
            tables,
            JobOperation::DeleteInstance,
            JobResource::Instance(guid.clone()),
            &last_operation,
            &caller,
        );
        Ok((operation, guid, name))
    })?;
    let answer = operation
        .deprovision_and_wait(guid.clone(), patience(&request))
        .await;
    match answer {
        Some(FirstAnswer::Done) => Ok(no_content()),
        other => answered(&controller, &guid, other, Some(&name)),
    }
}

/// The broker may take its time only if the client lets it.
pub(super) fn patience(request: &HttpRequest) -> Patience {
    let accepts = parameters(request).remove("accepts_incomplete");
    if accepts.is_some_and(|accepts| accepts == "true") {
        Patience::Asynchronous
    } else {
        Patience::Synchronous
    }
}

/// 201 when it is done, 202 when the broker is at it, both with the instance.
fn answered(
    controller: &CloudController,
    guid: &InstanceGuid,
    answer: Option<FirstAnswer>,
    deleted: Option<&str>,
) -> V2Answer {
    let shown = || {
        controller.0.state.read(|tables| {
            let row = tables.instances.get(guid);
            let row = row.ok_or_else(|| V2Refusal::no_such_instance(guid.as_str()))?;
            Ok::<_, V2Refusal>(instance(tables, row).presented())
        })
    };
    match answer {
        Some(FirstAnswer::Done) => Ok(created(&shown()?)),
        Some(FirstAnswer::Begun) => {
            let location = format!("/v2/service_instances/{guid}");
            Ok(HttpResponse::Accepted()
                .insert_header((LOCATION, location))
                .content_type(JSON)
                .body(shown()?.to_string()))
        }
        Some(FirstAnswer::Refused(failure)) => Err(V2Refusal::broker(&failure, deleted)),
        None => Err(V2Refusal::stopping("")),
    }
}
