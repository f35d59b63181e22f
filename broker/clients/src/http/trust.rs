//! The certificates that a client trusts.

mod verifier;

use std::{fmt, sync::Arc};

use rustls::{
    ClientConfig,
    client::{VerifierBuilderError, danger::ServerCertVerifier as _},
    crypto::aws_lc_rs,
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject};

use self::verifier::{Configured, Policy, SYSTEM_STORE, Verifier};

/// The certificates that a client trusts. Cheap to clone.
///
/// As with Go, a configured certificate makes a server trusted that presents that very certificate, whether or not it
/// is an authority's.
///
/// The system's store is the one of OpenSSL (`/etc/ssl/certs` on Debian; `SSL_CERT_FILE` and `SSL_CERT_DIR` change it).
#[derive(Clone)]
pub struct Trust {
    config: Arc<ClientConfig>,
    verifier: Arc<Verifier>,
}

#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("the system's certificate store has no usable certificate")]
    NoSystemStore {
        /// The first thing that went wrong in reading it, if anything did.
        #[source]
        source: Option<Arc<rustls_native_certs::Error>>,
    },
    #[error("the certificate authority is not PEM")]
    Pem {
        #[source]
        source: rustls_pki_types::pem::Error,
    },
    #[error("the certificate authority's PEM has no certificate in it")]
    NoCertificate,
    #[error("certificate {position} of the certificate authority cannot be used")]
    Certificate {
        /// From 1.
        position: usize,
        #[source]
        source: rustls::Error,
    },
    #[error("TLS cannot be set up")]
    Tls {
        #[source]
        source: rustls::Error,
    },
    #[error("the authorities cannot be used")]
    Authorities {
        #[source]
        source: VerifierBuilderError,
    },
}

impl Trust {
    /// Trusts the operating system's authorities.
    pub fn system() -> Result<Self, TrustError> {
        // It will be needed. An empty one is to be reported now, not with the first connection.
        if let Err(source) = &*SYSTEM_STORE {
            let source = source.clone();
            return Err(TrustError::NoSystemStore { source });
        }
        Self::new(Policy::Anchored {
            configured: None,
            system: Some(&SYSTEM_STORE),
        })
    }

    /// Trusts the certificates of a PEM text and no others.
    pub fn only(pem: &str) -> Result<Self, TrustError> {
        Self::new(Policy::Anchored {
            configured: Some(Configured::read(pem)?),
            system: None,
        })
    }

    /// Trusts the certificates of a PEM text and the operating system's authorities.
    ///
    /// The operating system's store is read when the PEM text does not suffice for a server's certificate. A machine
    /// without a store is not an error.
    pub fn system_and(pem: &str) -> Result<Self, TrustError> {
        Self::new(Policy::Anchored {
            configured: Some(Configured::read(pem)?),
            system: Some(&SYSTEM_STORE),
        })
    }

    /// Trusts only a server that presents the first certificate of a PEM text and has its key, under any name. For a
    /// server whose own certificate is at hand.
    pub fn of_this_certificate(pem: &str) -> Result<Self, TrustError> {
        match CertificateDer::pem_slice_iter(pem.as_bytes()).next() {
            Some(Ok(certificate)) => Self::new(Policy::Known(certificate)),
            Some(Err(source)) => Err(TrustError::Pem { source }),
            None => Err(TrustError::NoCertificate),
        }
    }

    /// Trusts every server. For an operator who has turned verification off.
    pub fn unverified() -> Result<Self, TrustError> {
        Self::new(Policy::Anyone)
    }

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
        self.verifier
            .verify_server_cert(own, others, name, &[], now)
            .map(|_| ())
    }

    fn new(policy: Policy) -> Result<Self, TrustError> {
        // The provider is named here, so that no process-wide default has to be installed first.
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = Arc::new(Verifier {
            policy,
            provider: provider.clone(),
        });
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
            .map_err(|source| TrustError::Tls { source })?
            .dangerous()
            .with_custom_certificate_verifier(verifier.clone())
            .with_no_client_auth();
        Ok(Self {
            config: Arc::new(config),
            verifier,
        })
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust").finish_non_exhaustive()
    }
}
