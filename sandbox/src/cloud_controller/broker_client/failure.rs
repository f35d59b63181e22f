//! Why a broker did not do what it was asked to, in the words of a Cloud Controller
//! (`spec/contracts/platform-apis.md`, "CC → broker: status handling").

use actix_web::http::StatusCode;
use reqwest::Method;
use serde_json::{Map, Value};

use super::exchange::{RawResponse, Silence};

const TEXT_LIMIT: usize = 16 * 1024;
const CUT_LENGTH: usize = 8 * 1024;
const CUT: &str = "...This message has been truncated due to size. To read the full message, check the broker's logs";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub(crate) struct BrokerFailure {
    pub(crate) kind: BrokerError,
    text: String,
    /// The answer that said so, if there was one.
    pub(crate) exchange: Option<Exchange>,
}

/// A request's method and the status that it was answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) method: Method,
    pub(crate) status: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BrokerError {
    /// The broker did not answer in time.
    Timeout,
    /// The broker cannot be reached.
    Unreachable,
    Disconnected,
    /// 401.
    AuthenticationFailed,
    /// 408.
    AnsweredTimeout,
    /// 409 to a create.
    Conflict,
    Rejected,
    /// A status that says nothing about what the broker has done.
    BadResponse,
    /// A body that is not what it must be.
    Malformed,
    AsyncRequired,
    AppRequired,
    Concurrency,
    MaintenanceInfoConflict,
    InvalidSyslogDrain,
    InvalidVolumeMounts,
    /// The broker creates the binding asynchronously, but the result cannot be retrieved.
    BindingNotRetrievable,
}

impl BrokerError {
    /// The status and the error's name for a request that waited for the broker.
    pub(crate) fn presented(self) -> (StatusCode, &'static str) {
        match self {
            Self::Timeout => (StatusCode::GATEWAY_TIMEOUT, "CF-HttpClientTimeout"),
            Self::AnsweredTimeout => (StatusCode::GATEWAY_TIMEOUT, "CF-ServiceBrokerApiTimeout"),
            Self::Unreachable => (StatusCode::BAD_GATEWAY, "CF-ServiceBrokerApiUnreachable"),
            Self::Disconnected => (StatusCode::INTERNAL_SERVER_ERROR, "CF-HttpRequestError"),
            Self::AuthenticationFailed => (
                StatusCode::BAD_GATEWAY,
                "CF-ServiceBrokerApiAuthenticationFailed",
            ),
            Self::Conflict => (StatusCode::CONFLICT, "CF-ServiceBrokerConflict"),
            Self::Rejected => (StatusCode::BAD_GATEWAY, "CF-ServiceBrokerRequestRejected"),
            Self::BadResponse => (StatusCode::BAD_GATEWAY, "CF-ServiceBrokerBadResponse"),
            Self::Malformed => (StatusCode::BAD_GATEWAY, "CF-ServiceBrokerResponseMalformed"),
            Self::AsyncRequired => (StatusCode::BAD_REQUEST, "CF-AsyncRequired"),
            Self::AppRequired => (StatusCode::BAD_REQUEST, "CF-AppRequired"),
            Self::Concurrency => (StatusCode::UNPROCESSABLE_ENTITY, "CF-ConcurrencyError"),
            Self::MaintenanceInfoConflict => (
                StatusCode::UNPROCESSABLE_ENTITY,
                "CF-MaintenanceInfoConflict",
            ),
            Self::InvalidSyslogDrain => (
                StatusCode::BAD_GATEWAY,
                "CF-ServiceBrokerInvalidSyslogDrainUrl",
            ),
            Self::InvalidVolumeMounts => (
                StatusCode::BAD_GATEWAY,
                "CF-ServiceBrokerInvalidVolumeMounts",
            ),
            Self::BindingNotRetrievable => (StatusCode::BAD_REQUEST, "CF-ServiceBindingInvalid"),
        }
    }
}

impl BrokerFailure {
    pub(super) fn of(kind: BrokerError, text: impl Into<String>, answer: &RawResponse) -> Self {
        Self {
            kind,
            text: text.into(),
            exchange: Some(answer.exchange()),
        }
    }

