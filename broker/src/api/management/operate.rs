//! `PATCH /mgmt/service_instances/{instance}?operation_type=`.
//!
//! The statuses are the Go broker's, for its errands tell outcomes by them: 409 is an instance that is busy, 410 one that
//! is gone, 204 one with which there is nothing to do, anything else but 202 a failure.

use actix_web::{
    Error, HttpResponse, ResponseError,
    http::StatusCode,
    web::{Bytes, Data, Path},
};
use odb_api_types::{code::Code, kind::OperationKind};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    api::{
        AppState,
        fault::{Asking, Audience},
        incoming::{self, Parameters, WithContext},
        refusal::Refusal,
    },
    bosh::{Fault, Upgraded},
    complaint::Asked,
    instance_clients::ClientFault,
    offering::CatalogFault,
    operations::{RecreateError, RecreateRequest, UpgradeError, UpgradeRequest},
};

#[derive(Deserialize)]
struct OperateBody {
    #[serde(default)]
    plan_id: Option<String>,
}

/// What the operator can have done to an instance.
enum Wish {
    Upgrade(UpgradeRequest),
    Recreate(RecreateRequest),
}

/// Why it is not done.
enum Refused {
    Upgrade(UpgradeError),
    Recreate(RecreateError),
}

/// Upgrades or recreates a service instance.
pub(super) async fn operate(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
    path: Path<String>,
    query: Parameters,
    body: Result<Bytes, Error>,
) -> Result<HttpResponse, Refusal> {
    let instance = incoming::instance_id(path.into_inner())?;
    let kind = match query.get("operation_type") {
        Some("upgrade") => OperationKind::Upgrade,
        Some("recreate") => OperationKind::Recreate,
        Some(_) | None => {
            return Err(Refusal::malformed(
                "The query has to say `operation_type=upgrade` or `operation_type=recreate`.",
            ));
        }
    };
    let body = incoming::body::<OperateBody>(body).map_err(unprocessable)?;
    // Without a plan, as with a plan that nobody knows, there is nothing to deploy.
    let plan = body.value.plan_id.unwrap_or_default().into();
    let wish = if kind == OperationKind::Upgrade {
        Wish::Upgrade(UpgradeRequest {
            instance: instance.clone(),
            plan,
            body: body.raw,
        })
    } else {
        Wish::Recreate(RecreateRequest {
            instance: instance.clone(),
            plan,
        })
    };
    let work = {
        let (app, request_context) = (app.clone(), request_context.clone());
        async move {
            let operations = &app.operations;
            match wish {
                Wish::Upgrade(request) => Box::pin(operations.upgrade(request_context, request))
                    .await
                    .map_err(Refused::Upgrade),
                Wish::Recreate(request) => Box::pin(operations.recreate(request_context, request))
                    .await
                    .map(Upgraded::Started)
                    .map_err(Refused::Recreate),
            }
        }
    };
    let asking = Asking {
        audience: Audience::Operator,
        app: &app,
        request_context: &request_context,
        instance: &instance,
        asked: Some(Asked::Operation(kind)),
    };
    match app.lifecycle.finish(work).await {
        Ok(Ok(Upgraded::NothingToDo)) => Ok(HttpResponse::NoContent().finish()),
        Ok(Ok(Upgraded::Started(started))) => {
            let token = RawValue::from_string(started.token).expect("a token is JSON");
            Ok(HttpResponse::Accepted().json(token))
        }
        Ok(Err(refused)) => Err(refuse(refused, &asking)),
        Err(cut) => Err(later(asking.cut(cut))),
    }
}

fn refuse(refused: Refused, asking: &Asking<'_>) -> Refusal {
    match refused {
        Refused::Upgrade(UpgradeError::Catalog(fault))
        | Refused::Recreate(RecreateError::Catalog(fault)) => not_in_catalog(fault),
        Refused::Upgrade(UpgradeError::NotAnObject(error)) => {
            unprocessable(Refusal::malformed(format!("{error}.")))
        }
        Refused::Upgrade(UpgradeError::Lock(error))
        | Refused::Recreate(RecreateError::Lock(error)) => later(Refusal::out_of_time(error)),
        Refused::Upgrade(UpgradeError::Instance(fault))
        | Refused::Recreate(RecreateError::Instance(fault)) => refuse_fault(fault, asking),
    }
}

fn refuse_fault(fault: Fault, asking: &Asking<'_>) -> Refusal {
    match fault {
        Fault::NotFound => Refusal::new(
            StatusCode::GONE,
            Code::NotFound,
            "the service instance does not exist",
        )
        .because(fault),
        Fault::Busy => asking.fault(fault).with_status(StatusCode::CONFLICT),
        // 409 would be read as busy.
        Fault::Foreign => asking.complain(Code::ForeignDeployment, fault),
        Fault::Client(ClientFault::Foreign) => asking.complain(Code::InstanceClient, fault),
        fault => later(asking.fault(fault)),
    }
}

/// Whoever operates a fleet comes back to an instance that is busy; so it shall to one for which there was no time.
fn later(refusal: Refusal) -> Refusal {
    match refusal.status_code() {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            refusal.with_status(StatusCode::CONFLICT)
        }
        _ => refusal,
    }
}

fn unprocessable(refusal: Refusal) -> Refusal {
    match refusal.status_code() {
        StatusCode::BAD_REQUEST => refusal.with_status(StatusCode::UNPROCESSABLE_ENTITY),
        _ => refusal,
    }
}

/// The errands print the description of a 500 and of nothing else.
fn not_in_catalog(fault: CatalogFault) -> Refusal {
    let text = match &fault {
        CatalogFault::UnknownPlan { plan } if plan.as_str().is_empty() => {
            "plan_id missing: give it in the body of the request.".to_owned()
        }
        fault => format!("The plan of the service instance is unknown: {fault}."),
    };
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, Code::NotInCatalog, text).because(fault)
}
