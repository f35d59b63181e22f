//! `GET /mgmt/v1/service_instances/{instance}/health` and `GET /mgmt/v1/director`.

use actix_web::{
    HttpResponse,
    http::StatusCode,
    web::{Data, Path},
};
use odb_api_types::code::Code;

use crate::{
    api::{
        AppState,
        fault::{Asking, Audience},
        incoming::{self, WithContext},
        refusal::Refusal,
    },
    bosh::Fault,
};

/// Tells how the VMs of an instance are.
pub(super) async fn health(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
    path: Path<String>,
) -> Result<HttpResponse, Refusal> {
    let instance = incoming::instance_id(path.into_inner())?;
    let work = {
        let (app, request_context) = (app.clone(), request_context.clone());
        let instance = instance.clone();
        async move { app.operations.health(request_context, instance).await }
    };
    let asking = Asking {
        audience: Audience::Operator,
        app: &app,
        request_context: &request_context,
        instance: &instance,
        asked: None,
    };
    match app.lifecycle.finish(work).await {
        Ok(Ok(health)) => Ok(HttpResponse::Ok().json(health)),
        Ok(Err(fault @ Fault::Director { .. })) => Err(unanswered(fault)),
        Ok(Err(fault)) => Err(asking.fault(fault)),
        Err(cut) => Err(asking.cut(cut)),
    }
}

/// Tells what the Director can do.
pub(super) async fn director(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
) -> Result<HttpResponse, Refusal> {
    let work = {
        let app = app.clone();
        async move { app.operations.abilities(request_context).await }
    };
    match app.lifecycle.finish(work).await {
        Ok(Ok(abilities)) => Ok(HttpResponse::Ok().json(abilities)),
        Ok(Err(fault)) => Err(unanswered(fault)),
        Err(cut) => Err(Refusal::cut_off(cut)),
    }
}

/// The Director may answer the next time: it is busy, slow or down.
fn unanswered(fault: Fault) -> Refusal {
    let text = if fault.is_out_of_time() {
        "The BOSH Director has not told in the time of the request: it is busy, or slow. Try again later."
    } else {
        "The BOSH Director could not be asked. Try again later; the broker's log tells why."
    };
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, Code::Director, text)
        .because(fault)
        .for_now()
}
