//! Counts requests. The outermost layer, so that rejected requests count, too.

use std::time::Instant;

use actix_web::{
    Error,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    middleware::Next,
};
use odb_core::metrics;

/// The route of unknown paths. A requested path is never a label.
const NO_ROUTE: &str = "other";

/// Counts a request under its route's template, its method and the status of its answer.
pub(super) async fn count(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let started = Instant::now();
    let metrics = &metrics().requests;
    let in_flight = metrics.begin();
    let route = request.match_pattern();
    let method = request.method().clone();
    let answered = next.call(request).await;
    let status = match &answered {
        Ok(response) => response.status(),
        Err(error) => error.as_response_error().status_code(),
    };
    drop(in_flight);
    let route = route.as_deref().unwrap_or(NO_ROUTE);
    metrics.answered(route, method.as_str(), status.as_u16(), started.elapsed());
    answered
}
