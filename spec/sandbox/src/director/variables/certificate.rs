//! Certificates for variables, made as a config server makes them: RSA, a year, the names that were asked for.

use jiff::{Span, Timestamp, civil::Date, tz::TimeZone};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, PKCS_RSA_SHA256, RsaKeySize, date_time_ymd,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// The options of a variable of type `certificate`. Those that do not concern the sandbox are left unread.
#[derive(Debug, Deserialize)]
pub(super) struct CertificateRequest {
    /// The absolute name of the authority that signs; without one the certificate signs itself.
    pub(super) ca: Option<String>,
    common_name: Option<String>,
    #[serde(default)]
    alternative_names: Vec<String>,
    #[serde(default)]
    is_ca: bool,
    #[serde(default)]
    extended_key_usage: Vec<KeyUse>,
    /// In days.
    #[serde(default = "one_year")]
    duration: i64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeyUse {
    ClientAuth,
    ServerAuth,
    CodeSigning,
    EmailProtection,
    Timestamping,
}

/// A certificate authority, able to sign.
#[derive(Clone)]
pub(super) struct Issuer {
    params: CertificateParams,
    private_key: String,
    certificate: String,
}

/// A new certificate.
pub(super) struct MadeCertificate {
    /// `ca`, `certificate` and `private_key`, each PEM.
    pub(super) value: Value,
    /// Itself, if it is an authority.
    pub(super) issuer: Option<Issuer>,
}

/// Makes a key and a certificate for it, signed by `issuer` or by itself.
pub(super) fn make(
    request: &CertificateRequest,
    issuer: Option<&Issuer>,
) -> Result<MadeCertificate, rcgen::Error> {
    let key = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048)?;
    let params = params(request)?;
    let certificate = match issuer {
        None => params.self_signed(&key)?.pem(),
        Some(issuer) => {
            let signing_key = KeyPair::from_pem(&issuer.private_key)?;
            let signer = rcgen::Issuer::from_params(&issuer.params, signing_key);
            params.signed_by(&key, &signer)?.pem()
        }
    };
    let private_key = key.serialize_pem();
    let ca = issuer.map_or(&certificate, |issuer| &issuer.certificate);
    let value = json!({"ca": ca, "certificate": certificate, "private_key": private_key});
    let issuer = request.is_ca.then_some(Issuer {
        params,
        private_key,
        certificate,
    });
    Ok(MadeCertificate { value, issuer })
}

fn params(request: &CertificateRequest) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(request.alternative_names.clone())?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    if let Some(name) = &request.common_name {
        params
            .distinguished_name
            .push(DnType::CommonName, name.as_str());
    }
    if request.is_ca {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    }
    params.extended_key_usages = request
        .extended_key_usage
        .iter()
        .map(|usage| usage.purpose())
        .collect();
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let end = today.saturating_add(Span::new().days(request.duration.clamp(1, 3650)));
    let number = |number: i8| u8::try_from(number).unwrap_or(1);
    let midnight = |date: Date| {
        date_time_ymd(
            i32::from(date.year()),
            number(date.month()),
            number(date.day()),
        )
    };
    params.not_before = midnight(today);
    params.not_after = midnight(end);
    Ok(params)
}

fn one_year() -> i64 {
    365
}

impl KeyUse {
    fn purpose(self) -> ExtendedKeyUsagePurpose {
        match self {
            Self::ClientAuth => ExtendedKeyUsagePurpose::ClientAuth,
            Self::ServerAuth => ExtendedKeyUsagePurpose::ServerAuth,
            Self::CodeSigning => ExtendedKeyUsagePurpose::CodeSigning,
            Self::EmailProtection => ExtendedKeyUsagePurpose::EmailProtection,
            Self::Timestamping => ExtendedKeyUsagePurpose::TimeStamping,
        }
    }
}
