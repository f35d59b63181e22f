//! `GET /v2/service_instances/{instance}/last_operation`.

use std::time::Duration;

use actix_web::{
    HttpResponse,
    http::{StatusCode, header},
    web::{Data, Path},
};
use odb_api_types::{code::Code, kind::OperationKind};
use serde::Serialize;

use crate::{
    api::{
        AppState,
        fault::{Asking, Audience},
        incoming::{self, Parameters, WithContext},
        refusal::Refusal,
    },
    bosh::{Condition, Outcome, Standing},
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
    let standing = match app.lifecycle.finish(work).await {
        Ok(standing) => standing.map_err(|fault| asking.fault(fault))?,
        Err(cut) => return Err(asking.cut(cut)),
    };
    match standing {
        Standing::InProgress {
            description,
            ask_again,
        } => Ok(HttpResponse::Ok()
            .insert_header((header::RETRY_AFTER, whole_seconds(ask_again)))
            .json(Told::new(State::InProgress, description))),
        Standing::Ended {
            outcome: Outcome::Succeeded { description },
            ..
        } => Ok(HttpResponse::Ok().json(Told::new(State::Succeeded, description))),
        Standing::Ended {
            kind,
            outcome:
                Outcome::Failed {
                    description,
                    condition,
                },
        } => Ok(HttpResponse::Ok().json(failed(description, kind, condition))),
        Standing::NeverSubmitted(kind) => {
            let description = format!(
                "Instance {} failed: the work never began, nothing has changed. Try again.",
                kind.noun()
            );
            let told = failed(description, Some(kind), Some(Condition::Intact));
            Ok(HttpResponse::Ok().json(told))
        }
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

impl Told {
    fn new(state: State, description: String) -> Self {
        Self {
            state,
            description,
            instance_usable: None,
            update_repeatable: None,
        }
    }
}

/// Failed updates and deletes say what they have left, as far as that is known; nothing else may
/// (`spec/contracts/osb-api.md` §1.3). The same deployment can always be tried again.
fn failed(description: String, kind: Option<OperationKind>, condition: Option<Condition>) -> Told {
    let usable = condition.map(|condition| condition == Condition::Intact);
    let (instance_usable, update_repeatable) = match kind {
        Some(OperationKind::Update | OperationKind::Upgrade) => (usable, Some(true)),
        Some(OperationKind::Delete | OperationKind::ForceDelete) => (usable, None),
        Some(OperationKind::Create | OperationKind::Recreate) | None => (None, None),
    };
    Told {
        instance_usable,
        update_repeatable,
        ..Told::new(State::Failed, description)
    }
}

fn whole_seconds(pause: Duration) -> u64 {
    pause.as_secs() + u64::from(pause.subsec_nanos() > 0)
}
