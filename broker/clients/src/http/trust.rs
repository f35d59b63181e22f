//! The certificates that a client trusts.

mod system;
mod verifier;

use std::{fmt, sync::Arc};

use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        VerifierBuilderError, WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature},
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject};

use self::{
    system::SystemStore,
    verifier::{Configured, Verifier},
};

/// The certificates that a client trusts. Cheap to clone.
///
/// As with Go, a configured certificate makes a server trusted that presents that very certificate, whether or not it
/// is an authority's.
///
/// The system's store is the one of OpenSSL (`/etc/ssl/certs` on Debian; `SSL_CERT_FILE` and `SSL_CERT_DIR` change it).
#[derive(Clone)]
pub struct Trust {
    config: Arc<ClientConfig>,
    judge: Arc<dyn ServerCertVerifier>,
    verified: bool,
}

/// No trust can be established.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The system has no usable store of certificates.
    #[error("the system's certificate store has no usable certificate")]
    NoSystemStore {
        /// The first thing that went wrong in reading it, if anything did.
        #[source]
        source: Option<Arc<rustls_native_certs::Error>>,
    },
    /// The text is no PEM.
    #[error("the certificate authority is not PEM")]
    Pem {
        /// The underlying error.
        #[source]
        source: rustls_pki_types::pem::Error,
    },
    /// The PEM has no certificate in it.
    #[error("the certificate authority's PEM has no certificate in it")]
    NoCertificate,
    /// A certificate cannot be an anchor of trust.
    #[error("certificate {position} of the certificate authority cannot be used")]
    Certificate {
        /// Which one of the PEM, from 1.
        position: usize,
        /// The underlying error.
        #[source]
        source: rustls::Error,
    },
    /// The TLS library refuses the settings.
    #[error("TLS cannot be set up")]
    Tls {
        /// The underlying error.
        #[source]
        source: rustls::Error,
    },
    /// The TLS library refuses the authorities.
    #[error("the authorities cannot be used")]
    Authorities {
        /// The underlying error.
        #[source]
        source: VerifierBuilderError,
    },
}

impl Trust {
    /// Trusts the operating system's authorities.
    pub fn system() -> Result<Self, TrustError> {
        let store = SystemStore::of_this_machine();
        // It will be needed. An empty one is to be reported now, not with the first connection.
        store
            .verifier()
            .map_err(|source| TrustError::NoSystemStore { source })?;
        Self::anchored_in(None, Some(store))
    }

    /// Believes the certificates of a PEM text and no others.
    pub fn only(pem: &str) -> Result<Self, TrustError> {
        Self::anchored_in(Some(Configured::read(pem)?), None)
    }

    /// Trusts the certificates of a PEM text and the operating system's authorities.
    ///
    /// The operating system's store is read when the PEM text does not suffice for a server's certificate. A machine
    /// without a store is not an error.
    pub fn system_and(pem: &str) -> Result<Self, TrustError> {
        let store = SystemStore::of_this_machine();
        Self::anchored_in(Some(Configured::read(pem)?), Some(store))
    }

    /// Trusts only a server that presents the first certificate of a PEM text and has its key, under any name. For a
    /// server whose own certificate is at hand.
    pub fn of_this_certificate(pem: &str) -> Result<Self, TrustError> {
        let first = CertificateDer::pem_slice_iter(pem.as_bytes()).next();
        let certificate = match first {
            Some(Ok(certificate)) => certificate,
            Some(Err(source)) => return Err(TrustError::Pem { source }),
            None => return Err(TrustError::NoCertificate),
        };
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = KnownServer {
            certificate,
            signatures: AcceptAnyServer(provider.clone()),
        };
        Self::new(provider, Arc::new(verifier), true)
    }

    /// Trusts every server. For an operator who has turned verification off.
    pub fn unverified() -> Result<Self, TrustError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = Arc::new(AcceptAnyServer(provider.clone()));
        Self::new(provider, verifier, false)
    }

    /// The TLS configuration for this trust.
    pub fn client_config(&self) -> ClientConfig {
        (*self.config).clone()
    }

    /// Whether a server with this name and these certificates, its own first, is trusted at a time.
    pub fn judge(
        &self,
        shown: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        let Some((own, others)) = shown.split_first() else {
            return Err(rustls::Error::NoCertificatesPresented);
        };
        self.judge
            .verify_server_cert(own, others, name, &[], now)
            .map(|_| ())
    }

    fn anchored_in(
        configured: Option<Configured>,
        system: Option<SystemStore>,
    ) -> Result<Self, TrustError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = Verifier {
            configured,
            system,
            signatures: AcceptAnyServer(provider.clone()),
        };
        Self::new(provider, Arc::new(verifier), true)
    }

    fn new(
        provider: Arc<CryptoProvider>,
        judge: Arc<dyn ServerCertVerifier>,
        verified: bool,
    ) -> Result<Self, TrustError> {
        // The provider is named here, so that no process-wide default has to be installed first.
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
            .map_err(|source| TrustError::Tls { source })?
            .dangerous()
            .with_custom_certificate_verifier(judge.clone())
            .with_no_client_auth();
        Ok(Self {
            config: Arc::new(config),
            judge,
            verified,
        })
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust")
            .field("verified", &self.verified)
            .finish_non_exhaustive()
    }
}

fn verifier_of(roots: RootCertStore) -> Result<Arc<WebPkiServerVerifier>, TrustError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|source| TrustError::Authorities { source })
}

/// Takes any certificate, but still checks that the server holds its key.
#[derive(Debug)]
struct AcceptAnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnyServer {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Takes one certificate, and checks that the server holds its key.
#[derive(Debug)]
struct KnownServer {
    certificate: CertificateDer<'static>,
    signatures: AcceptAnyServer,
}

impl ServerCertVerifier for KnownServer {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if *end_entity == self.certificate {
            Ok(ServerCertVerified::assertion())
        } else {
            let error = rustls::CertificateError::ApplicationVerificationFailure;
            Err(rustls::Error::InvalidCertificate(error))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signatures
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signatures
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signatures.supported_verify_schemes()
    }
}
