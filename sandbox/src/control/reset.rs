//! `/reset`: a fresh foundation.

use actix_web::{HttpResponse, Responder, web::Data};
use serde_json::json;

use super::Control;

/// Answers before the reset. Everything is up again when `GET /` reports another run.
pub(super) async fn begin(control: Data<Control>) -> impl Responder {
    control.reset.notify_one();
    HttpResponse::Accepted().json(json!({"run": control.run}))
}
