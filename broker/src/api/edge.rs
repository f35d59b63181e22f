//! The first and last steps of every request: its count, an id, checks of its head, its lines in the log.

use std::{
    rc::Rc,
    time::{Duration, Instant},
};

use actix_web::{
    Error, HttpMessage, HttpResponse, Resource, Route,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::{
        ConnectionType, StatusCode,
        header::{self, HeaderMap, HeaderName, HeaderValue},
    },
    middleware::Next,
    web::{self, Data},
};
use odb_api_types::{code::Code, ids::RequestId};
use odb_clients::http::{
    Deadline,
    trace::{self, SPANS, Traceparent},
};
use odb_core::{metrics, operations::RequestContext};
use tracing::{Instrument, Span, field};

use super::{
    AppState,
    audit::{AuditEntry, Originator, Unreadable, bounded},
    authentication,
    connection::Activity,
    endpoints,
    error::{ApiError, add_operator_details},
    management,
    unauthenticated::{self, Summarized, UnauthenticatedLog},
};
use crate::ui;

const REQUEST_IDENTITY: HeaderName = HeaderName::from_static("x-broker-api-request-identity");

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The first of these headers that is not empty correlates our log with that of the client.
const CORRELATION: &[&str] = &[
    "x-correlation-id",
    "x-correlationid",
    "x-forrequest-id",
    "x-request-id",
    "x-vcap-request-id",
];

/// The route of unknown paths. A requested path is never a label.
const NO_ROUTE: &str = "other";

/// Names and values of all headers of a request. The parser takes 96 headers at most.
const HEADER_BYTES: usize = 64 * 1024;
const ADDRESS: usize = 16 * 1024;
const LOGGED: usize = 256;

/// The same for a method. The longest known method is `OPTIONS`.
const METHOD_LOGGED: usize = 16;

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
        .map(|app| app.broker.timings.request_budget)
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
    let originator = originator(&request);
    let is_unreadable = originator.is_err();
    let originator = originator.unwrap_or_default();
    let method = request.method().clone();
    let path = bounded(request.path(), LOGGED);
    let is_health = request.path() == endpoints::HEALTH;
    let is_for_operators = request.path().starts_with(management::OWN);
    // A load balancer asks every few seconds whether we are well.
    let exported = if is_health {
        Span::none()
    } else {
        exported_span(&request, &id, instance_of(&path))
    };
    let (span, trace) = trace::entered(&exported, traceparent(request.headers()), || {
        log_span(&id, &path, correlation, identity.as_ref(), &originator)
    });
    let summarized = unauthenticated::mark(&request);
    let audit = audit(&request, originator, id.clone(), summarized.clone());
    let error = check_head(&request);
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
            response = ServiceResponse::new(request, add_operator_details(answer, &id, trace));
        }
        if let Some(identity) = identity {
            response.headers_mut().insert(REQUEST_IDENTITY, identity);
        }
        let id = HeaderValue::from_str(id.as_str()).expect("a UUID is a header's value");
        response
            .headers_mut()
            .insert(HeaderName::from_static("x-request-id"), id);
        if let Some(audit) = audit {
            let extensions = response.response().extensions();
            let nothing_to_do = extensions.get::<ui::NothingToDo>().is_some();
            audit.close(response.status(), nothing_to_do);
        }
        note_status(&exported, response.status());
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

fn is_of_page(request: &ServiceRequest) -> bool {
    let app = request.app_data::<Data<AppState>>();
    app.is_some_and(|app| app.page_at(request.path()).is_some())
}

/// The user behind a request: the platform's, or the page's.
fn originator(request: &ServiceRequest) -> Result<Originator, Unreadable> {
    if !is_of_page(request) {
        Originator::of(request.headers())
    } else if authentication::is_admitted(request) {
        Ok(Originator::of_page(request.headers()))
    } else {
        // A password may be in the place of the name.
        Ok(Originator::default())
    }
}

fn audit(
    request: &ServiceRequest,
    originator: Originator,
    id: RequestId,
    summarized: Summarized,
) -> Option<AuditEntry> {
    let is_of_page = is_of_page(request);
    let is_left_out = if is_of_page {
        ui::awaits_challenge(request.headers())
    } else {
        ui::is_page(request.path())
    };
    if is_left_out {
        return None;
    }
    let client = unauthenticated::address(request.request());
    let (path, query) = (request.path(), request.query_string());
    let entry = AuditEntry::of(
        request.method(),
        path,
        query,
        client,
        originator,
        id,
        summarized,
    )?;
    Some(entry.kept_by(request.app_data::<Data<AppState>>().cloned()))
}