    /// The broker took its time for a binding that cannot be fetched afterwards.
    pub(crate) fn binding_not_retrievable() -> Self {
        Self {
            kind: BrokerError::BindingNotRetrievable,
            text: "The broker responded asynchronously but does not support fetching binding data"
                .to_owned(),
            exchange: None,
        }
    }

    /// The body is not what it must be.
    pub(super) fn malformed(answer: &RawResponse, what: &str) -> Self {
        Self::of(
            BrokerError::Malformed,
            format!("The service broker returned an invalid response: {what}"),
            answer,
        )
    }

    /// The broker's description, or the complete answer without one.
    pub(super) fn bad_response(answer: &RawResponse) -> Self {
        let text = answer
            .described()
            .unwrap_or_else(|| invalid_response(answer));
        Self::of(BrokerError::BadResponse, cut(text), answer)
    }

    /// The status alone is wrong. A description would be one of success.
    pub(super) fn wrong_success(answer: &RawResponse) -> Self {
        Self::of(
            BrokerError::BadResponse,
            cut(invalid_response(answer)),
            answer,
        )
    }

    pub(super) fn rejected(answer: &RawResponse) -> Self {
        let text = answer.described().unwrap_or_else(|| {
            format!(
                "The service broker rejected the request. Status Code: {}, Body: {}",
                answer.status_line(),
                answer.body
            )
        });
        Self::of(BrokerError::Rejected, text, answer)
    }

    pub(super) fn conflict(answer: &RawResponse) -> Self {
        let text = answer
            .described()
            .map_or_else(|| "Resource conflict".to_owned(), cut);
        Self::of(BrokerError::Conflict, text, answer)
    }

    pub(super) fn unauthenticated(answer: &RawResponse) -> Self {
        let text = "Authentication with the service broker failed. Double-check that the username and password are \
                    correct.";
        Self::of(BrokerError::AuthenticationFailed, text, answer)
    }

    pub(super) fn answered_timeout(answer: &RawResponse) -> Self {
        Self::of(BrokerError::AnsweredTimeout, timed_out(&answer.url), answer)
    }

    pub(super) fn coded(answer: &RawResponse, body: &Map<String, Value>) -> Option<Self> {
        let (kind, text) = match body.get("error")?.as_str()? {
            "AsyncRequired" => (
                BrokerError::AsyncRequired,
                "This service plan requires client support for asynchronous service operations."
                    .to_owned(),
            ),
            "ConcurrencyError" => (
                BrokerError::Concurrency,
                "The service broker could not perform this operation in parallel with other running operations"
                    .to_owned(),
            ),
            "RequiresApp" => (
                BrokerError::AppRequired,
                "This service supports generation of credentials through binding an application only.".to_owned(),
            ),
            "MaintenanceInfoConflict" => (
                BrokerError::MaintenanceInfoConflict,
                maintenance_info_conflict(body),
            ),
            _ => return None,
        };
        Some(Self::of(kind, text, answer))
    }
}

impl From<Silence> for BrokerFailure {
    fn from(silence: Silence) -> Self {
        let (kind, text) = match silence {
            Silence::Timeout { url } => (BrokerError::Timeout, timed_out(&url)),
            Silence::Unreachable { url } => (
                BrokerError::Unreachable,
                format!("The service broker could not be reached: {url}"),
            ),
            Silence::Disconnected { cause } => (BrokerError::Disconnected, cause),
        };
        Self {
            kind,
            text,
            exchange: None,
        }
    }
}

fn timed_out(url: &str) -> String {
    format!("The request to the service broker timed out: {url}")
}

fn invalid_response(answer: &RawResponse) -> String {
    format!(
        "The service broker returned an invalid response. Status Code: {}, Body: {}",
        answer.status_line(),
        answer.body
    )
}

fn maintenance_info_conflict(body: &Map<String, Value>) -> String {
    match body.get("description").and_then(Value::as_str) {
        Some(description) if !description.trim().is_empty() => {
            format!("Service broker error: {description}")
        }
        _ => "The service broker did not provide a reason for this conflict, please ensure the catalog is up to date \
              and you are providing a version supported by this service plan"
            .to_owned(),
    }
}

fn cut(mut text: String) -> String {
    if text.len() <= TEXT_LIMIT {
        return text;
    }
    text.truncate(text.floor_char_boundary(CUT_LENGTH));
    text + CUT
}
