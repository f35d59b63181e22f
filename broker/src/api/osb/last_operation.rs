//! `GET /v2/service_instances/{instance}/last_operation`.

use std::time::Duration;

use actix_web::{
    HttpResponse,
    http::{StatusCode, header},
    web::Path,
};
use odb_api_types::{code::Code, kind::OperationKind, management::OperationState};
use odb_core::engine::{Condition, LastOperation, OperationView};
use serde::Serialize;

use crate::api::{
    error::ApiError,
    incoming::{self, Parameters},
    refused::RequestKind,
    run::Run,
};

/// Reports the state of an operation. Without a valid token, the latest operation is reported.
pub(super) async fn last_operation(
    run: Run,
    path: Path<String>,
    query: Parameters,
) -> Result<HttpResponse, ApiError> {
    let instance = incoming::instance_id(path.into_inner())?;
    let token = query.get("operation").map(str::to_owned);
    let polled = instance.clone();
    let latest = run.user(
        &instance,
        RequestKind::Other,
        |operations, context| async move {
            let (call, token) = (context.call(), token.as_deref());
            let latest =
                operations
                    .engine()
                    .last_operation(&call, &polled, token, &context.request);
            Ok(latest.await?)
        },
    );
    match latest.await? {
        LastOperation::Known(operation, ask_again) => {
            let mut response = HttpResponse::Ok();
            if operation.is_in_progress() {
                response.insert_header((header::RETRY_AFTER, whole_seconds(ask_again)));
            }
            Ok(response.json(Status::from(operation)))
        }
        LastOperation::Gone => Err(ApiError::new(
            StatusCode::GONE,
            Code::NotFound,
            "the service instance is gone",
        )),
        LastOperation::Unknown => Err(ApiError::new(
            StatusCode::NOT_FOUND,
            Code::NotFound,
            "The service instance does not exist.",
        )),
    }
}

/// The state of an operation (Open Service Broker API 2.17, "Polling Last Operation for Service Instances").
#[derive(Serialize)]
struct Status {
    state: State,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance_usable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    update_repeatable: Option<bool>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    #[serde(rename = "in progress")]
    InProgress,
    Succeeded,
    Failed,
}

impl From<OperationView> for Status {
    /// Failed updates and deletes report the state of the instance, as far as known; other operations may not
    /// (`spec/contracts/osb-api.md` §1.3). A deployment can always be repeated.
    fn from(operation: OperationView) -> Self {
        let usable = operation.condition.map(|left| left == Condition::Intact);
        let state = match operation.state {
            OperationState::InProgress => State::InProgress,
            OperationState::Succeeded => State::Succeeded,
            OperationState::Failed => State::Failed,
        };
        let (instance_usable, update_repeatable) = match (operation.state, operation.kind) {
            (OperationState::Failed, Some(OperationKind::Update | OperationKind::Upgrade)) => {
                (usable, Some(true))
            }
            (OperationState::Failed, Some(OperationKind::Delete | OperationKind::ForceDelete)) => {
                (usable, None)
            }
            _ => (None, None),
        };
        Self {
            state,
            description: operation.description.unwrap_or_default(),
            instance_usable,
            update_repeatable,
        }
    }
}

fn whole_seconds(pause: Duration) -> u64 {
    pause.as_secs() + u64::from(pause.subsec_nanos() > 0)
}
