//! `DELETE /v2/service_instances/{instance}`.

use actix_web::{
    HttpResponse,
    http::StatusCode,
    web::{Data, Path},
};
use odb_api_types::{code::Code, kind::OperationKind};

use super::provision::accepted;
use crate::{
    api::{
        AppState,
        fault::{Asking, Audience, not_in_catalog},
        incoming::{self, Parameters, WithContext},
        refusal::Refusal,
    },
    bosh::Insistence,
    complaint::Asked,
    operations::{DeprovisionError, DeprovisionRequest, Deprovisioned},
};

/// Ends a service instance.
pub(super) async fn deprovision(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
    path: Path<String>,
    query: Parameters,
) -> Result<HttpResponse, Refusal> {
    let instance = incoming::instance_id(path.into_inner())?;
    let (insistence, kind) = if query.get("force") == Some("true") {
        (Insistence::Forced, OperationKind::ForceDelete)
    } else {
        (Insistence::Careful, OperationKind::Delete)
    };
    let request = DeprovisionRequest {
        instance: instance.clone(),
        service: query.required("service_id")?.to_owned().into(),
        plan: query.required("plan_id")?.to_owned().into(),
        insistence,
        patience: query.patience(),
    };
    let work = {
        let (app, request_context) = (app.clone(), request_context.clone());
        async move { app.operations.deprovision(request_context, request).await }
    };
    let asking = Asking {
        audience: Audience::User,
        app: &app,
        request_context: &request_context,
        instance: &instance,
        asked: Some(Asked::Operation(kind)),
    };
    match app.lifecycle.finish(work).await {
        Ok(Ok(Deprovisioned::Started(started))) => Ok(accepted(started)),
        Ok(Ok(Deprovisioned::WasAbsent)) => Err(Refusal::new(
            StatusCode::GONE,
            Code::NotFound,
            "there is no such service instance",
        )),
        Ok(Err(error)) => Err(refuse(error, &asking)),
        Err(cut) => Err(asking.cut(cut)),
    }
}

fn refuse(error: DeprovisionError, asking: &Asking<'_>) -> Refusal {
    match error {
        DeprovisionError::Catalog(fault) => not_in_catalog(fault),
        DeprovisionError::AsyncRequired(error) => Refusal::async_required(error),
        DeprovisionError::Lock(error) => Refusal::out_of_time(error),
        DeprovisionError::Instance(fault) => asking.fault(fault),
    }
}
