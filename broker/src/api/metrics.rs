//! The metrics of the process, for clients with the credentials.

use actix_web::{HttpResponse, web::Data};
use odb_core::metrics::{self, Metrics};

use super::AppState;

/// All metrics in the text format of Prometheus.
pub(super) async fn metrics(app: Data<AppState>) -> HttpResponse {
    app.operations.count_for_metrics().await;
    HttpResponse::Ok()
        .content_type(Metrics::CONTENT_TYPE)
        .body(metrics::metrics().text())
}
