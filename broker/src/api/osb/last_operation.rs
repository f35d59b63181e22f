//! `GET /v2/service_instances/{instance}/last_operation`.

use actix_web::{
    HttpResponse,
    http::StatusCode,
    web::{Data, Path},
};
use serde_json::json;

use super::fault::Asking;
use crate::{
    api::{
        AppState,
        incoming::{self, Parameters, WithContext},
        refusal::Refusal,
    },
    bosh::{Outcome, Standing},
    code::Code,
    operations::LastOperationRequest,
};

/// Tells how an operation is doing.
pub(super) async fn last_operation(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
    path: Path<String>,
    query: Parameters,
) -> Result<HttpResponse, Refusal> {
    let instance = incoming::instance_id(path.into_inner())?;
    let request = LastOperationRequest {
        instance: instance.clone(),
        token: query.get("operation").map(str::to_owned),
    };
    let asking = Asking {
        app: &app,
        request_context: &request_context,
        instance: &instance,
        asked: None,
    };
    let work = {
        let (app, request_context) = (app.clone(), request_context.clone());
        async move {
            app.operations
                .last_operation(request_context, request)
                .await
        }
    };
    // On the main runtime: connections to the Director must not die with an HTTP worker.
    let standing = match app.lifecycle.finish(work).await {
        Ok(standing) => standing.map_err(|fault| asking.fault(fault))?,
        Err(cut) => return Err(asking.cut(cut)),
    };
    match standing {
        Standing::InProgress { description } => Ok(answer("in progress", &description)),
        Standing::Ended(Outcome::Succeeded(description)) => Ok(answer("succeeded", &description)),
        Standing::Ended(Outcome::Failed(description)) => Ok(answer("failed", &description)),
        Standing::NeverSubmitted(kind) => Ok(answer(
            "failed",
            &format!(
                "Instance {} failed: the broker was stopped before the work began, nothing has changed. Try again.",
                kind.noun()
            ),
        )),
        Standing::Gone => Err(Refusal::new(
            StatusCode::GONE,
            Code::NotFound,
            "the service instance is gone",
        )),
        Standing::Unknown => Err(Refusal::new(
            StatusCode::NOT_FOUND,
            Code::NotFound,
            "The service instance does not exist.",
        )),
    }
}

fn answer(state: &str, description: &str) -> HttpResponse {
    HttpResponse::Ok().json(json!({ "state": state, "description": description }))
}
