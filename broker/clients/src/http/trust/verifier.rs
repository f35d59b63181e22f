//! Verifies a server by configured certificates and the operating system's store.

use std::{
    fmt,
    sync::{Arc, LazyLock},
    time::Duration,
};

use rustls::{
    CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature},
    server::ParsedCertificate,
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject};
use x509_parser::{certificate::X509Certificate, parse_x509_certificate};

use super::TrustError;

/// The verifier of the operating system's store, or the first error if there is none.
pub(super) type Store = Result<Arc<WebPkiServerVerifier>, Option<Arc<rustls_native_certs::Error>>>;

/// The operating system's store. It is read on first use, and once: reading some hundred files takes milliseconds and
/// memory, and where all certificates are configured nothing needs it.
pub(super) static SYSTEM_STORE: LazyLock<Store> = LazyLock::new(|| {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Old certificates that cannot be parsed are common in such stores, and harmless.
    let (added, _ignored) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        return Err(found.errors.into_iter().next().map(Arc::new));
    }
    verifier_of(roots).map_err(|_| None)
});

/// Checks that the server holds the key of its certificate, and that the policy accepts it.
pub(super) struct Verifier {
    pub(super) policy: Policy,
    pub(super) provider: Arc<CryptoProvider>,
}

/// Which certificates are accepted.
pub(super) enum Policy {
    Anyone,
    Known(CertificateDer<'static>),
    /// By configured certificates, and by the operating system's store where those do not suffice.
    Anchored {
        configured: Option<Configured>,
        system: Option<&'static LazyLock<Store>>,
    },
}

/// Certificates of a PEM text. Each is trusted itself, as with Go; those of authorities also for the certificates that
/// they have signed.
pub(super) struct Configured {
    certificates: Vec<CertificateDer<'static>>,
    /// Absent if none of them is an authority's.
    authorities: Option<Arc<WebPkiServerVerifier>>,
}

impl Configured {
    pub(super) fn read(pem: &str) -> Result<Self, TrustError> {
        let mut certificates = Vec::new();
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            let certificate = certificate.map_err(|source| TrustError::Pem { source })?;
            let checked = if may_sign(&certificate) {
                roots.add(certificate.clone())
            } else {
                ParsedCertificate::try_from(&certificate).map(|_| ())
            };
            let position = certificates.len() + 1;
            checked.map_err(|source| TrustError::Certificate { position, source })?;
            certificates.push(certificate);
        }
        if certificates.is_empty() {
            return Err(TrustError::NoCertificate);
        }
        let authorities = (!roots.is_empty())
            .then(|| verifier_of(roots))
            .transpose()?;
        Ok(Self {
            certificates,
            authorities,
        })
    }

    fn verify(&self, shown: &Shown<'_, '_>) -> Result<ServerCertVerified, rustls::Error> {
        if self.certificates.contains(shown.own) {
            return shown.verify_itself();
        }
        match &self.authorities {
            Some(authorities) => shown.verify_by(authorities),
            None => Err(CertificateError::UnknownIssuer.into()),
        }
    }
}

/// Whether a certificate may sign others: a server's key must not be valid for every name. Certificates before version
/// 3 do not say so; unreadable ones are rejected when they are added to the authorities.
fn may_sign(certificate: &CertificateDer<'_>) -> bool {
    parse_x509_certificate(certificate).map_or(true, |(_, read)| {
        read.version().0 < X509_VERSION_3 || read.is_ca()
    })
}

/// How X.509 writes version 3.
const X509_VERSION_3: u32 = 2;

fn verifier_of(roots: RootCertStore) -> Result<Arc<WebPkiServerVerifier>, TrustError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|source| TrustError::Authorities { source })
}

impl Policy {
    fn verify(&self, shown: &Shown<'_, '_>) -> Result<ServerCertVerified, rustls::Error> {
        let (configured, system) = match self {
            Self::Anyone => return Ok(ServerCertVerified::assertion()),
            Self::Known(certificate) if shown.own == certificate => {
                return Ok(ServerCertVerified::assertion());
            }
            Self::Known(_) => {
                return Err(CertificateError::ApplicationVerificationFailure.into());
            }
            Self::Anchored { configured, system } => (configured, system),
        };
        let unknown: rustls::Error = CertificateError::UnknownIssuer.into();
        let by_configured = match configured {
            Some(configured) => configured.verify(shown),
            None => Err(unknown.clone()),
        };
        let Err(refused) = by_configured else {
            return by_configured;
        };
        // Reading the store blocks for a few milliseconds, once in a process. A machine without one trusts the
        // configured certificates.
        let Some(Ok(system)) = system.map(LazyLock::force) else {
            return Err(refused);
        };
        shown.verify_by(system).map_err(|by_system| {
            // Whichever knows the issuer has the reason.
            if by_system == unknown {
                refused
            } else {
                by_system
            }
        })
    }
}

/// The certificates of a server, with its name and the time.
struct Shown<'a, 'b> {
    own: &'a CertificateDer<'b>,
    others: &'a [CertificateDer<'b>],
    name: &'a ServerName<'a>,
    ocsp: &'a [u8],
    now: UnixTime,
}

impl Shown<'_, '_> {
    fn verify_by(
        &self,
        verifier: &WebPkiServerVerifier,
    ) -> Result<ServerCertVerified, rustls::Error> {
        verifier.verify_server_cert(self.own, self.others, self.name, self.ocsp, self.now)
    }

    /// Verifies that a certificate is for this server and valid now. Its issuer does not matter, because it is trusted
    /// itself.
    fn verify_itself(&self) -> Result<ServerCertVerified, rustls::Error> {
        let (_, read) =
            parse_x509_certificate(self.own).map_err(|_| CertificateError::BadEncoding)?;
        self.verify_time(&read)?;
        verify_purpose(&read)?;
        verify_server_name(&ParsedCertificate::try_from(self.own)?, self.name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_time(&self, read: &X509Certificate<'_>) -> Result<(), CertificateError> {
        let time = |seconds: i64| {
            UnixTime::since_unix_epoch(Duration::from_secs(seconds.try_into().unwrap_or_default()))
        };
        let validity = read.validity();
        let not_before = time(validity.not_before.timestamp());
        let not_after = time(validity.not_after.timestamp());
        if self.now < not_before {
            return Err(CertificateError::NotValidYetContext {
                time: self.now,
                not_before,
            });
        }
        if not_after < self.now {
            return Err(CertificateError::ExpiredContext {
                time: self.now,
                not_after,
            });
        }
        Ok(())
    }
}

/// Where a certificate names purposes, serving is one of them.
fn verify_purpose(read: &X509Certificate<'_>) -> Result<(), CertificateError> {
    match read.extended_key_usage() {
        Ok(None) => Ok(()),
        Ok(Some(usage)) if usage.value.server_auth || usage.value.any => Ok(()),
        Ok(Some(_)) => Err(CertificateError::InvalidPurpose),
        Err(_) => Err(CertificateError::BadEncoding),
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.policy.verify(&Shown {
            own: end_entity,
            others: intermediates,
            name: server_name,
            ocsp: ocsp_response,
            now,
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
