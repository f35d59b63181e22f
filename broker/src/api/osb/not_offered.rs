//! The answer of routes that the catalog does not announce.

use actix_web::{HttpResponse, http::StatusCode};
use odb_api_types::code::Code;

use crate::api::refusal::Refusal;

pub(super) fn not_offered(what: &str) -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        Code::NotSupported,
        format!("{what} Not Implemented"),
    )
}

/// `GET /v2/service_instances/{instance}/service_bindings/{binding}/last_operation`: every bind and unbind ends within its
/// request.
pub(super) async fn last_binding_operation() -> Result<HttpResponse, Refusal> {
    Err(not_offered("LastBindingOperation"))
}
