//! Why there is no token.

use crate::http::{Name, StatusCode, TransportError, UnreadableAnswer, Words, is_transient};

/// There is no token.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TokenError {
    /// UAA did not answer.
    #[error("UAA at `{host}` did not answer `POST /oauth/token`")]
    NoAnswer {
        /// UAA's host.
        host: String,
        /// What happened instead.
        #[source]
        source: TransportError,
    },
    /// UAA said no.
    #[error(
        "UAA at `{host}` refused `POST /oauth/token` with status {status}{}{}",
        Name(error),
        Words(description)
    )]
    Refused {
        /// UAA's host.
        host: String,
        /// The answer's status.
        status: StatusCode,
        /// UAA's code, such as `invalid_client`; empty if it gave none.
        error: String,
        /// UAA's explanation, or the start of the body.
        description: String,
    },
    /// UAA's answer holds no token.
    #[error("the answer of UAA at `{host}` to `POST /oauth/token` holds no token")]
    NotUnderstood {
        /// UAA's host.
        host: String,
        /// What is wrong with it.
        #[source]
        source: UnreadableAnswer,
    },
    /// A token or credentials cannot be put into a header.
    #[error("the credentials or the token cannot be sent in a header")]
    Unusable,
    /// The deadline of the call passed while somebody else was asking for the token.
    #[error("the time for the whole operation is over, and the token has not come yet")]
    OutOfTime,
}

impl TokenError {
    /// Whether the same request may well be answered if it is made again later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::NoAnswer { source, .. } => source.is_transient(),
            Self::Refused { status, .. } => is_transient(*status),
            Self::NotUnderstood { .. } | Self::Unusable | Self::OutOfTime => false,
        }
    }

    /// Whether it was the call's own deadline that ended it.
    pub fn is_out_of_time(&self) -> bool {
        matches!(
            self,
            Self::OutOfTime
                | Self::NoAnswer {
                    source: TransportError::OutOfTime { .. },
                    ..
                }
        )
    }
}
