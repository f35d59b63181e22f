//! The answer of routes that the catalog does not announce.

use actix_web::{HttpResponse, http::StatusCode};

use crate::{api::refusal::Refusal, code::Code};

pub(super) fn not_offered(what: &str) -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        Code::NotSupported,
        format!("{what} Not Implemented"),
    )
}

/// `GET /v2/service_instances/{instance}/service_bindings/{binding}`.
pub(super) async fn fetch_binding() -> Result<HttpResponse, Refusal> {
    Err(not_offered("GetBinding"))
}

/// `GET /v2/service_instances/{instance}/service_bindings/{binding}/last_operation`.
pub(super) async fn last_binding_operation() -> Result<HttpResponse, Refusal> {
    Err(not_offered("LastBindingOperation"))
}
