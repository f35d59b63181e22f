//! The broker's own certificate and key, and its TLS configuration.

use std::{io, path::Path, sync::Arc};

use jiff::Timestamp;
use odb_config::TlsFiles;
use rustls::{
    ServerConfig, SignatureAlgorithm, SupportedCipherSuite,
    crypto::{
        CryptoProvider,
        aws_lc_rs::{self, cipher_suite},
    },
    sign::{CertifiedKey, SingleCertAndKey},
    version::{TLS12, TLS13},
};
use rustls_pki_types::{
    CertificateDer, PrivateKeyDer,
    pem::{Error as PemError, PemObject},
};
use tokio::sync::watch;

/// The cipher suites for clients that support at most TLS 1.2 (`spec/contracts/broker-behaviour.md` §1.4). Both need an
/// RSA key.
const SUITES_OF_TLS12: [SupportedCipherSuite; 2] = [
    cipher_suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
];

/// The configuration of new connections. It follows the files.
pub type ServedTls = watch::Receiver<Arc<ServerConfig>>;

#[derive(Debug)]
pub struct OwnTls {
    pub config: ServerConfig,
    pub certificates: Vec<CertificateDer<'static>>,
    pub chain: Vec<OwnCertificate>,
    pub old_clients: OldClients,
}

/// Whether clients that support at most TLS 1.2 can connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldClients {
    Welcome,
    /// It is another one, and the suites of TLS 1.2 need an RSA key.
    LeftOut,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCertificate {
    pub subject: String,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
}

#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("could not read `{file}`")]
    Unreadable {
        file: String,
        #[source]
        source: io::Error,
    },
    #[error("`{file}` has no usable PEM block")]
    NotPem { file: String },
    #[error("the certificate in `{file}` cannot be understood")]
    Malformed { file: String },
    #[error("the certificate in `{file}` expired on {expiry}")]
    Expired { file: String, expiry: Timestamp },
    /// The certificate's time has not come, by the clock of this machine.
    #[error("the certificate in `{file}` begins on {begin}, which is in the future")]
    NotYetValid { file: String, begin: Timestamp },
    #[error("certificate `{certificate}` and key `{key}` cannot be used together")]
    Unusable {
        certificate: String,
        key: String,
        #[source]
        source: rustls::Error,
    },
}

impl CertificateError {
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Expired { .. } => {
                "renew it: put the new chain into `broker.tls.cert_file` (BOSH: `tls.certificate` of the job, then deploy)"
            }
            Self::NotYetValid { .. } => {
                "correct the clock of this machine if it is slow; otherwise configure a certificate that is already valid"
            }
            Self::Unreadable { .. }
            | Self::NotPem { .. }
            | Self::Malformed { .. }
            | Self::Unusable { .. } => {
                "correct the files of `broker.tls`: the chain with the broker's own certificate first, and its key, both PEM"
            }
        }
    }
}

/// Loads certificate and key, and checks that they are valid now.
///
/// With a key that is not RSA, only TLS 1.3 is supported.
pub fn load_tls(files: &TlsFiles) -> Result<OwnTls, CertificateError> {
    let (certificates, chain) = read_chain(&files.certificate)?;
    check_time(&files.certificate, &chain, Timestamp::now())?;
    let key = read_key(&files.key)?;
    let unusable = |source| CertificateError::Unusable {
        certificate: files.certificate.display().to_string(),
        key: files.key.display().to_string(),
        source,
    };
    let provider = Arc::new(provider());
    let certified =
        CertifiedKey::from_der(certificates.clone(), key, &provider).map_err(unusable)?;
    let (versions, old_clients) = if certified.key.algorithm() == SignatureAlgorithm::RSA {
        (&[&TLS13, &TLS12][..], OldClients::Welcome)
    } else {
        (&[&TLS13][..], OldClients::LeftOut)
    };
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map_err(unusable)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(OwnTls {
        config,
        certificates,
        chain,
        old_clients,
    })
}

/// The suites of TLS 1.3, and two of 1.2.
fn provider() -> CryptoProvider {
    let mut provider = aws_lc_rs::default_provider();
    provider
        .cipher_suites
        .retain(|suite| suite.tls13().is_some() || SUITES_OF_TLS12.contains(suite));
    provider
}

pub(crate) fn read_chain(
    file: &Path,
) -> Result<(Vec<CertificateDer<'static>>, Vec<OwnCertificate>), CertificateError> {
    let pem = read(file)?;
    let chain: Result<Vec<_>, PemError> = CertificateDer::pem_slice_iter(&pem).collect();
    let chain = chain.ok().filter(|chain| !chain.is_empty());
    let chain = chain.ok_or_else(|| not_pem(file))?;
    let known: Option<Vec<_>> = chain.iter().map(OwnCertificate::of).collect();
    let malformed = || CertificateError::Malformed {
        file: file.display().to_string(),
    };
    Ok((chain, known.ok_or_else(malformed)?))
}

pub(crate) fn read_key(file: &Path) -> Result<PrivateKeyDer<'static>, CertificateError> {
    PrivateKeyDer::from_pem_slice(&read(file)?).map_err(|_| not_pem(file))
}

