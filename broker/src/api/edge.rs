//! The first and last steps of every request: an id, checks of its head, its lines in the log.

use std::{
    rc::Rc,
    time::{Duration, Instant},
};

use actix_web::{
    Error, HttpMessage, HttpResponse,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::{
        ConnectionType, StatusCode,
        header::{self, HeaderName, HeaderValue},
    },
    middleware::Next,
    web::Data,
};
use odb_api_types::{code::Code, ids::RequestId};
use odb_clients::http::Deadline;
use odb_core::operations::RequestContext;
use tracing::Instrument;

use super::{
    AppState,
    audit::AuditEntry,
    connection::Activity,
    error::{ApiError, add_operator_details},
    health, management,
    originator::{Originator, bounded},
    unauthenticated::{self, UnauthenticatedLog},
};

const REQUEST_IDENTITY: HeaderName = HeaderName::from_static("x-broker-api-request-identity");

/// The first of these headers that is not empty correlates our log with that of the client.
const CORRELATION: &[&str] = &[
    "x-correlation-id",
    "x-correlationid",
    "x-forrequest-id",
    "x-request-id",
    "x-vcap-request-id",
];

/// Names and values of all headers of a request. The parser takes 96 headers at most.
const HEADER_BYTES: usize = 64 * 1024;
/// The maximum length of path and query. An operation token takes one kilobyte.
const ADDRESS: usize = 16 * 1024;
/// The most that the log keeps of an id or a path that a client has chosen.
const LOGGED: usize = 256;

/// The same for a method. The longest known method is `OPTIONS`.
const METHOD_LOGGED: usize = 16;

/// Gives the request an id and a deadline, and writes its lines into the log. Outermost.
pub(super) async fn attend(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let started = Instant::now();
    let id = RequestId::random();
    let activity = request.conn_data::<Rc<Activity>>().cloned();
    let _in_flight = activity.as_ref().map(Activity::begin);
    let app = request.app_data::<Data<AppState>>();
    let _in_progress = app.map(|app| app.lifecycle.attend());
    let budget = app
        .map(|app| app.timings.request_budget)
        .unwrap_or_default();
    request.extensions_mut().insert(RequestContext {
        request: id.clone(),
        deadline: Deadline::after(budget),
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
    let is_unreadable = originator.is_err();
    let originator = originator.unwrap_or_default();
    let method = request.method().clone();
    let path = bounded(request.path(), LOGGED);
    let is_health = request.path() == health::PATH;
    let is_for_operators = request.path().starts_with(management::OWN);
    let span = tracing::info_span!(
        "request",
        request.id = %id,
        instance.id = instance_of(&path),
        correlation.id = bounded(correlation, LOGGED),
        request.identity = bounded(text(identity.as_ref()).unwrap_or_default(), LOGGED),
        originator.platform = originator.platform,
        originator.user = originator.user,
    );
    let summarized = unauthenticated::mark(&request);
    let audit = AuditEntry::of(
        &method,
        request.path(),
        request.query_string(),
        unauthenticated::address(request.request()),
        originator,
        id.clone(),
    )
    .map(|entry| entry.unless(summarized.clone()));
    let error = look_over(&request);
    async move {
        let mut response = match error {
            Some(error) => {
                if let Some(activity) = &activity {
                    activity.leave_unread(request.head());
                }
                UnauthenticatedLog::note(request.request());
                request.into_response(error.answer_unless(summarized.is_set()))
            }
            None => next.call(request).await?.map_into_boxed_body(),
        };
        // A router that does not know would send the next request into the end.
        if activity.is_some_and(|activity| activity.is_ending()) {
            let head = response.response_mut().head_mut();
            head.set_connection_type(ConnectionType::Close);
        }
        if is_for_operators {
            let (request, answer) = response.into_parts();
            response = ServiceResponse::new(request, add_operator_details(answer, &id));
        }
        if let Some(identity) = identity {
            response.headers_mut().insert(REQUEST_IDENTITY, identity);
        }
        let id = HeaderValue::from_str(id.as_str()).expect("a UUID is a header's value");
        response
            .headers_mut()
            .insert(HeaderName::from_static("x-request-id"), id);
        if let Some(audit) = audit {
            audit.close(response.status());
        }
        // A load balancer asks every few seconds whether we are well.
        if is_health || summarized.is_set() {
            return Ok(response);
        }
        if is_unreadable {
            tracing::warn!(
                "the platform's originating identity cannot be understood, it is ignored"
            );
        }
        tracing::info!(
            http.method = bounded(method.as_str(), METHOD_LOGGED),
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

/// The checks that every request must pass.
fn look_over(request: &ServiceRequest) -> Option<ApiError> {
    let headers = request.headers();
    let bytes: usize = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum();
    if bytes > HEADER_BYTES {
        return Some(ApiError::new(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Code::TooLarge,
            "The request has more headers, or longer ones, than are read.",
        ));
    }
    let address = request.uri().path_and_query();
    if address.is_some_and(|address| address.as_str().len() > ADDRESS) {
        return Some(ApiError::new(
            StatusCode::URI_TOO_LONG,
            Code::TooLarge,
            format!("The address of the request is longer than {ADDRESS} bytes."),
        ));
    }
    let expected = headers.get(header::EXPECT)?;
    let is_known = expected.as_bytes().eq_ignore_ascii_case(b"100-continue");
    (!is_known).then(|| {
        ApiError::new(
            StatusCode::EXPECTATION_FAILED,
            Code::MalformedRequest,
            "The header Expect is not `100-continue`.",
        )
    })
}

/// The answer to a method that a path does not know.
pub(super) fn wrong_method(
    allowed: &'static str,
) -> std::future::Ready<Result<HttpResponse, ApiError>> {
    let error = ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        Code::Route,
        "This path does not know this method.",
    );
    std::future::ready(Err(error.allowing(allowed)))
}

/// The answer to an unknown path.
pub(super) async fn no_such_path() -> Result<HttpResponse, ApiError> {
    let text = "This path does not exist.";
    Err(ApiError::new(StatusCode::NOT_FOUND, Code::Route, text))
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The path before the id of an instance whose deployment is an orphan.
pub(super) const ORPHANS: &str = "/mgmt/v1/orphan_deployments/service-instance_";

/// The service instance that a path is about.
fn instance_of(path: &str) -> &str {
    [
        "/v2/service_instances/",
        "/mgmt/service_instances/",
        "/mgmt/v1/service_instances/",
        ORPHANS,
    ]
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
