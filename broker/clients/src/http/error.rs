//! Why there is no answer, in sentences for an operator.

use std::{error::Error, fmt, io, sync::Arc};

use jiff::{Timestamp, tz::TimeZone};
use rustls::CertificateError;
use rustls_pki_types::UnixTime;

/// A request got no (complete) answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TransportError {
    /// No connection came about, so nothing was sent.
    #[error("no connection could be established")]
    NotConnected {
        #[source]
        source: Arc<reqwest::Error>,
    },
    /// The TLS handshake failed, most often because the certificate is not trusted. Nothing was
    /// sent.
    #[error("the TLS handshake failed")]
    Handshake {
        #[source]
        source: HandshakeError,
    },
    /// The connection broke after the request may have been sent.
    #[error("the connection broke before the answer was complete")]
    Broken {
        #[source]
        source: Break,
    },
    /// One attempt took longer than [`Limits::attempt`](super::Limits::attempt).
    #[error("no complete answer came within {limit_ms} ms")]
    TooSlow { limit_ms: u128 },
    /// The deadline of the call passed. `sent` says whether the request was under way by then.
    #[error("the time limit of the whole operation was reached")]
    OutOfTime {
        /// Whether the request may have reached the other side.
        sent: bool,
    },
    /// The answer is longer than [`Limits::answer`](super::Limits::answer).
    #[error("the answer is longer than {limit} bytes")]
    TooLong { limit: usize },
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

/// An error and its causes, with the errors that I/O errors wrap and do not return as their `source`.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn Error + 'static)| {
        let error: &'a (dyn Error + 'static) = *error;
        match error.downcast_ref().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped as &(dyn Error + 'static)),
            None => error.source(),
        }
    })
}

/// The TLS error among the causes of an error.
pub(super) fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("the address cannot be read")]
    Address {
        #[source]
        source: url::ParseError,
    },
    /// The address has another scheme than `https` or `http`, no host, or credentials in it.
    #[error(
        "the address must be `https://host[:port]` or `http://host[:port]`, without credentials"
    )]
    AddressForm,
    #[error("the HTTP client cannot be set up")]
    Settings {
        #[source]
        source: reqwest::Error,
    },
}

#[derive(Clone, Debug)]
pub struct HandshakeError(pub(super) Arc<rustls::Error>);

impl Error for HandshakeError {}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            rustls::Error::InvalidCertificate(error) => certificate(error, f),
            rustls::Error::InvalidMessage(_) => f.write_str("the server does not use TLS"),
            other => write!(f, "{other}"),
        }
    }
}

fn certificate(error: &CertificateError, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match error {
        CertificateError::Expired => f.write_str("a certificate of the server has expired"),
        CertificateError::ExpiredContext { not_after, .. } => write!(
            f,
            "a certificate of the server has expired on {}",
            day(*not_after)
        ),
        CertificateError::NotValidYet => {
            f.write_str("a certificate of the server is not valid yet")
        }
        CertificateError::NotValidYetContext { not_before, .. } => write!(
            f,
            "a certificate of the server begins on {}, which is in the future",
            day(*not_before)
        ),
        CertificateError::NotValidForName => {
            f.write_str("the server's certificate is for another name")
        }
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => {
            let names: Vec<_> = presented.iter().map(|name| bare(name)).collect();
            let names = if names.is_empty() {
                "no name at all".to_owned()
            } else {
                format!("`{}`", names.join("`, `"))
            };
            let expected = expected.to_str();
            write!(
                f,
                "the server's certificate is for {names}, not for `{expected}`"
            )
        }
        CertificateError::UnknownIssuer => {
            f.write_str("no trusted authority has signed the server's certificate")
        }
        _ if is_of_a_namesake(error) => f.write_str(
            "a trusted authority has the name of the one that signed the server's certificate, but another key",
        ),
        _ if is_of_an_authority(error) => f.write_str(
            "the server's certificate is that of an authority (`CA:TRUE`), which is accepted only where it is configured itself",
        ),
        other => write!(f, "the server's certificate is not accepted: {other}"),
    }
}

/// Whether a server shows an authority's certificate that another owner has signed.
pub fn is_of_an_authority(error: &CertificateError) -> bool {
    // webpki's error; rustls has no variant of its own for it.
    matches!(error, CertificateError::Other(error) if error.0.to_string() == "CaUsedAsEndEntity")
}

/// Whether a certificate is signed by another authority with the name of a trusted one: with another key, or with one
/// of another kind.
pub fn is_of_a_namesake(error: &CertificateError) -> bool {
    matches!(
        error,
        CertificateError::BadSignature
            | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. }
    )
}

/// The name in rustls' debug text, such as `DnsName("a.example")`.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').map_or(name, |(_, rest)| rest);
    inner.trim_end_matches(')').trim_matches('"')
}

fn day(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).ok();
    let time = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.map_or_else(
        || "a day that cannot be read".to_owned(),
        |time| time.to_zoned(TimeZone::UTC).date().to_string(),
    )
}

#[derive(Clone, Debug)]
pub struct Break(pub(super) Arc<reqwest::Error>);

impl Break {
    /// The server closed the connection without a TLS `close_notify`. The text of rustls has a link to its own documents.
    fn is_truncated(&self) -> bool {
        let mut causes = causes(self.0.as_ref()).filter_map(|cause| cause.downcast_ref());
        causes.any(|error: &io::Error| {
            error.kind() == io::ErrorKind::UnexpectedEof
                && error.to_string().contains("close_notify")
        })
    }
}

impl Error for Break {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        if self.is_truncated() {
            None
        } else {
            self.0.source()
        }
    }
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_truncated() {
            f.write_str("the other side closed it in the middle")
        } else {
            write!(f, "{}", self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustls_pki_types::ServerName;

    use super::*;

    #[test]
    fn what_is_wrong_with_a_certificate_is_reported_in_words_and_days() {
        let time = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let (now, other) = (time(1_795_310_487), time(1_600_000_000));
        for (error, reported) in [
            (
                CertificateError::ExpiredContext {
                    time: now,
                    not_after: other,
                },
                "a certificate of the server has expired on 2020-09-13",
            ),
            (
                CertificateError::NotValidYetContext {
                    time: other,
                    not_before: now,
                },
                "a certificate of the server begins on 2026-11-22, which is in the future",
            ),
            (
                CertificateError::NotValidForNameContext {
                    expected: ServerName::try_from("a.example").unwrap(),
                    presented: vec![
                        "DnsName(\"b.example\")".to_owned(),
                        "IpAddress(10.0.0.1)".to_owned(),
                    ],
                },
                "the server's certificate is for `b.example`, `10.0.0.1`, not for `a.example`",
            ),
            (
                CertificateError::UnknownIssuer,
                "no trusted authority has signed the server's certificate",
            ),
            (
                CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext {
                    signature_algorithm_id: vec![1],
                    public_key_algorithm_id: vec![2],
                },
                "a trusted authority has the name of the one that signed the server's certificate, but another key",
            ),
        ] {
            let error = HandshakeError(Arc::new(rustls::Error::InvalidCertificate(error)));
            assert_eq!(error.to_string(), reported);
        }
    }
}
