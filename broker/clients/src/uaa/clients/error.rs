//! What can go wrong with the administration of clients.

use crate::{
    http::{Method, Name, StatusCode, TransportError, UnreadableAnswer, Words, is_transient},
    uaa::TokenError,
};

/// A call about a client had no good end.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ClientAdministrationError {
    /// No (complete) answer came.
    #[error("UAA did not answer `{method} {path}`")]
    NoAnswer {
        /// What was asked.
        method: Method,
        /// Where.
        path: String,
        /// What happened instead.
        #[source]
        source: TransportError,
    },
    /// UAA said no.
    #[error(
        "UAA refused `{method} {path}` with status {status}{}{}",
        Name(error),
        Words(description)
    )]
    Refused {
        /// What was asked.
        method: Method,
        /// Where.
        path: String,
        /// The answer's status.
        status: StatusCode,
        /// UAA's code, such as `invalid_client`; empty if it gave none.
        error: String,
        /// UAA's explanation, or the start of the body; 2 KiB at most.
        description: String,
    },
    /// The answer is not what UAA's contract says.
    #[error("UAA's answer to `{method} {path}` was not understood")]
    NotUnderstood {
        /// What was asked.
        method: Method,
        /// Where.
        path: String,
        /// What is wrong with it.
        #[source]
        source: UnreadableAnswer,
    },
    /// There is no token to ask with.
    #[error("there is no token for the administration of clients")]
    NoToken {
        /// What UAA said.
        #[source]
        source: TokenError,
    },
    /// The deadline of the call passed.
    #[error("the time was over before UAA had answered `{method} {path}`")]
    OutOfTime {
        /// What was asked.
        method: Method,
        /// Where.
        path: String,
        /// Whether the request may have reached the UAA.
        sent: bool,
    },
}

impl ClientAdministrationError {
    /// Whether the same call may well succeed later. Repeats within the call have been made.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::NoAnswer { source, .. } => source.is_transient(),
            Self::Refused { status, .. } => {
                is_transient(*status)
                    || status.is_server_error()
                    || *status == StatusCode::TOO_MANY_REQUESTS
            }
            Self::NoToken { source } => source.is_transient(),
            Self::OutOfTime { .. } => true,
            Self::NotUnderstood { .. } => false,
        }
    }

    /// Whether it was the call's own deadline that ended it.
    pub fn is_out_of_time(&self) -> bool {
        match self {
            Self::OutOfTime { .. } => true,
            Self::NoToken { source } => source.is_out_of_time(),
            Self::NoAnswer { .. } | Self::Refused { .. } | Self::NotUnderstood { .. } => false,
        }
    }

    /// Whether UAA does not let us administer clients.
    pub fn is_missing_right(&self) -> bool {
        matches!(self, Self::Refused { status, .. } if *status == StatusCode::FORBIDDEN)
    }

    /// Whether the request may have taken effect all the same.
    pub fn may_have_taken_effect(&self) -> bool {
        match self {
            Self::NoAnswer { source, .. } => source.may_have_been_sent(),
            Self::Refused { status, .. } => status.is_server_error(),
            Self::NotUnderstood { .. } => true,
            Self::NoToken { .. } => false,
            Self::OutOfTime { sent, .. } => *sent,
        }
    }
}

/// A client was not created.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CreateClientError {
    /// There is a client with this id.
    #[error("the client exists already")]
    Exists,
    /// UAA did not do it, or nobody knows.
    #[error(transparent)]
    Administration(#[from] ClientAdministrationError),
}
