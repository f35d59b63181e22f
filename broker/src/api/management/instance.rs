//! One service instance: its latest operation, its health, a dry run of an upgrade; and changes.

use actix_web::{
    Error, HttpResponse, ResponseError,
    http::StatusCode,
    web::{Bytes, Path},
};
use odb_api_types::code::Code;
use odb_core::{
    engine::{Cancelled, Deleted, Started, Upgraded},
    operations::OrphanDeletion,
};
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use crate::api::{
    error::ApiError,
    incoming::{self, Parameters},
    refused::RequestKind,
    run::Run,
};

const REFUSED: &str = "The Director did not allow the broker to cancel the task, which takes `bosh.admin`. The operation ends after this \
                       step; should the step hang, cancel its task as an administrator of the Director: bosh cancel-task.";

/// The plan of the instance. Without a plan, or with an unknown one, there is nothing to deploy.
#[derive(Deserialize)]
struct PlanBody {
    plan_id: Option<String>,
}

/// `PATCH /mgmt/service_instances/{instance}?operation_type=`: upgrades or recreates a service instance. 204 is one
/// with which there is nothing to do.
pub(super) async fn roll_out(
    run: Run,
    path: Path<String>,
    query: Parameters,
    body: Result<Bytes, Error>,
) -> Result<HttpResponse, ApiError> {
    let instance = incoming::instance_id(path.into_inner())?;
    let recreates = match query.get("operation_type") {
        Some("upgrade") => false,
        Some("recreate") => true,
        Some(_) | None => {
            return Err(ApiError::malformed(
                "The query has to say `operation_type=upgrade` or `operation_type=recreate`.",
            ));
        }
    };
    let body = incoming::body::<PlanBody>(body).map_err(unprocessable)?;
    let plan = body.value.plan_id.unwrap_or_default().into();
    let begun = run.operator(RequestKind::Rollout, |operations, context| async move {
        if recreates {
            let started = operations.recreate(context, instance, plan).await?;
            Ok(Upgraded::Started(started))
        } else {
            operations.upgrade(context, instance, plan, body.raw).await
        }
    });
    match begun.await? {
        Upgraded::NothingToDo => Ok(HttpResponse::NoContent().finish()),
        Upgraded::Started(started) => Ok(accepted(started)),
    }
}

fn accepted(started: Started) -> HttpResponse {
    let token = RawValue::from_string(started.token).expect("a token is JSON");
    HttpResponse::Accepted().json(token)
}

/// The Go broker answers so to a body that it does not understand.
fn unprocessable(error: ApiError) -> ApiError {
    match error.status_code() {
        StatusCode::BAD_REQUEST => error.with_status(StatusCode::UNPROCESSABLE_ENTITY),
        _ => error,
    }
}

/// `POST /mgmt/v1/service_instances/{instance}/dry_run`: what an upgrade would change.
pub(super) async fn dry_run(
    run: Run,
    path: Path<String>,
    body: Result<Bytes, Error>,
) -> Result<HttpResponse, ApiError> {
    let instance = incoming::instance_id(path.into_inner())?;
    let body = incoming::body::<PlanBody>(body)?;
    let plan = body.value.plan_id.unwrap_or_default().into();
    let changes = run.operator(RequestKind::DryRun, |operations, context| async move {
        operations.dry_run(context, instance, plan, body.raw).await
    });
    Ok(HttpResponse::Ok().json(changes.await?))
}

/// `GET /mgmt/v1/service_instances/{instance}/operation`: the latest operation.
pub(super) async fn operation(run: Run, path: Path<String>) -> Result<HttpResponse, ApiError> {
    let instance = incoming::instance_id(path.into_inner())?;
    let status = run.operator(RequestKind::Other, |operations, context| async move {
        Ok(operations
            .engine()
            .operation(&context.call(), &instance)
            .await?)
    });
    match status.await? {
        Some(status) => Ok(HttpResponse::Ok().json(status)),
        None => Err(ApiError::new(
            StatusCode::NOT_FOUND,
            Code::NotFound,
            "No operation is recorded for a service instance with this id (`cf service NAME --guid` prints the id).",
        )),
    }
}

/// `DELETE /mgmt/v1/service_instances/{instance}/operation`: cancels the operation in progress.
pub(super) async fn cancel(run: Run, path: Path<String>) -> Result<HttpResponse, ApiError> {
    let instance = incoming::instance_id(path.into_inner())?;
    let cancelled = run.operator(RequestKind::Cancel, |operations, context| async move {
        operations.cancel(context, instance).await
    });
    let answer = match cancelled.await? {
        Cancelled::AsSoonAsPossible => json!({}),
        Cancelled::AfterThisStep => json!({ "description": REFUSED }),
    };
    Ok(HttpResponse::Accepted().json(answer))
}

/// `DELETE /mgmt/v1/orphan_deployments/{name}`.
pub(super) async fn delete_orphan(
    run: Run,
    path: Path<String>,
    query: Parameters,
) -> Result<HttpResponse, ApiError> {
    let Some(instance) = run.app.operations.engine().instance_of(&path) else {
        let text = "A deployment of this name is not a service instance.";
        return Err(ApiError::new(StatusCode::NOT_FOUND, Code::NotFound, text));
    };
    let order = OrphanDeletion {
        instance,
        include_unmarked: query.says_yes("include_unmarked"),
        plan: query.get("plan_id").map(str::to_owned),
        offering_is_gone: query.says_yes("offering_is_gone"),
        deletion: query.deletion(),
    };
    let deleted = run.operator(
        RequestKind::DeleteOrphan,
        |operations, context| async move { operations.delete_orphan(context, order).await },
    );
    match deleted.await? {
        Deleted::Started(started) => Ok(accepted(started)),
        Deleted::WasAbsent => Ok(HttpResponse::NoContent().finish()),
    }
}

/// `GET /mgmt/v1/service_instances/{instance}/health`: how its VMs are.
pub(super) async fn health(run: Run, path: Path<String>) -> Result<HttpResponse, ApiError> {
    let instance = incoming::instance_id(path.into_inner())?;
    let health = run.operator(RequestKind::Health, |operations, context| async move {
        Ok(operations
            .engine()
            .health(&context.call(), &instance)
            .await?)
    });
    Ok(HttpResponse::Ok().json(health.await?))
}

/// `GET /mgmt/v1/director`: the version and abilities of the Director.
pub(super) async fn director(run: Run) -> Result<HttpResponse, ApiError> {
    let abilities = run.operator(RequestKind::Director, |operations, context| async move {
        Ok(operations.engine().abilities(&context.call()).await?)
    });
    Ok(HttpResponse::Ok().json(abilities.await?))
}