impl OwnCertificate {
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
        let validity = certificate.validity();
        Some(Self {
            subject: certificate.subject().to_string(),
            not_before: Timestamp::from_second(validity.not_before.timestamp()).ok()?,
            not_after: Timestamp::from_second(validity.not_after.timestamp()).ok()?,
        })
    }
}

/// Only the broker's own certificate prevents the start: clients may not need the others of the file.
fn check_time(
    file: &Path,
    chain: &[OwnCertificate],
    now: Timestamp,
) -> Result<(), CertificateError> {
    let own = chain.first().ok_or_else(|| not_pem(file))?;
    if now < own.not_before {
        return Err(CertificateError::NotYetValid {
            file: file.display().to_string(),
            begin: own.not_before,
        });
    }
    if own.not_after < now {
        return Err(CertificateError::Expired {
            file: file.display().to_string(),
            expiry: own.not_after,
        });
    }
    Ok(())
}

fn read(file: &Path) -> Result<Vec<u8>, CertificateError> {
    std::fs::read(file).map_err(|source| CertificateError::Unreadable {
        file: file.display().to_string(),
        source,
    })
}

fn not_pem(file: &Path) -> CertificateError {
    CertificateError::NotPem {
        file: file.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate that is valid until then, and a key: the certificate's own by default.
    fn files(folder: &Path, until: i32, key: Option<&rcgen::KeyPair>) -> TlsFiles {
        files_of(folder, 2020, until, key)
    }

    fn files_of(folder: &Path, from: i32, until: i32, key: Option<&rcgen::KeyPair>) -> TlsFiles {
        let own = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::new(["broker.example".to_owned()]).unwrap();
        parameters.not_before = rcgen::date_time_ymd(from, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(until, 1, 1);
        let certificate = parameters.self_signed(&own).unwrap();
        let files = TlsFiles {
            certificate: folder.join("broker.crt"),
            key: folder.join("broker.key"),
        };
        std::fs::write(&files.certificate, certificate.pem()).unwrap();
        std::fs::write(&files.key, key.unwrap_or(&own).serialize_pem()).unwrap();
        files
    }

    #[test]
    fn a_certificate_is_good_until_its_day() {
        let folder = tempfile::tempdir().unwrap();

        assert!(load_tls(&files(folder.path(), 2999, None)).is_ok());

        let error = load_tls(&files(folder.path(), 2021, None)).unwrap_err();
        let reported = error.to_string();
        assert!(reported.contains("broker.crt"), "{reported}");
        assert!(reported.contains("expired on 2021-01-01"), "{reported}");
        assert!(error.remedy().contains("`tls.certificate`"), "{error:?}");
    }

    #[test]
    fn a_certificate_that_begins_in_the_future_is_distinguished_from_one_that_is_over() {
        let folder = tempfile::tempdir().unwrap();

        let error = load_tls(&files_of(folder.path(), 2998, 2999, None)).unwrap_err();

        let reported = error.to_string();
        assert!(reported.contains("begins on 2998-01-01"), "{reported}");
        assert!(error.remedy().contains("clock"), "{error:?}");
    }

    #[test]
    fn version_1_2_is_used_with_an_rsa_key_and_two_suites() {
        let folder = tempfile::tempdir().unwrap();
        let suites: Vec<_> = provider()
            .cipher_suites
            .iter()
            .filter(|suite| suite.tls13().is_none())
            .map(SupportedCipherSuite::suite)
            .collect();
        assert_eq!(
            suites,
            SUITES_OF_TLS12.map(|suite| suite.suite()),
            "in this order"
        );

        let elliptic = load_tls(&files(folder.path(), 2999, None)).unwrap();
        assert_eq!(elliptic.config.alpn_protocols, [b"http/1.1"]);
        assert_eq!(elliptic.chain.len(), 1);
        assert_eq!(elliptic.old_clients, OldClients::LeftOut);
        assert_eq!(
            elliptic.chain[0].not_after,
            "2999-01-01T00:00:00Z".parse().unwrap()
        );
    }

    #[test]
    fn a_key_that_is_another_certificates_is_reported_with_both_files() {
        let folder = tempfile::tempdir().unwrap();
        let other = rcgen::KeyPair::generate().unwrap();

        let error = load_tls(&files(folder.path(), 2999, Some(&other))).unwrap_err();

        let reported = error.to_string();
        assert!(
            reported.contains("broker.crt") && reported.contains("broker.key"),
            "{reported}"
        );
    }

    #[test]
    fn a_file_that_is_missing_or_the_wrong_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let right = files(folder.path(), 2999, None);
        let missing = folder.path().join("missing");
        let path = |file: &Path| file.display().to_string();
        for (certificate, key, expected) in [
            (
                &missing,
                &right.key,
                format!("could not read `{}`", path(&missing)),
            ),
            (
                &right.certificate,
                &missing,
                format!("could not read `{}`", path(&missing)),
            ),
            (
                &right.key,
                &right.key,
                format!("`{}` has no usable PEM block", path(&right.key)),
            ),
            (
                &right.certificate,
                &right.certificate,
                format!("`{}` has no usable PEM block", path(&right.certificate)),
            ),
        ] {
            let files = TlsFiles {
                certificate: certificate.clone(),
                key: key.clone(),
            };
            assert_eq!(load_tls(&files).unwrap_err().to_string(), expected);
        }
    }
}
