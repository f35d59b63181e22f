//! Why there is no answer.

use std::{error::Error, io, sync::Arc};

use super::{Break, HandshakeError};

/// A request got no (complete) answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TransportError {
    /// No connection came about, so nothing was sent.
    #[error("no connection could be established")]
    NotConnected {
        /// The underlying error.
        #[source]
        source: Arc<reqwest::Error>,
    },
    /// The TLS handshake failed, most often because the certificate is not trusted. Nothing was
    /// sent.
    #[error("the TLS handshake failed")]
    Handshake {
        /// The underlying error.
        #[source]
        source: HandshakeError,
    },
    /// The connection broke after the request may have been sent.
    #[error("the connection broke before the answer was complete")]
    Broken {
        /// The underlying error.
        #[source]
        source: Break,
    },
    /// One attempt took longer than [`Limits::attempt`](super::Limits::attempt).
    #[error("no complete answer came within {limit_ms} ms")]
    TooSlow {
        /// The limit in milliseconds.
        limit_ms: u128,
    },
    /// The deadline of the call passed. `sent` says whether the request was under way by then.
    #[error("the time for the whole operation is over")]
    OutOfTime {
        /// Whether the request may have reached the other side.
        sent: bool,
    },
    /// The answer is longer than [`Limits::answer`](super::Limits::answer).
    #[error("the answer is longer than {limit} bytes")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
}

impl TransportError {
    /// Whether the same request may well be answered if it is sent again.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::NotConnected { .. } | Self::Broken { .. } | Self::TooSlow { .. } => true,
            Self::Handshake { .. } | Self::OutOfTime { .. } | Self::TooLong { .. } => false,
        }
    }

    /// Whether the server's certificate was rejected because no trusted authority has signed it.
    pub fn is_unknown_authority(&self) -> bool {
        let Self::Handshake { source } = self else {
            return false;
        };
        matches!(
            *source.0,
            rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer)
        )
    }

    /// Whether the request may have reached the server and taken effect.
    pub fn may_have_been_sent(&self) -> bool {
        match self {
            Self::NotConnected { .. } | Self::Handshake { .. } => false,
            Self::OutOfTime { sent } => *sent,
            Self::Broken { .. } | Self::TooSlow { .. } | Self::TooLong { .. } => true,
        }
    }
}

/// The TLS error among the causes of an error.
pub(super) fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // An I/O error does not return its inner error as `source`.
        cause = match error.downcast_ref().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    None
}

/// A client cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is not one.
    #[error("the address cannot be read")]
    Address {
        /// The underlying error.
        #[source]
        source: url::ParseError,
    },
    /// The address has another scheme than `https` or `http`, no host, or credentials in it.
    #[error(
        "the address must be `https://host[:port]` or `http://host[:port]`, without credentials"
    )]
    AddressForm,
    /// The HTTP library refuses its settings.
    #[error("the HTTP client cannot be set up")]
    Settings {
        /// The underlying error.
        #[source]
        source: reqwest::Error,
    },
}
