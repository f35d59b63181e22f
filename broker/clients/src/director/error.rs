//! Errors at the start of a task.

use crate::{
    http::{StatusCode, Words},
    service_error::{FailureKind, ServiceError},
};

/// Work was not started, or it is not known whether it was.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SubmitError {
    /// The Director did not receive the request: nothing has taken effect.
    #[error("the request was not sent to the Director")]
    NotSent {
        /// Why.
        #[source]
        source: ServiceError,
    },
    /// The Director may have got the request. Look for a task of the context id before anything
    /// is sent again.
    #[error("it is not known whether the Director has started the task")]
    LostAnswer {
        /// The error of the answer.
        #[source]
        source: ServiceError,
    },
    /// The Director rejected the request: nothing has taken effect.
    #[error(
        "the Director refused `{asked}` with status {status}{}",
        Words(description)
    )]
    Refused {
        /// The request, such as `POST /deployments`.
        asked: String,
        /// The answer's status.
        status: StatusCode,
        /// The Director's own code, if it gave one.
        code: Option<u64>,
        /// The Director's words, 2 KiB at most.
        description: String,
    },
}

impl From<ServiceError> for SubmitError {
    fn from(error: ServiceError) -> Self {
        if error.may_have_taken_effect() {
            return Self::LostAnswer { source: error };
        }
        let asked = format!("{} {}", error.method(), error.path());
        let (status, code, description) = match error.kind {
            FailureKind::Refused {
                status,
                code,
                description,
                ..
            } => (status, code, description),
            FailureKind::NotAllowed { description } => {
                (StatusCode::UNAUTHORIZED, Some(NOT_ALLOWED), description)
            }
            FailureKind::Unauthenticated => {
                let description = "the Director did not accept the broker's credentials";
                (StatusCode::UNAUTHORIZED, None, description.to_owned())
            }
            _ => return Self::NotSent { source: error },
        };
        Self::Refused {
            asked,
            status,
            code,
            description,
        }
    }
}

/// Whether the Director has no such thing, as its code has it.
pub(super) fn is_missing(error: &ServiceError, code: u64) -> bool {
    error.status() == Some(StatusCode::NOT_FOUND) && error.code() == Some(code)
}

/// The Director's code for missing permissions.
pub(crate) const NOT_ALLOWED: u64 = 600_000;

/// Codes of the Director that mean something to a method here.
pub(super) mod code {
    pub(in crate::director) const NO_SUCH_TASK: u64 = 10_000;
    pub(in crate::director) const NO_SUCH_DEPLOYMENT: u64 = 70_000;
    pub(in crate::director) const NO_SUCH_CONFIG: u64 = 440_012;
    pub(in crate::director) const NO_SUCH_LINK: u64 = 810_000;
}
