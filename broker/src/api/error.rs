//! Errors as answers.

use std::{error::Error, fmt, time::Duration};

use actix_web::{
    HttpResponse, ResponseError,
    body::BoxBody,
    http::{
        StatusCode,
        header::{self, HeaderValue},
    },
};
use odb_api_types::{code::Code, ids::RequestId};
use odb_redaction::{Chain, redact};
use serde_json::{Map, Value};

/// How soon a platform may try again after the broker ran out of time.
const TRY_AGAIN: Duration = Duration::from_secs(30);

/// An error as an answer: one half for the platform user, one for the operator.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    code: Code,
    /// The word for machines, where the specification has one.
    error: Option<&'static str>,
    for_user: String,
    for_operator: Option<Box<dyn Error + Send + Sync>>,
    retry_after: Option<Duration>,
    /// The half for the user is the adapter's own message.
    adapter_spoke: bool,
    /// The answer is only the status.
    is_without_body: bool,
    /// The methods that the path knows.
    allowed: Option<&'static str>,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, code: Code, for_user: impl Into<String>) -> Self {
        Self {
            status,
            code,
            error: None,
            for_user: for_user.into(),
            for_operator: None,
            retry_after: None,
            adapter_spoke: false,
            is_without_body: false,
            allowed: None,
        }
    }

    /// Worth another try in a while.
    pub(super) fn for_now(self) -> Self {
        Self {
            retry_after: Some(TRY_AGAIN),
            ..self
        }
    }

    /// Without a body, as the Go broker's management API has it; the log has the cause.
    pub(super) fn by_status_alone(self, status: StatusCode) -> Self {
        Self {
            is_without_body: true,
            ..self.with_status(status)
        }
    }

    /// With the methods that the path knows.
    pub(super) fn allowing(self, methods: &'static str) -> Self {
        Self {
            allowed: Some(methods),
            ..self
        }
    }

    /// The adapter's own message for the user.
    pub(super) fn of_adapter(for_user: &str) -> Self {
        let (status, code) = (StatusCode::INTERNAL_SERVER_ERROR, Code::AdapterFailed);
        Self {
            adapter_spoke: true,
            ..Self::new(status, code, for_user)
        }
    }

    /// With `text` before all the rest.
    pub(super) fn after(self, text: &str) -> Self {
        Self {
            for_user: format!("{text} {}", self.for_user),
            ..self
        }
    }

    pub(super) fn with_code(self, code: Code) -> Self {
        Self { code, ..self }
    }

    /// With the word that the specification has for it.
    pub(super) fn named(self, error: &'static str) -> Self {
        Self {
            error: Some(error),
            ..self
        }
    }

    /// With the cause, for the operator's log.
    pub(super) fn because(self, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            for_operator: Some(error.into()),
            ..self
        }
    }

    pub(super) fn malformed(for_user: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Code::MalformedRequest, for_user)
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

    /// A mistake in how the application is put together.
    pub(super) fn unattended() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            Code::Internal,
            "There was a problem completing your request.",
        )
    }

    pub(super) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// The answer has started, and is truncated.
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

    /// The answer to a request whose log lines may be summarised.
    pub(super) fn answer_unless(&self, is_summarized: bool) -> HttpResponse {
        if !is_summarized {
            self.log();
        }
        self.answer()
    }

    fn log(&self) {
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

    /// A failed request is logged with its answer.
    fn error_response(&self) -> HttpResponse {
        self.answer_unless(false)
    }
}

impl ApiError {
    fn answer(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Basic realm=\"on-demand-broker\"");
            response.insert_header((header::WWW_AUTHENTICATE, challenge));
        }
        if let Some(allowed) = self.allowed {
            response.insert_header((header::ALLOW, allowed));
        }
        if let Some(after) = self.retry_after {
            response.insert_header((header::RETRY_AFTER, after.as_secs().to_string()));
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
}

/// The parts of an error's answer, kept with it for [`add_operator_details`].
struct ErrorBody {
    code: Code,
    members: Map<String, Value>,
}

/// Adds to an error answer what operators and errands need: the code, and the id of the log lines. Platforms do not get
/// it.
pub(super) fn add_operator_details(
    mut response: HttpResponse,
    request: &RequestId,
) -> HttpResponse {
    let body = response.extensions_mut().remove::<ErrorBody>();
    let Some(ErrorBody { code, mut members }) = body else {
        return response;
    };
    members.insert("code".to_owned(), Value::from(code.to_string()));
    members.insert("request_id".to_owned(), Value::from(request.as_str()));
    response.set_body(BoxBody::new(Value::from(members).to_string()))
}
