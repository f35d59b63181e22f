//! The certificate authority of one sandbox. Every server of the foundation has a certificate of it.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
    ops::Range,
    sync::Arc,
};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, SanType,
};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig, crypto::aws_lc_rs, server::NoServerSessionStorage,
    sign::CertifiedKey,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, pem::PemObject};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};

use crate::faults::{CertificateFlaw, Faults, Presented, ServerName};

const YEARS_VALID: i32 = 2;
/// An address for documentation only (RFC 5737), at which no server of a sandbox can be.
const OTHER_HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

pub struct CertificateAuthority {
    name: String,
    /// The certificate, PEM.
    certificate: String,
    der: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

/// An authority as it is kept over restarts.
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedAuthority {
    name: String,
    certificate: String,
    #[serde(serialize_with = "exposed")]
    key: SecretString,
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
    #[error("could not make a certificate for `{subject}`")]
    Make {
        subject: String,
        #[source]
        source: rcgen::Error,
    },
    #[error("what was saved of the certificate authority `{subject}` cannot be used")]
    Unusable { subject: String },
    #[error("could not set up TLS")]
    Tls(#[source] rustls::Error),
}

impl CertificateAuthority {
    pub fn new(name: &str) -> Result<Self, CertificateError> {
        let make = || {
            let (params, key) = (authority_params(name), new_key()?);
            let certificate = params.self_signed(&key)?;
            Ok(Self {
                name: name.to_owned(),
                certificate: certificate.pem(),
                der: certificate.der().clone(),
                issuer: Issuer::new(params, key),
            })
        };
        make().map_err(|source| CertificateError::Make {
            subject: name.to_owned(),
            source,
        })
    }

    pub fn from_saved(saved: &SavedAuthority) -> Result<Self, CertificateError> {
        let unusable = || CertificateError::Unusable {
            subject: saved.name.clone(),
        };
        let der =
            CertificateDer::from_pem_slice(saved.certificate.as_bytes()).map_err(|_| unusable())?;
        let key = KeyPair::from_pem(saved.key.expose_secret()).map_err(|_| unusable())?;
        Ok(Self {
            name: saved.name.clone(),
            certificate: saved.certificate.clone(),
            der,
            issuer: Issuer::new(authority_params(&saved.name), key),
        })
    }

    /// The state to save in order to restore the same authority.
    pub fn to_saved(&self) -> SavedAuthority {
        SavedAuthority {
            name: self.name.clone(),
            certificate: self.certificate.clone(),
            key: self.issuer.key().serialize_pem().into(),
        }
    }

    /// The certificate of the authority, PEM: what clients of the foundation trust.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// A certificate for a server that is reached at these addresses.
    pub fn server(
        &self,
        name: &str,
        addresses: &[IpAddr],
    ) -> Result<ServerCertificate, CertificateError> {
        self.sign(name, addresses, valid_years())
    }

    /// The certificate that a server presents, and those that it presents under an injected fault.
    pub(crate) fn presented(
        &self,
        server: ServerName,
        name: &str,
        address: IpAddr,
        faults: Faults,
    ) -> Result<Presented, CertificateError> {
        let this_year = valid_years().start;
        let flawed = [
            (
                CertificateFlaw::OtherHost,
                self.sign(name, &[OTHER_HOST], valid_years())?,
            ),
            (
                CertificateFlaw::Expired,
                self.sign(name, &[address], this_year - YEARS_VALID..this_year)?,
            ),
            (
                CertificateFlaw::UnknownAuthority,
                // Of the same name, as after an authority was replaced.
                Self::new(&self.name)?.server(name, &[address])?,
            ),
        ];
        Ok(Presented {
            server,
            faults,
            right: self.server(name, &[address])?.certified_key()?,
            flawed: flawed
                .iter()
                .map(|(flaw, certificate)| Ok((*flaw, certificate.certified_key()?)))
                .collect::<Result<BTreeMap<_, _>, CertificateError>>()?,
        })
    }

    /// TLS for a client that trusts this authority and no other.
    pub fn client_tls(&self) -> Result<ClientConfig, CertificateError> {
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).map_err(CertificateError::Tls)?;
        Ok(
            ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
                .with_safe_default_protocol_versions()
                .map_err(CertificateError::Tls)?
                .with_root_certificates(roots)
                .with_no_client_auth(),
        )
    }

    fn sign(
        &self,
        name: &str,
        addresses: &[IpAddr],
        years: Range<i32>,
    ) -> Result<ServerCertificate, CertificateError> {
        let make = || {
            let mut params = dated(name, years);
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
}

impl ServerCertificate {
    /// Certificate and key in one text, as servers that read one file want it.
    pub fn bundle(&self) -> SecretString {
        format!("{}{}", self.certificate, self.key.expose_secret()).into()
    }

    fn certified_key(&self) -> Result<Arc<CertifiedKey>, CertificateError> {
        let key = PrivateKeyDer::Pkcs8(self.key_der.clone_key());
        CertifiedKey::from_der(self.chain.clone(), key, &aws_lc_rs::default_provider())
            .map(Arc::new)
            .map_err(CertificateError::Tls)
    }
}

/// TLS for a server. Every connection is a new session: a resumed one would see no
/// certificate, right or wrong.
pub(crate) fn server_tls(presented: Presented) -> Result<ServerConfig, CertificateError> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(CertificateError::Tls)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(presented));
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

fn new_key() -> Result<KeyPair, rcgen::Error> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = dated(name, valid_years());
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

/// From this year's first day: a clock that is a little behind still finds the certificate valid.
fn valid_years() -> Range<i32> {
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let year = i32::from(now.year());
    year..year + YEARS_VALID
}

fn dated(name: &str, years: Range<i32>) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = rcgen::date_time_ymd(years.start, 1, 1);
    params.not_after = rcgen::date_time_ymd(years.end, 1, 1);
    params
}

/// Secrets that survive restarts are stored in a file that only its owner can read.
fn exposed<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
}
