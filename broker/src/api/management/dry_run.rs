//! `POST /mgmt/v1/service_instances/{instance}/dry_run`.

use actix_web::{
    Error, HttpResponse,
    http::StatusCode,
    web::{Bytes, Data, Path},
};
use odb_api_types::{code::Code, kind::OperationKind};
use serde::Deserialize;

use crate::{
    api::{
        AppState,
        fault::{Asking, Audience},
        incoming::{self, WithContext},
        refusal::Refusal,
    },
    complaint::Asked,
    operations::{DryRunError, DryRunRequest},
};

#[derive(Deserialize)]
struct DryRunBody {
    #[serde(default)]
    plan_id: String,
}

/// Tells what an upgrade would change.
pub(super) async fn dry_run(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
    path: Path<String>,
    body: Result<Bytes, Error>,
) -> Result<HttpResponse, Refusal> {
    let instance = incoming::instance_id(path.into_inner())?;
    let body = incoming::body::<DryRunBody>(body)?;
    let request = DryRunRequest {
        instance: instance.clone(),
        plan: body.value.plan_id.into(),
        body: body.raw,
    };
    let work = {
        let (app, request_context) = (app.clone(), request_context.clone());
        async move { Box::pin(app.operations.dry_run(request_context, request)).await }
    };
    let asking = Asking {
        audience: Audience::Operator,
        app: &app,
        request_context: &request_context,
        instance: &instance,
        asked: Some(Asked::Operation(OperationKind::Upgrade)),
    };
    let refusal = match app.lifecycle.finish(work).await {
        Ok(Ok(told)) => return Ok(HttpResponse::Ok().json(told)),
        Ok(Err(DryRunError::Catalog(fault))) => Refusal::new(
            StatusCode::BAD_REQUEST,
            Code::NotInCatalog,
            format!("The plan of the service instance is unknown: {fault}."),
        )
        .because(fault),
        Ok(Err(DryRunError::NotAnObject(error))) => Refusal::malformed(format!("{error}.")),
        Ok(Err(DryRunError::Instance(fault))) => asking.fault(fault),
        Err(cut) => asking.cut(cut),
    };
    Err(refusal)
}
