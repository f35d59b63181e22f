//! What every request goes through: an id, a line in the log, authentication.

use std::time::{Duration, Instant};

use actix_web::{
    Error, HttpMessage, HttpResponse, ResponseError,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::header::{self, HeaderName, HeaderValue},
    middleware::Next,
    web::Data,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use odb_platform::http::Deadline;
use tracing::Instrument;

use super::{AppState, health, originator::Originator, refusal::Refusal};
use crate::{ids::RequestId, operations::RequestContext};

const REQUEST_IDENTITY: HeaderName = HeaderName::from_static("x-broker-api-request-identity");

/// How long after its deadline a request may still be answered: a lost answer of the Director may be looked for that long.
const ANSWER_GRACE: Duration = Duration::from_secs(20);

/// The first of these that is not empty joins our log with that of whoever asks.
const CORRELATION: &[&str] = &[
    "x-correlation-id",
    "x-correlationid",
    "x-forrequest-id",
    "x-request-id",
    "x-vcap-request-id",
];

/// Gives the request an id and a deadline, and writes its line into the log. Outermost.
pub(super) async fn attend(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let started = Instant::now();
    let id = RequestId::random();
    let budget = request
        .app_data::<Data<AppState>>()
        .map(|app| app.request_budget)
        .unwrap_or_default();
    let deadline = Deadline::after(budget);
    request.extensions_mut().insert(RequestContext {
        request: id.clone(),
        deadline,
    });
    let identity = request
        .headers()
        .get(REQUEST_IDENTITY)
        .filter(|value| !value.is_empty())
        .cloned();
    let correlation = CORRELATION
        .iter()
        .find_map(|name| text(request.headers().get(*name)))
        .unwrap_or_default();
    let originator = Originator::of(request.headers());
    let known = originator.as_ref().ok();
    let method = request.method().clone();
    let path = request.path().to_owned();
    let span = tracing::info_span!(
        "request",
        request.id = %id,
        instance.id = instance_of(&path),
        correlation.id = %correlation,
        request.identity = text(identity.as_ref()).unwrap_or_default(),
        originator.platform = known.map_or("", |known| &known.platform),
        originator.user = known.map_or("", |known| &known.user),
    );
    let is_unreadable = originator.is_err();
    async move {
        if is_unreadable {
            tracing::warn!(
                "the platform's originating identity cannot be understood, it is ignored"
            );
        }
        // The work has a deadline of its own; what this ends is a body that trickles in.
        let patience = deadline.instant() + ANSWER_GRACE;
        let mut response = match tokio::time::timeout_at(patience, next.call(request)).await {
            Ok(response) => response?.map_into_boxed_body(),
            Err(_) => return Err(Refusal::slow_client().into()),
        };
        if let Some(identity) = identity {
            response.headers_mut().insert(REQUEST_IDENTITY, identity);
        }
        let id = HeaderValue::from_str(id.as_str()).expect("a UUID is a header's value");
        response
            .headers_mut()
            .insert(HeaderName::from_static("x-request-id"), id);
        // A load balancer asks every few seconds whether we are well.
        if path == health::PATH {
            return Ok(response);
        }
        tracing::info!(
            http.method = %method,
            http.path = %path,
            http.status = response.status().as_u16(),
            duration_ms = milliseconds(started.elapsed()),
            "request answered"
        );
        Ok(response)
    }
    .instrument(span)
    .await
}

/// Lets through who knows the credentials, on every path but one.
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
    let refusal = Refusal::unauthorized();
    let response: HttpResponse = refusal.error_response();
    Ok(request.into_response(response))
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

/// The answer to a method that a path does not know.
pub(super) fn wrong_method(
    allowed: &'static str,
) -> std::future::Ready<Result<HttpResponse, Refusal>> {
    std::future::ready(Err(Refusal::wrong_method(allowed)))
}

/// The answer to a path that nobody serves.
pub(super) async fn no_such_path() -> Result<HttpResponse, Refusal> {
    Err(Refusal::no_such_path())
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The service instance that a path is about.
fn instance_of(path: &str) -> &str {
    ["/v2/service_instances/", "/mgmt/service_instances/"]
        .iter()
        .find_map(|prefix| path.strip_prefix(prefix))
        .and_then(|rest| rest.split('/').next())
        .unwrap_or_default()
}

fn text(value: Option<&HeaderValue>) -> Option<&str> {
    value
        .and_then(|value| value.to_str().ok())
        .filter(|text| !text.is_empty())
}
