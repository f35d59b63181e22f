//! What can go wrong with a call to the Cloud Controller.

use crate::{
    http::{Method, StatusCode, TransportError, UnreadableAnswer, is_transient},
    uaa::TokenError,
};

/// A call to the Cloud Controller had no good end.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CloudControllerError {
    /// No (complete) answer came.
    #[error("the Cloud Controller did not answer `{method} {path}`")]
    NoAnswer {
        /// What was asked.
        method: Method,
        /// Where.
        path: String,
        /// What happened instead.
        #[source]
        source: TransportError,
    },
    /// The Cloud Controller said no.
    #[error(
        "the Cloud Controller refused `{method} {path}` with status {status}, `{title}`: `{detail}`"
    )]
    Refused {
        /// What was asked.
        method: Method,
        /// Where.
        path: String,
        /// The answer's status.
        status: StatusCode,
        /// The code of its first error (`spec/contracts/platform-apis.md`, sections 3.2 and 4.1).
        code: Option<u64>,
        /// The title of its first error, such as `CF-NotAuthorized`; empty if there is none.
        title: String,
        /// What its first error says, or the start of the body; 2 KiB at most.
        detail: String,
    },
    /// The answer is not what the Cloud Controller's contract says.
    #[error("the Cloud Controller's answer to `{method} {path}` was not understood")]
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
    #[error("there is no token for the Cloud Controller")]
    NoToken {
        /// What UAA said.
        #[source]
        source: TokenError,
    },
    /// It offers no version of its API that this client speaks.
    #[error(
        "the Cloud Controller offers no API that is spoken here: v3 is {}, of which `3.95` or newer is needed, v2 is {}, of \
         which `2.57` or newer is needed",
        found(v3.as_deref()), found(v2.as_deref())
    )]
    NoUsableVersion {
        /// The version 3 that it tells of.
        v3: Option<String>,
        /// The version 2 that it tells of.
        v2: Option<String>,
    },
    /// A list has more pages than can be right.
    #[error("the Cloud Controller's list `{path}` does not end")]
    EndlessList {
        /// The list.
        path: String,
    },
    /// The deadline of the call passed.
    #[error("the time was over before the Cloud Controller had answered `{method} {path}`")]
    OutOfTime {
        /// What was asked.
        method: Method,
        /// Where.
        path: String,
    },
}

impl CloudControllerError {
    /// Whether the same call may well succeed later. Repeats within the call have been made.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::NoAnswer { source, .. } => source.is_transient(),
            Self::Refused { status, .. } => {
                is_transient(*status) || *status == StatusCode::TOO_MANY_REQUESTS
            }
            Self::NoToken { source } => source.is_transient(),
            Self::OutOfTime { .. } => true,
            Self::NotUnderstood { .. }
            | Self::NoUsableVersion { .. }
            | Self::EndlessList { .. } => false,
        }
    }
}

fn found(version: Option<&str>) -> String {
    version.map_or_else(|| "none".to_owned(), |version| format!("`{version}`"))
}