fn log_span(
    id: &RequestId,
    path: &str,
    correlation: &str,
    identity: Option<&HeaderValue>,
    originator: &Originator,
) -> Span {
    tracing::info_span!(
        "request",
        request.id = %id,
        instance.id = instance_of(path),
        binding.id = binding_of(path),
        correlation.id = bounded(correlation, LOGGED),
        request.identity = bounded(text(identity).unwrap_or_default(), LOGGED),
        originator.platform = originator.platform,
        originator.user = originator.user,
        trace.id = field::Empty,
    )
}

fn note_status(exported: &Span, status: StatusCode) {
    exported.record("http.response.status_code", status.as_u16());
    if status.is_server_error() {
        exported.record("otel.status_code", "ERROR");
    }
}

/// The span of a request in its trace: no query, no header and no body.
fn exported_span(request: &ServiceRequest, id: &RequestId, instance: &str) -> Span {
    tracing::trace_span!(
        target: SPANS,
        "request",
        otel.kind = "server",
        otel.name = %format_args!(
            "{} {}",
            bounded(request.method().as_str(), METHOD_LOGGED),
            request.match_pattern().as_deref().unwrap_or(NO_ROUTE)
        ),
        otel.status_code = field::Empty,
        http.request.method = bounded(request.method().as_str(), METHOD_LOGGED),
        http.route = request.match_pattern().as_deref().unwrap_or(NO_ROUTE),
        http.response.status_code = field::Empty,
        request.id = %id,
        instance.id = instance,
    )
}

/// The caller's span. An invalid one is ignored.
fn traceparent(headers: &HeaderMap) -> Option<Traceparent> {
    text(headers.get(TRACEPARENT))?.parse().ok()
}

/// Counts a request under its route's template, its method and the status of its answer. The outermost layer, so that
/// rejected requests count, too.
pub(super) async fn count(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let started = Instant::now();
    let in_flight = metrics().request_arrived();
    let route = request.match_pattern();
    let method = request.method().clone();
    let answered = next.call(request).await;
    let status = match &answered {
        Ok(response) => response.status(),
        Err(error) => error.as_response_error().status_code(),
    };
    drop(in_flight);
    let route = route.as_deref().unwrap_or(NO_ROUTE);
    metrics().request_answered(route, method.as_str(), status.as_u16(), started.elapsed());
    answered
}

fn check_head(request: &ServiceRequest) -> Option<ApiError> {
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

/// A path with its methods. Any other method gets the list of those that are `allowed`.
pub(super) fn resource(
    path: &str,
    allowed: &'static str,
    routes: impl IntoIterator<Item = Route>,
) -> Resource {
    let resource = routes
        .into_iter()
        .fold(web::resource(path), Resource::route);
    resource.default_service(web::to(move || async move {
        Err::<HttpResponse, ApiError>(ApiError::other_method(allowed))
    }))
}

pub(super) async fn no_such_path() -> Result<HttpResponse, ApiError> {
    Err(ApiError::not_found("This path does not exist."))
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The path before the id of an instance whose deployment is an orphan.
pub(super) const ORPHANS: &str = "/mgmt/v1/orphan_deployments/service-instance_";

fn instance_of(path: &str) -> &str {
    [
        "/v2/service_instances/",
        "/mgmt/service_instances/",
        "/mgmt/v1/service_instances/",
        "/ui/instances/",
        ORPHANS,
    ]
    .iter()
    .find_map(|prefix| path.strip_prefix(prefix))
    .and_then(|rest| rest.split('/').next())
    .unwrap_or_default()
}

fn binding_of(path: &str) -> &str {
    path.split_once("/service_bindings/")
        .and_then(|(_, rest)| rest.split('/').next())
        .unwrap_or_default()
}

fn text(value: Option<&HeaderValue>) -> Option<&str> {
    value
        .and_then(|value| value.to_str().ok())
        .filter(|text| !text.is_empty())
}
