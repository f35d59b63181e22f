//! Upgrading and deleting service instances in v2. The broker is called while the request waits.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::LOCATION,
    web::{Bytes, Data, Path, ServiceConfig, delete, get, put, resource},
};
use serde::Deserialize;

use super::{
    JSON, V2Answer,
    body::message,
    caller::V2Caller,
    created,
    listing::parameters,
    no_content,
    rejection::V2Rejection,
    service_instances::{self, instance, visible},
};
use crate::cloud_controller::{
    CloudController,
    api::{effective, needs_broker},
    broker_client::AcceptsIncomplete,
    model::{InstanceGuid, JobOperation, JobResource, OperationKind, OperationState},
    work::{Change, FirstAnswer},
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        resource("/service_instances/{guid}")
            .route(get().to(service_instances::one))
            .route(put().to(update))
            .route(delete().to(remove)),
    );
}

#[derive(Deserialize)]
struct Update {
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
            return Err(V2Rejection::in_progress(&row.name));
        }
        let change = Change {
            maintenance_version: wanted.maintenance_info.map(|info| info.version),
            ..Change::default()
        };
        let change = effective(tables, &caller, &row, change)?;
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
                .update_and_wait(guid.clone(), change, accepts_incomplete(&request))
                .await
        }
    };
    answered(&controller, &guid, answer, None)
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
            return Err(V2Rejection::in_progress(&row.name));
        }
        if tables.bindings_of(&row.guid).next().is_some() {
            return Err(V2Rejection::association_not_empty(
                "service_bindings, service_keys, and routes associations for your service_instances.",
            ));
        }
        if !row.shared_spaces.is_empty() {
            return Err(V2Rejection::shared(&row.name));
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
        .deprovision_and_wait(guid.clone(), accepts_incomplete(&request))
        .await;
    match answer {
        Some(FirstAnswer::Done) => Ok(no_content()),
        other => answered(&controller, &guid, other, Some(&name)),
    }
}

/// The broker may take its time only if the client lets it.
pub(super) fn accepts_incomplete(request: &HttpRequest) -> AcceptsIncomplete {
    let accepts = parameters(request).remove("accepts_incomplete");
    if accepts.is_some_and(|accepts| accepts == "true") {
        AcceptsIncomplete::Asynchronous
    } else {
        AcceptsIncomplete::Synchronous
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
            let row = row.ok_or_else(|| V2Rejection::no_such_instance(guid.as_str()))?;
            Ok::<_, V2Rejection>(instance(tables, row).presented())
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
        Some(FirstAnswer::Refused(failure)) => Err(V2Rejection::broker(&failure, deleted)),
        None => Err(V2Rejection::stopping("")),
    }
}
