//! What the process says about itself: whether it answers, and its metrics.

use actix_web::{HttpResponse, web::Data};
use odb_core::metrics::{Metrics, metrics};
use serde_json::json;

use super::AppState;

/// Where load balancers and monitors ask, without credentials.
pub(super) const HEALTH: &str = "/health";

/// The process answers. Says nothing about its upstreams: a broker is not better off restarted when the Director is
/// down.
pub(super) async fn health() -> HttpResponse {
    HttpResponse::Ok().json(json!({ "status": "ok" }))
}

pub(super) async fn process_metrics(app: Data<AppState>) -> HttpResponse {
    app.operations.count_for_metrics().await;
    HttpResponse::Ok()
        .content_type(Metrics::CONTENT_TYPE)
        .body(metrics().text())
}
