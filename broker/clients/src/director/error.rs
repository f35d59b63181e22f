//! What can go wrong with a call to the Director.

use crate::{
    http::{Method, StatusCode, TransportError, UnreadableAnswer, Words, is_transient},
    uaa::TokenError,
};

/// A call to the Director had no good end.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DirectorError {
    /// No (complete) answer came.
    #[error("the Director did not answer `{method} {path}`")]
    NoAnswer {
        /// What was asked.
        method: Method,
        /// Where.
        path: String,
        /// What happened instead.
        #[source]
        source: TransportError,
    },
    /// The Director said no.
    #[error(
        "the Director refused `{method} {path}` with status {status}{}",
        Words(description)
    )]
    Refused {
        /// What was asked.
        method: Method,
        /// Where.
        path: String,
        /// The answer's status.
        status: StatusCode,
        /// The Director's own code (`spec/contracts/director-api.md`, "Errors"), if it gave one.
        code: Option<u64>,
        /// The Director's words, 2 KiB at most.
        description: String,
    },
    /// The answer is not what the Director's contract says.
    #[error("the Director's answer to `{method} {path}` was not understood")]
    NotUnderstood {
        /// What was asked.
        method: Method,
        /// Where.
        path: String,
        /// What is wrong with it.
        #[source]
        source: UnreadableAnswer,
    },
    /// The Director does not know the broker: the plain-text 401, again after a new token.
    #[error("the Director did not accept the broker's credentials for `{method} {path}`")]
    Unauthenticated {
        /// What was asked.
        method: Method,
        /// Where.
        path: String,
    },
    /// The Director knows the broker and does not let it: the 401 with code 600000.
    #[error(
        "the Director does not allow the broker `{method} {path}`{}",
        Words(description)
    )]
    NotAllowed {
        /// What was asked.
        method: Method,
        /// Where.
        path: String,
        /// The scopes that would do, in the Director's words.
        description: String,
    },
    /// There is no token to ask with.
    #[error("there is no token for the Director")]
    NoToken {
        /// What UAA said.
        #[source]
        source: TokenError,
    },
    /// The deadline of the call passed.
    #[error("the time was over before the Director had answered `{method} {path}`")]
    OutOfTime {
        /// What was asked.
        method: Method,
        /// Where.
        path: String,
        /// Whether the Director may have got the request.
        sent: bool,
    },
}

impl DirectorError {
    /// Whether the same call may well succeed later. Repeats within the call have been made.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::NoAnswer { source, .. } => source.is_transient(),
            Self::Refused { status, .. } => is_transient(*status),
            Self::NoToken { source } => source.is_transient(),
            Self::OutOfTime { .. } => true,
            Self::NotUnderstood { .. } | Self::Unauthenticated { .. } | Self::NotAllowed { .. } => {
                false
            }
        }
    }

    /// Whether the Director certainly has not acted upon the request.
    pub fn has_changed_nothing(&self) -> bool {
        match self {
            Self::NoAnswer { source, .. } => !source.may_have_been_sent(),
            // A proxy answers so when the Director behind it died or was too slow.
            Self::Refused { status, .. } => !status.is_server_error(),
            Self::NotAllowed { .. } | Self::Unauthenticated { .. } | Self::NoToken { .. } => true,
            Self::NotUnderstood { .. } => false,
            Self::OutOfTime { sent, .. } => !sent,
        }
    }

    /// The Director's own code, if it gave one.
    pub fn code(&self) -> Option<u64> {
        match self {
            Self::Refused { code, .. } => *code,
            Self::NotAllowed { .. } => Some(code::NOT_ALLOWED),
            Self::NoAnswer { .. }
            | Self::NotUnderstood { .. }
            | Self::Unauthenticated { .. }
            | Self::NoToken { .. }
            | Self::OutOfTime { .. } => None,
        }
    }

    /// Whether it is a refusal with this status and code.
    pub(super) fn is(&self, expected: StatusCode, expected_code: u64) -> bool {
        matches!(self, Self::Refused { status, code: Some(code), .. }
            if *status == expected && *code == expected_code)
    }
}

/// Work was not started, or it is not known whether it was.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SubmitError {
    /// The Director did not get the request: nothing has taken effect.
    #[error("the request was not sent to the Director")]
    NotSent {
        /// Why.
        #[source]
        source: DirectorError,
    },
    /// The Director may have got the request. Look for a task of the context id before anything
    /// is sent again.
    #[error("it is not known whether the Director has started the task")]
    LostAnswer {
        /// What became of the answer.
        #[source]
        source: DirectorError,
    },
    /// The Director said no: nothing has taken effect.
    #[error(
        "the Director refused `{asked}` with status {status}{}",
        Words(description)
    )]
    Refused {
        /// What it was asked for, such as `POST /deployments`.
        asked: String,
        /// The answer's status.
        status: StatusCode,
        /// The Director's own code, if it gave one.
        code: Option<u64>,
        /// The Director's words, 2 KiB at most.
        description: String,
    },
}

impl From<DirectorError> for SubmitError {
    fn from(error: DirectorError) -> Self {
        match error {
            DirectorError::NoAnswer { ref source, .. } if source.may_have_been_sent() => {
                Self::LostAnswer { source: error }
            }
            DirectorError::OutOfTime { sent: true, .. } | DirectorError::NotUnderstood { .. } => {
                Self::LostAnswer { source: error }
            }
            // A proxy answers so when the Director behind it died or was too slow, and the Director
            // when it failed half-way.
            DirectorError::Refused { status, .. } if status.is_server_error() => {
                Self::LostAnswer { source: error }
            }
            DirectorError::Refused {
                method,
                path,
                status,
                code,
                description,
            } => Self::Refused {
                asked: format!("{method} {path}"),
                status,
                code,
                description,
            },
            DirectorError::NotAllowed {
                method,
                path,
                description,
            } => Self::Refused {
                asked: format!("{method} {path}"),
                status: StatusCode::UNAUTHORIZED,
                code: Some(code::NOT_ALLOWED),
                description,
            },
            DirectorError::Unauthenticated { method, path } => Self::Refused {
                asked: format!("{method} {path}"),
                status: StatusCode::UNAUTHORIZED,
                code: None,
                description: "the Director did not accept the broker's credentials".to_owned(),
            },
            DirectorError::NoAnswer { .. }
            | DirectorError::NoToken { .. }
            | DirectorError::OutOfTime { .. } => Self::NotSent { source: error },
        }
    }
}

/// Codes of the Director that mean something to a method here.
pub(super) mod code {
    pub(in crate::director) const NO_SUCH_TASK: u64 = 10_000;
    pub(in crate::director) const NO_SUCH_DEPLOYMENT: u64 = 70_000;
    pub(in crate::director) const NO_SUCH_CONFIG: u64 = 440_012;
    pub(in crate::director) const NO_SUCH_LINK: u64 = 810_000;
    pub(in crate::director) const NOT_ALLOWED: u64 = 600_000;
}
