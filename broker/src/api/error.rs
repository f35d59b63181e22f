//! Errors as answers.

use std::{error::Error, fmt};

use actix_web::{
    HttpResponse, ResponseError,
    body::BoxBody,
    http::{
        StatusCode,
        header::{self, HeaderValue},
    },
};
use odb_api_types::{code::Code, ids::RequestId};
use odb_clients::http::trace::Traceparent;
use odb_redaction::{Chain, redact};
use serde_json::{Map, Value};

/// After how many seconds a platform may try again.
const TRY_AGAIN: u64 = 30;

#[derive(Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) code: Code,
    /// The word for machines, where the specification has one.
    pub(super) error: Option<&'static str>,
    pub(crate) for_user: String,
    pub(super) for_operator: Option<Box<dyn Error + Send + Sync>>,
    /// A platform may try again in a while.
    pub(super) is_for_now: bool,
    /// The half for the user is the adapter's own message.
    pub(super) adapter_spoke: bool,
    pub(super) is_without_body: bool,
    /// The methods that the path knows.
    pub(super) allowed: Option<&'static str>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: Code, for_user: impl Into<String>) -> Self {
        Self {
            status,
            code,
            error: None,
            for_user: for_user.into(),
            for_operator: None,
            is_for_now: false,
            adapter_spoke: false,
            is_without_body: false,
            allowed: None,
        }
    }

    pub(super) fn for_now(mut self) -> Self {
        self.is_for_now = true;
        self
    }

    /// Without a body, as the Go broker's management API has it; the log has the cause.
    pub(super) fn by_status_alone(mut self, status: StatusCode) -> Self {
        self.is_without_body = true;
        self.with_status(status)
    }

    pub(super) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    pub(super) fn with_code(mut self, code: Code) -> Self {
        self.code = code;
        self
    }

    /// With the word that the specification has for it.
    pub(super) fn named(mut self, error: &'static str) -> Self {
        self.error = Some(error);
        self
    }

    /// With the cause, for the operator's log.
    pub(super) fn because(mut self, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.for_operator = Some(error.into());
        self
    }

    pub(crate) fn malformed(for_user: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Code::MalformedRequest, for_user)
    }

    pub(crate) fn not_found(for_user: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, Code::Route, for_user)
    }

    pub(crate) fn other_method(allowed: &'static str) -> Self {
        let (status, text) = (
            StatusCode::METHOD_NOT_ALLOWED,
            "This path does not know this method.",
        );
        Self {
            allowed: Some(allowed),
            ..Self::new(status, Code::Route, text)
        }
    }

    pub(super) fn too_large(limit: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            Code::TooLarge,
            format!("The body of the request is larger than {limit} bytes."),
        )
    }

    pub(super) fn out_of_time() -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            Code::OutOfTime,
            "The request took too long and was stopped before anything was changed. Try again later.",
        )
        .for_now()
    }

    pub(crate) fn unattended() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            Code::Internal,
            "There was a problem completing your request.",
        )
    }

    pub(super) fn log_in_the_middle(&self) {
        let (code, cause) = (self.code, self.cause());
        tracing::error!(%code, error = %cause, "an answer was cut off, because it could not be completed");
    }

    fn cause(&self) -> String {
        self.for_operator.as_ref().map_or_else(
            || self.for_user.clone(),
            |error| Chain(&**error).to_string(),
        )
    }

    pub(super) fn answer_unless(&self, is_summarized: bool) -> HttpResponse {
        if !is_summarized {
            self.log();
        }
        self.answer()
    }

    pub(crate) fn answer(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Basic realm=\"on-demand-broker\"");
            response.insert_header((header::WWW_AUTHENTICATE, challenge));
        }
        if let Some(allowed) = self.allowed {
            response.insert_header((header::ALLOW, allowed));
        }
        if self.is_for_now {
            response.insert_header((header::RETRY_AFTER, TRY_AGAIN));
        }
        if self.is_without_body {
            return response.finish();
        }
        let mut body = Map::new();
        if let Some(error) = self.error {
            body.insert("error".to_owned(), Value::from(error));
        }
        // Platforms expect an empty object with 410.
        if self.status != StatusCode::GONE {
            body.insert(
                "description".to_owned(),
                Value::from(self.for_user.as_str()),
            );
        }
        let mut response = response.json(&body);
        response.extensions_mut().insert(ErrorBody {
            code: self.code,
            members: body,
        });
        response
    }

    pub(crate) fn log(&self) {
        let status = self.status.as_u16();
        let code = self.code;
        let cause = self.cause();
        if self.adapter_spoke {
            // The adapter has given the user a message; the operator need not act.
            tracing::warn!(%code, http.status = status, error = %cause, for_user = %redact(&self.for_user), "request refused");
        } else if self.status.is_server_error() || self.status == StatusCode::TOO_MANY_REQUESTS {
            tracing::error!(%code, http.status = status, error = %cause, "request refused");
        } else {
            tracing::info!(%code, http.status = status, error = %cause, "request refused");
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, self.status)
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        self.answer_unless(false)
    }
}

/// The parts of an error's answer, kept with it for [`add_operator_details`].
struct ErrorBody {
    code: Code,
    members: Map<String, Value>,
}

/// Adds to an error answer what operators and errands need: the code, and the ids of the log lines and of the trace. Platforms do not get
/// it.
pub(super) fn add_operator_details(
    mut response: HttpResponse,
    request: &RequestId,
    trace: Option<Traceparent>,
) -> HttpResponse {
    let body = response.extensions_mut().remove::<ErrorBody>();
    let Some(ErrorBody { code, mut members }) = body else {
        return response;
    };
    members.insert("code".to_owned(), Value::from(code.to_string()));
    members.insert("request_id".to_owned(), Value::from(request.as_str()));
    if let Some(trace) = trace {
        members.insert("trace_id".to_owned(), Value::from(trace.trace_id()));
    }
    response.set_body(BoxBody::new(Value::from(members).to_string()))
}
