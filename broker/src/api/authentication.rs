//! Basic authentication, on every path but one.

use std::rc::Rc;

use actix_web::{
    Error, HttpMessage, HttpResponse,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::{StatusCode, header},
    middleware::Next,
    web::Data,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use odb_api_types::code::Code;
use odb_core::metrics;
use tokio::time::Instant;

use super::{
    AppState,
    connection::{Activity, Client},
    error::ApiError,
    health,
    throttle::{AuthenticationThrottle, Delay},
    unauthenticated::{Summarized, UnauthenticatedLog},
};

/// Passes requests with valid credentials, on every path but one. Other requests are delayed, then rejected.
pub(super) async fn authenticate(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    if request.path() == health::PATH || is_admitted(&request) {
        return next
            .call(request)
            .await
            .map(ServiceResponse::map_into_boxed_body);
    }
    // The body of an unauthenticated request is neither read nor kept during the delay.
    let (request, body) = request.into_parts();
    drop(body);
    let activity = request.conn_data::<Rc<Activity>>();
    if let Some(activity) = activity {
        activity.leave_unread(request.head());
    }
    metrics().requests.failed_authentication();
    UnauthenticatedLog::note(&request);
    let is_summarized = request
        .extensions()
        .get::<Summarized>()
        .is_some_and(Summarized::is_set);
    let error = ApiError::new(
        StatusCode::UNAUTHORIZED,
        Code::Unauthorized,
        "Not authorized: give the broker's user name and password.",
    );
    let response: HttpResponse = error.answer_unless(is_summarized);
    if let Some(throttle) = request.app_data::<Data<AuthenticationThrottle>>() {
        let client = request.peer_addr().map(Client::at);
        match throttle.refuse(client, Instant::now()) {
            Delay::Now => {}
            Delay::After(delay, turn) => {
                tokio::time::sleep(delay).await;
                drop(turn);
            }
            Delay::HangUp => {
                if let Some(activity) = activity {
                    activity.end();
                }
            }
        }
    }
    Ok(ServiceResponse::new(request, response))
}

fn is_admitted(request: &ServiceRequest) -> bool {
    let Some(app) = request.app_data::<Data<AppState>>() else {
        return false;
    };
    let given = request
        .headers()
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"))
        .and_then(|(_, encoded)| BASE64_STANDARD.decode(encoded.trim()).ok());
    let Some(given) = given else { return false };
    let Some(colon) = given.iter().position(|byte| *byte == b':') else {
        return false;
    };
    app.credentials.admit(&given[..colon], &given[colon + 1..])
}
