//! `GET` and `DELETE /mgmt/v1/service_instances/{instance}/operation`.

use actix_web::{
    HttpResponse,
    http::StatusCode,
    web::{Data, Path},
};
use odb_api_types::code::Code;
use serde_json::json;

use crate::{
    api::{
        AppState,
        fault::{Asking, Audience},
        incoming::{self, WithContext},
        refusal::Refusal,
    },
    bosh::{CancelFault, Cancelled},
    operations::CancelError,
};

const REFUSED: &str = "The Director did not allow the broker to cancel the task, which takes `bosh.admin`. The operation ends after this \
                       step; should the step hang, cancel its task as an administrator of the Director: bosh cancel-task.";

/// Tells how the latest operation on an instance is doing.
pub(super) async fn review(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
    path: Path<String>,
) -> Result<HttpResponse, Refusal> {
    let instance = incoming::instance_id(path.into_inner())?;
    let work = {
        let (app, request_context) = (app.clone(), request_context.clone());
        let instance = instance.clone();
        async move { Box::pin(app.operations.review(request_context, instance)).await }
    };
    let asking = Asking {
        audience: Audience::Operator,
        app: &app,
        request_context: &request_context,
        instance: &instance,
        asked: None,
    };
    match app.lifecycle.finish(work).await {
        Ok(Ok(Some(status))) => Ok(HttpResponse::Ok().json(status)),
        Ok(Ok(None)) => Err(Refusal::new(
            StatusCode::NOT_FOUND,
            Code::NotFound,
            "Nobody knows of an operation on the service instance.",
        )),
        Ok(Err(fault)) => Err(asking.fault(fault)),
        Err(cut) => Err(asking.cut(cut)),
    }
}

/// Cancels the operation in progress.
pub(super) async fn cancel(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
    path: Path<String>,
) -> Result<HttpResponse, Refusal> {
    let instance = incoming::instance_id(path.into_inner())?;
    let work = {
        let (app, request_context) = (app.clone(), request_context.clone());
        let instance = instance.clone();
        async move { Box::pin(app.operations.cancel(request_context, instance)).await }
    };
    let asking = Asking {
        audience: Audience::Operator,
        app: &app,
        request_context: &request_context,
        instance: &instance,
        asked: None,
    };
    match app.lifecycle.finish(work).await {
        Ok(Ok(Cancelled::AsSoonAsPossible)) => Ok(HttpResponse::Accepted().json(json!({}))),
        Ok(Ok(Cancelled::AfterThisStep)) => {
            Ok(HttpResponse::Accepted().json(json!({ "description": REFUSED })))
        }
        Ok(Err(error)) => Err(refuse(error, &asking)),
        Err(cut) => Err(asking.cut(cut)),
    }
}

fn refuse(error: CancelError, asking: &Asking<'_>) -> Refusal {
    let cannot = |text: String| Refusal::new(StatusCode::CONFLICT, Code::Cancelled, text);
    match error {
        CancelError::Lock(error) => cannot(
            "Another request is at work on the service instance. Try again in a moment.".to_owned(),
        )
        .because(error),
        CancelError::Instance(CancelFault::Instance(fault)) => asking.fault(fault),
        CancelError::Instance(fault @ CancelFault::NothingInProgress) => Refusal::new(
            StatusCode::NOT_FOUND,
            Code::NotFound,
            "No operation on the service instance is in progress.",
        )
        .because(fault),
        CancelError::Instance(fault @ CancelFault::TooLate) => cannot(
            "The operation cannot be cancelled any more: the deployment is gone already, and what it leaves behind is being \
             removed."
                .to_owned(),
        )
        .because(fault),
        CancelError::Instance(CancelFault::Unremembered { task }) => cannot(format!(
            "Task {task} of the Director holds the service instance, and no operation that the broker remembers has begun it. \
             Where it is not somebody else's work, cancel it at the Director: bosh cancel-task {task}."
        ))
        .because(CancelFault::Unremembered { task }),
        CancelError::Instance(fault @ CancelFault::Unsteady) => cannot(
            "The operation was changed by somebody else each time that it was to be cancelled. Try again in a moment."
                .to_owned(),
        )
        .because(fault),
    }
}
