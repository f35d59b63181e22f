//! The certificate authority of one sandbox. Every server of the foundation has a certificate of it.

use std::{net::IpAddr, sync::Arc};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, SanType,
};
use rustls::{ClientConfig, RootCertStore, ServerConfig, crypto::aws_lc_rs};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use secrecy::{ExposeSecret, SecretString};

const YEARS_VALID: i32 = 2;

/// Signs the certificates of the servers. Made at start, with a key that never leaves the process.
pub struct CertificateAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate for a server and its private key (ECDSA P-256).
pub struct ServerCertificate {
    /// The certificate, PEM.
    pub certificate: String,
    /// The private key, PEM (PKCS #8).
    pub key: SecretString,
    chain: Vec<CertificateDer<'static>>,
    key_der: PrivatePkcs8KeyDer<'static>,
}

/// A key or certificate could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// Making a key or signing failed.
    #[error("could not make a certificate for `{subject}`")]
    Make {
        /// The common name.
        subject: String,
        /// What the library said.
        #[source]
        source: rcgen::Error,
    },
    /// The TLS library does not take the certificate.
    #[error("could not set up TLS")]
    Tls(#[source] rustls::Error),
}

impl CertificateAuthority {
    /// A new authority with a common name.
    pub fn new(name: &str) -> Result<Self, CertificateError> {
        let mut params = dated(name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = new_key()
            .and_then(|key| CertifiedIssuer::self_signed(params, key))
            .map_err(|source| CertificateError::Make {
                subject: name.to_owned(),
                source,
            })?;
        Ok(Self { issuer })
    }

    /// The certificate of the authority, PEM: what clients of the foundation trust.
    pub fn certificate(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate for a server that is reached at these addresses.
    pub fn server(
        &self,
        name: &str,
        addresses: &[IpAddr],
    ) -> Result<ServerCertificate, CertificateError> {
        let make = || {
            let mut params = dated(name);
            params.subject_alt_names = addresses.iter().copied().map(SanType::IpAddress).collect();
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            params.use_authority_key_identifier_extension = true;
            let key = new_key()?;
            let certificate = params.signed_by(&key, &self.issuer)?;
            Ok(ServerCertificate {
                certificate: certificate.pem(),
                key: key.serialize_pem().into(),
                chain: vec![certificate.der().clone()],
                key_der: PrivatePkcs8KeyDer::from(key.serialize_der()),
            })
        };
        make().map_err(|source| CertificateError::Make {
            subject: name.to_owned(),
            source,
        })
    }

    /// TLS for a client that trusts this authority and no other.
    pub fn client_tls(&self) -> Result<ClientConfig, CertificateError> {
        let mut roots = RootCertStore::empty();
        roots
            .add(self.issuer.der().clone())
            .map_err(CertificateError::Tls)?;
        Ok(
            ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
                .with_safe_default_protocol_versions()
                .map_err(CertificateError::Tls)?
                .with_root_certificates(roots)
                .with_no_client_auth(),
        )
    }
}

impl ServerCertificate {
    /// TLS for the server that has this certificate.
    pub fn server_tls(&self) -> Result<ServerConfig, CertificateError> {
        ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| {
                config.with_no_client_auth().with_single_cert(
                    self.chain.clone(),
                    PrivateKeyDer::Pkcs8(self.key_der.clone_key()),
                )
            })
            .map_err(CertificateError::Tls)
    }

    /// Certificate and key in one text, as servers that read one file want it.
    pub fn bundle(&self) -> SecretString {
        format!("{}{}", self.certificate, self.key.expose_secret()).into()
    }
}

fn new_key() -> Result<KeyPair, rcgen::Error> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)
}

fn dated(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    let year = i32::from(
        jiff::Timestamp::now()
            .to_zoned(jiff::tz::TimeZone::UTC)
            .year(),
    );
    // From the year's first day: a clock that is a little behind still finds the certificate valid.
    params.not_before = rcgen::date_time_ymd(year, 1, 1);
    params.not_after = rcgen::date_time_ymd(year + YEARS_VALID, 1, 1);
    params
}
