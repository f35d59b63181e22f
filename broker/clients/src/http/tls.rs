//! TLS errors, in sentences for an operator.

use std::{error::Error, fmt, io, sync::Arc};

use jiff::{Timestamp, tz::TimeZone};
use rustls::CertificateError;
use rustls_pki_types::UnixTime;

/// Why a TLS handshake failed.
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
        CertificateError::Expired => f.write_str("a certificate of the server has ended"),
        CertificateError::ExpiredContext { not_after, .. } => write!(
            f,
            "a certificate of the server has ended on {}",
            day(*not_after)
        ),
        CertificateError::NotValidYet => {
            f.write_str("a certificate of the server begins in the future")
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

/// The day in UTC.
fn day(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).ok();
    let time = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.map_or_else(
        || "a day that cannot be read".to_owned(),
        |time| time.to_zoned(TimeZone::UTC).date().to_string(),
    )
}

/// How a connection broke.
#[derive(Clone, Debug)]
pub struct Break(pub(super) Arc<reqwest::Error>);

impl Break {
    /// The server closed the connection without a TLS `close_notify`. The text of rustls has a link to its own documents.
    fn is_truncated(&self) -> bool {
        let mut cause: Option<&(dyn Error + 'static)> = Some(self.0.as_ref());
        while let Some(error) = cause {
            let io = error.downcast_ref::<io::Error>();
            if io.is_some_and(|io| {
                io.kind() == io::ErrorKind::UnexpectedEof && io.to_string().contains("close_notify")
            }) {
                return true;
            }
            cause = match io.and_then(io::Error::get_ref) {
                Some(wrapped) => Some(wrapped),
                None => error.source(),
            };
        }
        false
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
                "a certificate of the server has ended on 2020-09-13",
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
