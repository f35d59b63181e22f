//! What can go wrong between an errand and the broker.

use odb_clients::http::{
    ClientError, Method, StatusCode, TransportError, UnreadableAnswer, UnsendableCredentials,
};

use odb_api_types::code::Code;

use crate::trust::UnusableTrust;

/// The broker's client cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum BrokerApiSetUpError {
    /// The address or the HTTP client's settings are wrong.
    #[error("the broker's client cannot be set up")]
    Client(#[source] ClientError),
    /// The name or the password cannot be put into a header.
    #[error("the credentials for the broker cannot be used")]
    Credentials(#[source] UnsendableCredentials),
    /// The trust root cannot be used.
    #[error(transparent)]
    Trust(#[from] UnusableTrust),
}

/// A request to the broker had no good end.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BrokerApiError {
    /// No (complete) answer came.
    #[error("the broker at `{server}` did not answer `{method} {path}`")]
    NoAnswer {
        /// Where the broker is said to be.
        server: String,
        /// The request's method.
        method: Method,
        /// Its path, without the query.
        path: String,
        /// What happened instead.
        #[source]
        source: TransportError,
    },
    /// The broker said no.
    #[error(
        "HTTP response status: {status} from `{method} {path}`{}",
        told(description)
    )]
    Refused {
        /// The request's method.
        method: Method,
        /// Its path, without the query.
        path: String,
        /// The answer's status.
        status: StatusCode,
        /// Its `description`, or the start of its body; 2 KiB at most, and often empty.
        description: String,
        /// The broker's own code, such as `ODB-1001`. A Go broker has none, nor has what stands before the broker.
        code: Option<RefusalCode>,
    },
    /// The answer is not what it should be.
    #[error("the broker's answer to `{method} {path}` was not understood")]
    NotUnderstood {
        /// The request's method.
        method: Method,
        /// Its path, without the query.
        path: String,
        /// What is wrong with it.
        #[source]
        source: UnreadableAnswer,
    },
}

/// The code that a broker has put into its refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusalCode {
    /// One that we know.
    Known(Code),
    /// One of a newer broker.
    Newer(String),
}

impl From<String> for RefusalCode {
    fn from(text: String) -> Self {
        let known = Code::ALL.iter().find(|code| code.to_string() == text);
        known.map_or(Self::Newer(text), |code| Self::Known(*code))
    }
}

impl BrokerApiError {
    /// The status, where the broker has answered with one that is no success.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            Self::NoAnswer { .. } | Self::NotUnderstood { .. } => None,
        }
    }

    /// Whether the broker has refused with this code.
    pub fn has_code(&self, wanted: Code) -> bool {
        matches!(self, Self::Refused { code: Some(RefusalCode::Known(code)), .. } if *code == wanted)
    }

    /// Whether the broker, such as a Go broker, has no such route: it has answered 404 or 405 without a code of ours, or said
    /// so.
    pub fn is_unknown_route(&self) -> bool {
        let is_nobodys = matches!(
            self,
            Self::Refused {
                status: StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED,
                code: None,
                ..
            }
        );
        is_nobodys || self.has_code(Code::Route)
    }

    /// Whether the broker itself says that what was asked for is not there (any more). A router that knows of no broker answers
    /// 404, too, without a code.
    pub fn is_gone(&self) -> bool {
        match self.status() {
            Some(StatusCode::GONE) => true,
            Some(StatusCode::NOT_FOUND) => self.has_code(Code::NotFound),
            _ => false,
        }
    }

    /// Whether a question that the broker has answered before may well be answered again: passing trouble, or the 404 of a router
    /// while the broker is being restarted.
    pub fn may_pass(&self) -> bool {
        let is_of_a_router = matches!(
            self,
            Self::Refused {
                status: StatusCode::NOT_FOUND,
                code: None,
                ..
            }
        );
        is_of_a_router || self.is_transient()
    }

    /// Whether the same request may well be answered later. Repeats within the request have been made.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::NoAnswer { source, .. } => {
                source.is_transient() || matches!(source, TransportError::OutOfTime { .. })
            }
            Self::Refused { status, .. } => {
                status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS
            }
            Self::NotUnderstood { .. } => false,
        }
    }

    /// Whether the request may have reached the broker, and so have taken effect.
    pub fn may_have_been_sent(&self) -> bool {
        match self {
            Self::NoAnswer { source, .. } => source.may_have_been_sent(),
            Self::Refused { .. } | Self::NotUnderstood { .. } => true,
        }
    }
}

fn told(description: &str) -> String {
    if description.is_empty() {
        String::new()
    } else {
        format!(": `{description}`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: StatusCode, code: Option<&str>) -> BrokerApiError {
        BrokerApiError::Refused {
            method: Method::GET,
            path: "/x".to_owned(),
            status,
            description: String::new(),
            code: code.map(|code| RefusalCode::from(code.to_owned())),
        }
    }

    #[test]
    fn only_the_broker_itself_says_that_something_is_gone() {
        let not_found = Code::NotFound.to_string();
        for (status, code, is_gone, may_pass) in [
            (StatusCode::NOT_FOUND, Some(&*not_found), true, false),
            (StatusCode::GONE, None, true, false),
            (StatusCode::GONE, Some(&*not_found), true, false),
            (StatusCode::NOT_FOUND, None, false, true),
            (StatusCode::NOT_FOUND, Some("ODB-9999"), false, false),
            (StatusCode::BAD_GATEWAY, None, false, true),
            (StatusCode::FORBIDDEN, None, false, false),
        ] {
            let error = refused(status, code);
            assert_eq!(error.is_gone(), is_gone, "{error:?}");
            assert_eq!(error.may_pass(), may_pass, "{error:?}");
        }
    }

    #[test]
    fn an_unknown_route_is_told_by_nobody_or_by_the_broker() {
        let route = Code::Route.to_string();
        assert!(refused(StatusCode::NOT_FOUND, None).is_unknown_route());
        assert!(refused(StatusCode::NOT_FOUND, Some(&route)).is_unknown_route());
        assert!(!refused(StatusCode::NOT_FOUND, Some("ODB-9999")).is_unknown_route());
    }
}
