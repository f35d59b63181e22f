//! `DELETE /v2/service_instances/{instance}/service_bindings/{binding}`.

use actix_web::{
    HttpResponse,
    http::StatusCode,
    web::{Data, Path},
};
use odb_api_types::code::Code;

use crate::{
    api::{
        AppState,
        fault::{Asking, Audience, not_in_catalog},
        incoming::{self, Parameters, WithContext},
        refusal::Refusal,
    },
    bosh::Fault,
    complaint::Asked,
    operations::{UnbindError, UnbindRequest},
};

/// Takes credentials back.
pub(super) async fn unbind(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
    path: Path<(String, String)>,
    query: Parameters,
) -> Result<HttpResponse, Refusal> {
    let (instance, binding) = path.into_inner();
    let instance = incoming::instance_id(instance)?;
    let request = UnbindRequest {
        instance: instance.clone(),
        binding: incoming::binding_id(binding)?,
        service: query.required("service_id")?.to_owned().into(),
        plan: query.required("plan_id")?.to_owned().into(),
    };
    let work = {
        let (app, request_context) = (app.clone(), request_context.clone());
        async move { app.operations.unbind(request_context, request).await }
    };
    let asking = Asking {
        audience: Audience::User,
        app: &app,
        request_context: &request_context,
        instance: &instance,
        asked: Some(Asked::Unbind),
    };
    match app.lifecycle.finish(work).await {
        Ok(Ok(())) => Ok(HttpResponse::Ok().json(serde_json::json!({}))),
        Ok(Err(error)) => Err(refuse(error, &asking)),
        Err(cut) => Err(asking.cut(cut)),
    }
}

fn refuse(error: UnbindError, asking: &Asking<'_>) -> Refusal {
    match error {
        UnbindError::Catalog(fault) => not_in_catalog(fault),
        UnbindError::Lock(error) => Refusal::out_of_time(error),
        UnbindError::Stored(_) => asking.complain(Code::RuntimeCredHub, error),
        // Credentials of an instance that is gone are gone.
        UnbindError::Instance(fault @ Fault::NotFound) => Refusal::new(
            StatusCode::GONE,
            Code::NotFound,
            "the service instance does not exist",
        )
        .because(fault),
        UnbindError::Instance(fault) => asking.fault(fault),
    }
}
