//! Whether the process answers.

use actix_web::{HttpResponse, get};
use serde_json::json;

/// Where load balancers and monitors ask.
pub(super) const PATH: &str = "/health";

/// The process answers. Says nothing about its upstreams: a broker is not better off restarted when the Director is
/// down.
#[get("/health")]
pub(super) async fn health() -> HttpResponse {
    HttpResponse::Ok().json(json!({ "status": "ok" }))
}
