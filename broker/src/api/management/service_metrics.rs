//! `GET /mgmt/metrics`, as the Go broker answers it: 503 where there is nothing to count, and nothing but a status where it
//! cannot be told.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use odb_api_types::code::Code;

use crate::{
    api::{AppState, incoming::WithContext, refusal::Refusal},
    operations::{Cut, ServiceMetricsError},
};

/// Tells how much of the offering is used.
pub(super) async fn metrics(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
) -> Result<HttpResponse, Refusal> {
    let operations = app.operations.clone();
    let work = async move { operations.service_metrics(request_context).await };
    match app.lifecycle.finish(work).await {
        Ok(told) => Ok(HttpResponse::Ok().json(told.map_err(refuse)?)),
        Err(error @ Cut::Stopping) => Err(Refusal::stopping(error)),
        Err(error @ Cut::Off(_)) => Err(Refusal::told_by_status(
            StatusCode::INTERNAL_SERVER_ERROR,
            Code::Internal,
        )
        .because(error)),
    }
}

fn refuse(error: ServiceMetricsError) -> Refusal {
    let status = match &error {
        ServiceMetricsError::NoSource | ServiceMetricsError::NotRegistered => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        ServiceMetricsError::Source(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    Refusal::told_by_status(status, error.code()).because(error)
}
