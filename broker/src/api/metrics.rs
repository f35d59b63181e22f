//! What the process counts, for those who know the credentials.

use actix_web::{HttpResponse, web::Data};

use super::AppState;
use crate::telemetry::metrics::{self, Metrics};

/// All metrics in the text format of Prometheus.
pub(super) async fn metrics(app: Data<AppState>) -> HttpResponse {
    app.operations.count_for_metrics().await;
    HttpResponse::Ok()
        .content_type(Metrics::CONTENT_TYPE)
        .body(metrics::metrics().text())
}
