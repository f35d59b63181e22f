//! `GET /mgmt/v1/orphan_deployments` and `DELETE /mgmt/v1/orphan_deployments/{name}`.

use actix_web::{HttpResponse, http::StatusCode, web::Path};
use jiff::Timestamp;
use odb_api_types::{
    code::Code,
    management::{OrphanDeployment, OrphanOperation},
};
use odb_core::{
    engine::{Deleted, Engine},
    operations::{Detail, Orphan, OrphanDeletion, UnknownOffering, Unmarked},
};

use super::instance::accepted;
use crate::api::{error::ApiError, incoming::Parameters, refused::RequestKind, run::Run};

/// The deployments without a service instance.
pub(super) async fn list(run: Run) -> Result<HttpResponse, ApiError> {
    let orphans = run.operator(RequestKind::Orphans, |operations, context| async move {
        operations.orphans(context, Detail::All).await
    });
    let orphans = orphans.await?.into_iter();
    let now = Timestamp::now();
    let engine = run.app.operations.engine();
    let listed = orphans.map(|orphan| listed(engine, orphan, now));
    Ok(HttpResponse::Ok().json(listed.collect::<Vec<_>>()))
}

/// Deletes one of them.
pub(super) async fn delete(
    run: Run,
    path: Path<String>,
    query: Parameters,
) -> Result<HttpResponse, ApiError> {
    let Some(instance) = run.app.operations.engine().instance_of(&path) else {
        let text = "A deployment of this name is not a service instance.";
        return Err(ApiError::new(StatusCode::NOT_FOUND, Code::NotFound, text));
    };
    let (deletion, _) = query.force();
    let order = OrphanDeletion {
        instance,
        unmarked: if query.says_yes("include_unmarked") {
            Unmarked::Go
        } else {
            Unmarked::Stay
        },
        plan: query.get("plan_id").map(str::to_owned),
        unknown_offering: if query.says_yes("offering_is_gone") {
            UnknownOffering::IsGone
        } else {
            UnknownOffering::IsWrong
        },
        deletion,
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

fn listed(engine: &dyn Engine, orphan: Orphan, now: Timestamp) -> OrphanDeployment {
    let age = |since: Timestamp| u64::try_from(now.duration_since(since).as_secs()).unwrap_or(0);
    let since = orphan.latest.as_ref().and_then(|latest| latest.began);
    OrphanDeployment {
        deployment_name: engine.deployment_name(&orphan.instance),
        service_instance_id: orphan.instance,
        owner: orphan.owner,
        reason: orphan.reason,
        since,
        age_seconds: since.map(age),
        last_operation: orphan.latest.map(|latest| OrphanOperation {
            kind: latest.kind,
            state: latest.state,
            description: latest.description,
        }),
        plan_id: orphan.plan,
    }
}
