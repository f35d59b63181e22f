//! Makes certificates.

use std::time::Duration;

use aws_lc_rs::digest;
use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, PublicKeyData, date_time_ymd,
};

use super::{
    parameters::{CertificateParameters, ExtendedKeyUse, KeyUse, Subject},
    reading::ReadCertificate,
};
use crate::credhub::{
    credential::{CertificateSecret, Origin, Secret},
    generate::RsaPair,
    name::CredentialName,
    rejection::{CertificateRejection, Rejection},
};

const SECONDS_A_DAY: u64 = 24 * 60 * 60;

pub(in crate::credhub) struct Signer {
    name: CredentialName,
    certificate: String,
    read: ReadCertificate,
    key: KeyPair,
}

impl Signer {
    pub(in crate::credhub) fn new(
        name: &CredentialName,
        secret: &CertificateSecret,
    ) -> Result<Self, Rejection> {
        let read = ReadCertificate::read(&secret.certificate)
            .filter(|read| read.parameters.is_ca)
            .ok_or(CertificateRejection::NotAnAuthority)?;
        let key = secret
            .private_key
            .as_deref()
            .ok_or(CertificateRejection::AuthorityWithoutKey)?;
        let key = KeyPair::from_pem(key).map_err(|_| CertificateRejection::InvalidKey)?;
        Ok(Self {
            name: name.clone(),
            certificate: secret.certificate.clone(),
            read,
            key,
        })
    }
}

pub(in crate::credhub) fn self_signed(
    parameters: &CertificateParameters,
) -> Result<Secret, Rejection> {
    let pair = RsaPair::generate(parameters.key_length)?;
    let params = params(parameters, &pair)?;
    let certificate = params
        .self_signed(pair.signing_key())
        .map_err(internal)?
        .pem();
    Ok(Secret::Certificate(CertificateSecret {
        ca: Some(certificate.clone()),
        certificate,
        private_key: Some(pair.private_pem()),
        ca_name: None,
        origin: Origin::Generated,
    }))
}

pub(in crate::credhub) fn signed(
    parameters: &CertificateParameters,
    signer: &Signer,
) -> Result<Secret, Rejection> {
    let pair = RsaPair::generate(parameters.key_length)?;
    let params = params(parameters, &pair)?;
    let mut issuer_params = CertificateParams::default();
    issuer_params.distinguished_name = signer.read.distinguished_name.clone();
    issuer_params.key_identifier_method = match &signer.read.key_identifier {
        Some(identifier) => KeyIdMethod::PreSpecified(identifier.clone()),
        None => identifier_of(&signer.key),
    };
    let issuer = Issuer::from_params(&issuer_params, &signer.key);
    let certificate = params
        .signed_by(pair.signing_key(), &issuer)
        .map_err(internal)?;
    Ok(Secret::Certificate(CertificateSecret {
        ca: Some(signer.certificate.clone()),
        certificate: certificate.pem(),
        private_key: Some(pair.private_pem()),
        ca_name: Some(signer.name.clone()),
        origin: Origin::Generated,
    }))
}

fn params(
    parameters: &CertificateParameters,
    pair: &RsaPair,
) -> Result<CertificateParams, Rejection> {
    let mut params = CertificateParams::new(parameters.alternative_names.clone())
        .map_err(|_| CertificateRejection::AlternativeName)?;
    params.distinguished_name = distinguished_name(&parameters.subject);
    params.is_ca = if parameters.is_ca {
        IsCa::Ca(BasicConstraints::Unconstrained)
    } else {
        IsCa::ExplicitNoCa
    };
    params.key_usages = parameters
        .key_usage
        .iter()
        .map(|usage| usage.purpose())
        .collect();
    params.extended_key_usages = parameters
        .extended_key_usage
        .iter()
        .map(|usage| usage.purpose())
        .collect();
    params.key_identifier_method = identifier_of(pair.signing_key());
    params.use_authority_key_identifier_extension = true;
    let now = u64::try_from(Timestamp::now().as_second()).unwrap_or_default();
    let start = date_time_ymd(1970, 1, 1) + Duration::from_secs(now);
    params.not_before = start;
    params.not_after = start + Duration::from_secs(u64::from(parameters.days) * SECONDS_A_DAY);
    Ok(params)
}

/// In the order in which a real CredHub's certificates have them.
fn distinguished_name(subject: &Subject) -> DistinguishedName {
    let parts = [
        (DnType::CommonName, &subject.common_name),
        (DnType::OrganizationalUnitName, &subject.organization_unit),
        (DnType::CountryName, &subject.country),
        (DnType::StateOrProvinceName, &subject.state),
        (DnType::OrganizationName, &subject.organization),
        (DnType::LocalityName, &subject.locality),
    ];
    let mut name = DistinguishedName::new();
    for (kind, part) in parts {
        if let Some(part) = part {
            name.push(kind, part.as_str());
        }
    }
    name
}

/// The identifier of a key as RFC 5280 computes it.
fn identifier_of(key: &KeyPair) -> KeyIdMethod {
    let digest = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, key.der_bytes());
    KeyIdMethod::PreSpecified(digest.as_ref().to_vec())
}

fn internal(error: rcgen::Error) -> Rejection {
    Rejection::Internal(error.into())
}

impl ExtendedKeyUse {
    const fn purpose(self) -> ExtendedKeyUsagePurpose {
        match self {
            Self::ServerAuth => ExtendedKeyUsagePurpose::ServerAuth,
            Self::ClientAuth => ExtendedKeyUsagePurpose::ClientAuth,
            Self::CodeSigning => ExtendedKeyUsagePurpose::CodeSigning,
            Self::EmailProtection => ExtendedKeyUsagePurpose::EmailProtection,
            Self::Timestamping => ExtendedKeyUsagePurpose::TimeStamping,
        }
    }
}

impl KeyUse {
    const fn purpose(self) -> KeyUsagePurpose {
        match self {
            Self::DigitalSignature => KeyUsagePurpose::DigitalSignature,
            Self::NonRepudiation => KeyUsagePurpose::ContentCommitment,
            Self::KeyEncipherment => KeyUsagePurpose::KeyEncipherment,
            Self::DataEncipherment => KeyUsagePurpose::DataEncipherment,
            Self::KeyAgreement => KeyUsagePurpose::KeyAgreement,
            Self::KeyCertSign => KeyUsagePurpose::KeyCertSign,
            Self::CrlSign => KeyUsagePurpose::CrlSign,
            Self::EncipherOnly => KeyUsagePurpose::EncipherOnly,
            Self::DecipherOnly => KeyUsagePurpose::DecipherOnly,
        }
    }
}
