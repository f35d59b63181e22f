//! What can go wrong with a call to CredHub.

use crate::{
    http::{StatusCode, TransportError, UnreadableAnswer, Words, is_transient},
    uaa::TokenError,
};

/// A call to CredHub had no good end.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CredHubError {
    /// No (complete) answer came.
    #[error("CredHub at `{host}` did not answer `{asked}`")]
    NoAnswer {
        /// The server.
        host: String,
        /// What was asked, such as `GET /api/v1/data?name=/a`.
        asked: String,
        /// What happened instead.
        #[source]
        source: TransportError,
    },
    /// CredHub said no.
    ///
    /// 404 means that a credential is not there or that the client may not see it; 403 that it may
    /// not write, or that its token lacks `credhub.read` or `credhub.write`.
    #[error(
        "CredHub at `{host}` refused `{asked}` with status {status}{}",
        Words(description)
    )]
    Refused {
        /// The server.
        host: String,
        /// What was asked.
        asked: String,
        /// The answer's status.
        status: StatusCode,
        /// CredHub's words, 2 KiB at most.
        description: String,
    },
    /// The answer is not what CredHub's contract says.
    #[error("the answer of CredHub at `{host}` to `{asked}` was not understood")]
    NotUnderstood {
        /// The server.
        host: String,
        /// What was asked.
        asked: String,
        /// What is wrong with it.
        #[source]
        source: UnreadableAnswer,
    },
    /// There is no token to ask with.
    #[error("there is no token for CredHub at `{host}`")]
    NoToken {
        /// The server.
        host: String,
        /// What UAA said.
        #[source]
        source: Box<TokenError>,
    },
    /// The deadline of the call passed.
    #[error("the time was over before CredHub at `{host}` had answered `{asked}`")]
    OutOfTime {
        /// The server.
        host: String,
        /// What was asked.
        asked: String,
        /// Whether CredHub may have got the request.
        sent: bool,
    },
}

impl CredHubError {
    /// Whether the same call may well succeed later. Repeats within the call have been made.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::NoAnswer { source, .. } => source.is_transient(),
            Self::Refused { status, .. } => {
                is_transient(*status) || *status == StatusCode::TOO_MANY_REQUESTS
            }
            Self::NoToken { source, .. } => source.is_transient(),
            Self::OutOfTime { .. } => true,
            Self::NotUnderstood { .. } => false,
        }
    }

    /// Whether CredHub certainly has not acted upon the request.
    pub fn has_changed_nothing(&self) -> bool {
        match self {
            Self::NoAnswer { source, .. } => !source.may_have_been_sent(),
            Self::Refused { status, .. } => !status.is_server_error(),
            Self::NoToken { .. } => true,
            Self::NotUnderstood { .. } => false,
            Self::OutOfTime { sent, .. } => !sent,
        }
    }

    pub(super) fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            Self::NoAnswer { .. }
            | Self::NotUnderstood { .. }
            | Self::NoToken { .. }
            | Self::OutOfTime { .. } => None,
        }
    }
}
