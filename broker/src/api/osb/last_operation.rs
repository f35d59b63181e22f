//! `GET /v2/service_instances/{instance}/last_operation`.

use std::time::Duration;

use actix_web::{
    HttpResponse,
    http::{StatusCode, header},
    web::{Data, Path},
};
use serde::Serialize;

use crate::{
    api::{
        AppState,
        fault::{Asking, Audience},
        incoming::{self, Parameters, WithContext},
        refusal::Refusal,
    },
    engine::{Condition, LastOperation, OperationView},
    operations::LastOperationRequest,
};
use odb_api_types::{code::Code, kind::OperationKind, management::OperationState};

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
        audience: Audience::User,
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
    let latest = match app.lifecycle.finish(work).await {
        Ok(latest) => latest.map_err(|fault| asking.fault(fault))?,
        Err(cut) => return Err(asking.cut(cut)),
    };
    match latest {
        LastOperation::Known(operation, ask_again) => {
            let mut response = HttpResponse::Ok();
            if operation.is_in_progress() {
                response.insert_header((header::RETRY_AFTER, whole_seconds(ask_again)));
            }
            Ok(response.json(Told::from(operation)))
        }
        LastOperation::Gone => Err(Refusal::new(
            StatusCode::GONE,
            Code::NotFound,
            "the service instance is gone",
        )),
        LastOperation::Unknown => Err(Refusal::new(
            StatusCode::NOT_FOUND,
            Code::NotFound,
            "The service instance does not exist.",
        )),
    }
}

/// How an operation stands (Open Service Broker API 2.17, "Polling Last Operation for Service Instances").
#[derive(Serialize)]
struct Told {
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

impl From<OperationView> for Told {
    /// Failed updates and deletes say what they have left, as far as that is known; nothing else may
    /// (`spec/contracts/osb-api.md` §1.3). The same deployment can always be tried again.
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
