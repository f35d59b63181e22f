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
use odb_api_types::{
    code::Code,
    ids::{InvalidId, RequestId},
};
use serde_json::{Map, Value};

use crate::{
    offering::InvalidParameters,
    operations::{CountError, Cut},
    telemetry::{Chain, redact},
};

/// How soon a platform may try again after the broker ran out of time.
const TRY_AGAIN: Duration = Duration::from_secs(30);

/// A request turned down: one half for the platform user, one for the operator.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    code: Code,
    /// The word for machines, where the specification has one.
    error: Option<&'static str>,
    for_user: String,
    for_operator: Option<Box<dyn Error + Send + Sync>>,
    retry_after: Option<Duration>,
    /// The half for the user is the adapter's own message.
    adapter_spoke: bool,
    /// Whoever asks is told by the status alone.
    is_without_body: bool,
    /// The methods that the path knows.
    allowed: Option<&'static str>,
}

impl Refusal {
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
    pub(super) fn told_by_status(status: StatusCode, code: Code) -> Self {
        let mut refusal = Self::new(status, code, "");
        refusal.is_without_body = true;
        refusal
    }

    /// With the word that the specification has for it.
    pub(super) fn named(self, error: &'static str) -> Self {
        Self {
            error: Some(error),
            ..self
        }
    }

    /// The adapter's own message for the user.
    pub(super) fn of_adapter(for_user: String) -> Self {
        let mut refusal = Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            Code::AdapterFailed,
            for_user,
        );
        refusal.adapter_spoke = true;
        refusal
    }

    /// With the cause, for the operator's log.
    pub(super) fn because(self, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            for_operator: Some(error.into()),
            ..self
        }
    }

    pub(super) fn unauthorized() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            Code::Unauthorized,
            "Not authorized: give the broker's user name and password.",
        )
    }

    pub(super) fn malformed(for_user: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Code::MalformedRequest, for_user)
    }

    pub(super) fn invalid_parameters(error: InvalidParameters) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            Code::InvalidParameters,
            format!("The parameters do not fit the plan: {error}."),
        )
        .because(error)
    }

    pub(super) fn invalid_id(what: &str, error: InvalidId) -> Self {
        Self::malformed(format!("The id of the {what} cannot be used: {error}.")).because(error)
    }

    pub(super) fn too_large(limit: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            Code::TooLarge,
            format!("The body of the request is larger than {limit} bytes."),
        )
    }

    pub(super) fn no_such_path() -> Self {
        Self::new(StatusCode::NOT_FOUND, Code::Route, "There is no such path.")
    }

    pub(super) fn wrong_method(allowed: &'static str) -> Self {
        let mut refusal = Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            Code::Route,
            "This path does not know this method.",
        );
        refusal.allowed = Some(allowed);
        refusal
    }

    pub(super) fn async_required(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            Code::AsyncRequired,
            "This service plan requires client support for asynchronous service operations.",
        )
        .named("AsyncRequired")
        .because(error)
    }

    pub(super) fn busy(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            Code::Busy,
            "Another operation on this service instance is in progress. Try again when it has ended.",
        )
        .named("ConcurrencyError")
        .because(error)
    }

    pub(super) fn out_of_time(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let mut refusal = Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            Code::OutOfTime,
            "The request took too long and was stopped before anything was changed. Try again later.",
        )
        .because(error);
        refusal.retry_after = Some(TRY_AGAIN);
        refusal
    }

    pub(super) fn unsteady_count(error: CountError) -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            error.code(),
            "The service instances changed while they were counted, and the order was stopped before anything was changed. Try \
             again later.",
        )
        .for_now()
        .because(error)
    }

    pub(super) fn stopping(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let mut refusal = Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            Code::Stopping,
            "The broker is being restarted. Try again in a moment.",
        )
        .because(error);
        refusal.retry_after = Some(TRY_AGAIN);
        refusal
    }

    /// The request's task was cut off, and nobody is concerned but the operator who asks.
    pub(super) fn cut_off(cut: Cut) -> Self {
        match cut {
            Cut::Off(_) => Self::unattended().because(cut),
            Cut::Stopping => Self::stopping(cut),
        }
    }

    pub(super) fn slow_client() -> Self {
        Self::new(
            StatusCode::REQUEST_TIMEOUT,
            Code::SlowClient,
            "The request did not arrive in time.",
        )
    }

    pub(super) fn too_many_headers() -> Self {
        Self::new(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Code::TooLarge,
            "The request has more headers, or longer ones, than are read.",
        )
    }

    pub(super) fn address_too_long(limit: usize) -> Self {
        Self::new(
            StatusCode::URI_TOO_LONG,
            Code::TooLarge,
            format!("The address of the request is longer than {limit} bytes."),
        )
    }

    pub(super) fn unknown_expectation() -> Self {
        Self::new(
            StatusCode::EXPECTATION_FAILED,
            Code::MalformedRequest,
            "The header Expect asks for something else than `100-continue`.",
        )
    }

    /// A mistake in how the application is put together.
    pub(super) fn unattended() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            Code::Internal,
            "There was a problem completing your request.",
        )
    }

    /// With something that the user is told before all the rest.
    pub(super) fn told_first(self, text: &str) -> Self {
        Self {
            for_user: format!("{text} {}", self.for_user),
            ..self
        }
    }

    pub(super) fn with_code(self, code: Code) -> Self {
        Self { code, ..self }
    }

    pub(super) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// The answer has begun, and is cut off.
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

    /// The answer to a request whose lines in the log may be left out.
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
            // The adapter has told the user what to do; nobody needs to be woken up.
            tracing::warn!(%code, http.status = status, error = %cause, for_user = %redact(&self.for_user), "request refused");
        } else if self.status.is_server_error() || self.status == StatusCode::TOO_MANY_REQUESTS {
            tracing::error!(%code, http.status = status, error = %cause, "request refused");
        } else {
            tracing::info!(%code, http.status = status, error = %cause, "request refused");
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, self.status)
    }
}

