//! `GET /mgmt/v1/orphan_deployments` and `DELETE /mgmt/v1/orphan_deployments/{name}`.

use actix_web::{
    HttpResponse, ResponseError,
    http::StatusCode,
    web::{Data, Path},
};
use jiff::Timestamp;
use odb_api_types::{
    code::Code,
    kind::OperationKind,
    management::{OrphanDeployment, OrphanOperation},
};
use serde_json::value::RawValue;

use crate::{
    api::{
        AppState,
        fault::{Asking, Audience},
        incoming::{Parameters, WithContext},
        refusal::Refusal,
    },
    bosh::{self, Fault, Insistence},
    complaint::Asked,
    operations::{
        DeleteOrphanError, Deprovisioned, Detail, Orphan, OrphanDeletion, OrphansError,
        UnknownOffering, Unmarked,
    },
};

/// The deployments that no service instance stands behind.
pub(super) async fn list(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
) -> Result<HttpResponse, Refusal> {
    let work = {
        let app = app.clone();
        async move { Box::pin(app.operations.orphans(request_context, Detail::All)).await }
    };
    let orphans = match app.lifecycle.finish(work).await {
        Ok(orphans) => orphans.map_err(not_known)?,
        Err(cut) => return Err(Refusal::cut_off(cut)),
    };
    let now = Timestamp::now();
    let orphans = orphans.into_iter().map(|orphan| told(orphan, now));
    Ok(HttpResponse::Ok().json(orphans.collect::<Vec<_>>()))
}

/// Deletes one of them.
pub(super) async fn delete(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
    path: Path<String>,
    query: Parameters,
) -> Result<HttpResponse, Refusal> {
    let Some(instance) = bosh::instance_of(&path) else {
        let text = "A deployment of this name holds no service instance.";
        return Err(Refusal::new(StatusCode::NOT_FOUND, Code::NotFound, text));
    };
    let (insistence, kind) = if query.says_yes("force") {
        (Insistence::Forced, OperationKind::ForceDelete)
    } else {
        (Insistence::Careful, OperationKind::Delete)
    };
    let deletion = OrphanDeletion {
        instance: instance.clone(),
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
        insistence,
    };
    let work = {
        let (app, request_context) = (app.clone(), request_context.clone());
        async move { Box::pin(app.operations.delete_orphan(request_context, deletion)).await }
    };
    let asking = Asking {
        audience: Audience::Operator,
        app: &app,
        request_context: &request_context,
        instance: &instance,
        asked: Some(Asked::Operation(kind)),
    };
    let refusal = match app.lifecycle.finish(work).await {
        Ok(Ok(Deprovisioned::Started(started))) => {
            let token = RawValue::from_string(started.token).expect("a token is JSON");
            return Ok(HttpResponse::Accepted().json(token));
        }
        Ok(Ok(Deprovisioned::WasAbsent)) => return Ok(HttpResponse::NoContent().finish()),
        Ok(Err(error)) => refuse(error, &asking),
        Err(cut) => asking.cut(cut),
    };
    Err(refusal)
}

fn told(orphan: Orphan, now: Timestamp) -> OrphanDeployment {
    let age = |since: Timestamp| u64::try_from(now.duration_since(since).as_secs()).unwrap_or(0);
    let since = orphan.latest.as_ref().and_then(|latest| latest.began);
    OrphanDeployment {
        deployment_name: bosh::deployment(&orphan.instance).to_string(),
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

/// Nothing is told, or deleted, where it is not known what is an orphan.
pub(super) fn not_known(error: OrphansError) -> Refusal {
    if error.is_out_of_time() {
        return Refusal::out_of_time(error);
    }
    let text = match &error {
        OrphansError::NobodyKnows => {
            "It is not known which deployments are orphans: neither `cf` nor `service_instances_api` is configured."
        }
        OrphansError::Source(_) => {
            "It is not known which deployments are orphans: the platform does not tell all service instances. The broker's \
             log says why."
        }
        OrphansError::Instance(_) => {
            "It is not known which deployments are orphans: the Director does not tell what there is. The broker's log says \
             why."
        }
    };
    let status = match &error {
        OrphansError::NobodyKnows => StatusCode::NOT_IMPLEMENTED,
        OrphansError::Source(_) | OrphansError::Instance(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    Refusal::new(status, error.code(), text).because(error)
}

fn refuse(error: DeleteOrphanError, asking: &Asking<'_>) -> Refusal {
    let (status, code, text) = match error {
        DeleteOrphanError::Lock(error) => return later(Refusal::out_of_time(error)),
        DeleteOrphanError::NotKnown(error) => return later(not_known(error)),
        DeleteOrphanError::Instance(fault @ Fault::Busy) => {
            return asking.fault(fault).with_status(StatusCode::CONFLICT);
        }
        // 409 is what can be tried again.
        DeleteOrphanError::Instance(fault @ Fault::Foreign) => {
            return asking
                .fault(fault)
                .with_status(StatusCode::FORBIDDEN)
                .with_code(Code::ForeignDeployment);
        }
        DeleteOrphanError::Instance(fault) => return later(asking.fault(fault)),
        DeleteOrphanError::NoOrphan(_) => (
            StatusCode::CONFLICT,
            Code::NoOrphan,
            "The platform knows the service instance: its deployment is no orphan.",
        ),
        DeleteOrphanError::Unmarked(_) => (
            StatusCode::FORBIDDEN,
            Code::UnmarkedDeployment,
            "Nobody has marked the deployment, which may be another broker's. To delete it all the same, say \
             `include_unmarked=true`.",
        ),
        DeleteOrphanError::MarksUnreadable(_) => (
            StatusCode::FORBIDDEN,
            Code::MarksUnreadable,
            "The broker cannot read who has marked deployments: this one may be another broker's. It is not deleted until BOSH \
             configs can be used.",
        ),
        DeleteOrphanError::PlanUnknown(_) => (
            StatusCode::FORBIDDEN,
            Code::OrphanPlanUnknown,
            "Nobody knows which plan the deployment is on, and so which errands are to be run before it is deleted. Name its \
             plan with `plan_id=`, or say `force=true`: then none are run.",
        ),
        DeleteOrphanError::NoSuchPlan(_) => (
            StatusCode::BAD_REQUEST,
            Code::NotInCatalog,
            "The offering has no plan of this name or id.",
        ),
        DeleteOrphanError::OfAnother(_) => (
            StatusCode::FORBIDDEN,
            Code::DeploymentOfAnother,
            "Another broker has marked the deployment. It is not deleted here.",
        ),
        DeleteOrphanError::OfferingUnknown => (
            StatusCode::CONFLICT,
            Code::OfferingUnknown,
            "The platform knows no plan of this offering, so that every deployment looks like an orphan: is the broker \
             registered, and on this foundation? If the offering is gone for good, say `offering_is_gone=true`.",
        ),
    };
    Refusal::new(status, code, text).because(error)
}

/// Whoever deletes many comes back to one that is busy; so it shall to one for which there was no time.
fn later(refusal: Refusal) -> Refusal {
    match refusal.status_code() {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            refusal.with_status(StatusCode::CONFLICT)
        }
        _ => refusal,
    }
}
