//! The certificates by which apps are known: each container has one, signed by an authority of its own, that names the
//! app (`spec/contracts/platform-apis.md`, "Authentication").

use std::{any::Any, sync::Arc};

use actix_tls::accept::rustls_0_23::TlsStream;
use actix_web::{dev::Extensions, rt::net::TcpStream};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};
use rustls::{
    RootCertStore,
    crypto::aws_lc_rs,
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use rustls_pki_types::{CertificateDer, pem::PemObject};
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

const NAME: &str = "instanceIdentityCA";
const YEARS_VALID: i32 = 2;

pub struct InstanceIdentity {
    /// The certificate, PEM.
    certificate: String,
    key: SecretString,
    issuer: Issuer<'static, KeyPair>,
}

pub struct AppCertificate {
    /// The certificate, PEM.
    pub certificate: String,
    /// The private key, PEM (PKCS #8).
    pub key: SecretString,
}

/// The certificate that a client has shown. It is one that the server trusts.
#[derive(Clone)]
pub(crate) struct PeerCertificate(pub(crate) CertificateDer<'static>);

/// A certificate could not be made or used.
#[derive(Debug, thiserror::Error)]
pub enum InstanceIdentityError {
    #[error("could not make a certificate")]
    Make(#[source] rcgen::Error),
    #[error("could not read the saved certificate")]
    Read(#[source] rcgen::Error),
    #[error("could not trust the certificate")]
    Trust,
}

impl InstanceIdentity {
    pub fn new() -> Result<Self, InstanceIdentityError> {
        let make = || {
            let (params, key) = (authority(), new_key()?);
            let certificate = params.self_signed(&key)?;
            Ok(Self {
                certificate: certificate.pem(),
                key: key.serialize_pem().into(),
                issuer: Issuer::new(params, key),
            })
        };
        make().map_err(InstanceIdentityError::Make)
    }

    /// The saved authority, by its certificate and key.
    pub fn from_pem(certificate: String, key: SecretString) -> Result<Self, InstanceIdentityError> {
        let pair = KeyPair::from_pem(key.expose_secret()).map_err(InstanceIdentityError::Read)?;
        Ok(Self {
            certificate,
            key,
            issuer: Issuer::new(authority(), pair),
        })
    }

    /// The certificate of the authority, PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The private key of the authority, PEM: its owner can impersonate any app.
    pub fn key(&self) -> &SecretString {
        &self.key
    }

    pub fn app(&self, app: Uuid) -> Result<AppCertificate, InstanceIdentityError> {
        let mut params = dated(&Uuid::new_v4().to_string());
        params
            .distinguished_name
            .push(DnType::OrganizationalUnitName, format!("app:{app}"));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ClientAuth,
            ExtendedKeyUsagePurpose::ServerAuth,
        ];
        let sign = || {
            let key = new_key()?;
            let certificate = params.signed_by(&key, &self.issuer)?;
            Ok(AppCertificate {
                certificate: certificate.pem(),
                key: key.serialize_pem().into(),
            })
        };
        sign().map_err(InstanceIdentityError::Make)
    }

    /// Lets clients in with a certificate of an app, and without any.
    pub fn verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, InstanceIdentityError> {
        let der = CertificateDer::from_pem_slice(self.certificate.as_bytes())
            .map_err(|_| InstanceIdentityError::Trust)?;
        let mut roots = RootCertStore::empty();
        roots.add(der).map_err(|_| InstanceIdentityError::Trust)?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider)
            .allow_unauthenticated()
            .build()
            .map_err(|_| InstanceIdentityError::Trust)?;
        Ok(verifier)
    }
}

/// Records the client certificate of a new connection for the handlers of its requests.
pub(crate) fn note_peer(connection: &dyn Any, extensions: &mut Extensions) {
    let Some(tls) = connection.downcast_ref::<TlsStream<TcpStream>>() else {
        return;
    };
    let (_, session) = tls.get_ref();
    if let Some(shown) = session.peer_certificates().and_then(<[_]>::first) {
        extensions.insert(PeerCertificate(shown.clone().into_owned()));
    }
}

fn authority() -> CertificateParams {
    let mut params = dated(NAME);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn new_key() -> Result<KeyPair, rcgen::Error> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)
}

fn dated(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let year = i32::from(now.year());
    // From the year's first day: a clock that is a little behind still finds the certificate valid.
    params.not_before = rcgen::date_time_ymd(year, 1, 1);
    params.not_after = rcgen::date_time_ymd(year + YEARS_VALID, 1, 1);
    params
}
