//! `GET /v2/service_instances/{instance}/service_bindings/{binding}`, where the catalog announces it.

use actix_web::{
    HttpResponse,
    http::StatusCode,
    web::{Data, Path},
};
use odb_api_types::code::Code;

use super::not_offered::not_offered;
use crate::{
    api::{
        AppState,
        fault::{Asking, Audience},
        incoming::{self, WithContext},
        refusal::Refusal,
    },
    operations::{FetchBindingError, FetchBindingRequest},
};

/// Tells what is known of a binding.
pub(super) async fn fetch_binding(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
    path: Path<(String, String)>,
) -> Result<HttpResponse, Refusal> {
    if !app.operations.offering().bindings_retrievable {
        return Err(not_offered("GetBinding"));
    }
    let (instance, binding) = path.into_inner();
    let instance = incoming::instance_id(instance)?;
    let request = FetchBindingRequest {
        instance: instance.clone(),
        binding: incoming::binding_id(binding)?,
    };
    let work = {
        let (app, request_context) = (app.clone(), request_context.clone());
        async move { app.operations.fetch_binding(request_context, request).await }
    };
    let asking = Asking {
        audience: Audience::User,
        app: &app,
        request_context: &request_context,
        instance: &instance,
        asked: None,
    };
    match app.lifecycle.finish(work).await {
        Ok(Ok(binding)) => Ok(HttpResponse::Ok().json(binding)),
        Ok(Err(error)) => Err(refuse(error, &asking)),
        Err(cut) => Err(asking.cut(cut)),
    }
}

fn refuse(error: FetchBindingError, asking: &Asking<'_>) -> Refusal {
    match error {
        FetchBindingError::NotFound => Refusal::new(
            StatusCode::NOT_FOUND,
            Code::NotFound,
            "The service binding does not exist.",
        )
        .because(error),
        FetchBindingError::Lock(error) => Refusal::out_of_time(error),
        FetchBindingError::LookUp(fault) if fault.is_out_of_time() => Refusal::out_of_time(fault),
        FetchBindingError::LookUp(_) => asking.complain(Code::RuntimeCredHub, error),
    }
}