impl ResponseError for Refusal {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    /// A failed request is logged with its answer.
    fn error_response(&self) -> HttpResponse {
        self.answer_unless(false)
    }
}

impl Refusal {
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
        // Gone means gone: platforms expect an empty object.
        if self.status != StatusCode::GONE {
            body.insert(
                "description".to_owned(),
                Value::from(self.for_user.as_str()),
            );
        }
        let mut response = response.json(&body);
        let told = Told {
            code: self.code,
            body,
        };
        response.extensions_mut().insert(told);
        response
    }
}

/// What has been answered, kept with the answer for [`tell_operators`].
struct Told {
    code: Code,
    body: Map<String, Value>,
}

/// Adds to the answer, if it is a refusal, what operators and their errands tell reasons by, and what the log has the cause
/// under. Platforms do not get it.
pub(super) fn tell_operators(mut response: HttpResponse, request: &RequestId) -> HttpResponse {
    let told = response.extensions_mut().remove::<Told>();
    let Some(Told { code, mut body }) = told else {
        return response;
    };
    body.insert("code".to_owned(), Value::from(code.to_string()));
    body.insert("request_id".to_owned(), Value::from(request.as_str()));
    response.set_body(BoxBody::new(Value::from(body).to_string()))
}

#[cfg(test)]
mod tests {
    use odb_platform::cloud_controller::CloudControllerError;

    use super::*;
    use crate::operations::SourceError;

    #[test]
    fn a_count_that_never_stands_still_is_worth_another_try() {
        let error = SourceError::CloudController(CloudControllerError::ListChanging {
            path: "/v3/service_instances".to_owned(),
            passes: 5,
        });
        let error = CountError::Source(error);
        assert!(error.is_unsteady());

        let response = Refusal::unsteady_count(error).error_response();

        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        let after = response.headers().get(header::RETRY_AFTER).unwrap();
        assert_eq!(after, "30");
    }
}
