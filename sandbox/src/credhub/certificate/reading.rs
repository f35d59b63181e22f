//! Reads certificates, and checks signatures and keys.

use std::{collections::BTreeSet, net::IpAddr};

use aws_lc_rs::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use jiff::Timestamp;
use rcgen::{DistinguishedName, DnType, DnValue};
use x509_parser::{
    asn1_rs::{Any, Tag},
    certificate::X509Certificate,
    extensions::{GeneralName, ParsedExtension},
    oid_registry::{
        OID_PKCS1_SHA256WITHRSA, OID_PKCS1_SHA384WITHRSA, OID_PKCS1_SHA512WITHRSA,
        OID_SIG_ECDSA_WITH_SHA256, OID_SIG_ECDSA_WITH_SHA384,
    },
    pem::parse_x509_pem,
    prelude::FromDer,
    public_key::PublicKey,
    x509::X509Name,
};

use super::parameters::{CertificateParameters, ExtendedKeyUse, KeyUse, Subject};
use crate::credhub::generate::KeyLength;

pub(in crate::credhub) struct ReadCertificate {
    /// The parameters that would generate another one like it, without the name of the authority.
    pub(in crate::credhub) parameters: CertificateParameters,
    pub(in crate::credhub) not_after: Timestamp,
    pub(super) distinguished_name: DistinguishedName,
    pub(super) key_identifier: Option<Vec<u8>>,
    der: Vec<u8>,
}

impl ReadCertificate {
    /// Reads a certificate in PEM.
    pub(in crate::credhub) fn read(pem: &str) -> Option<Self> {
        let (_, pem) = parse_x509_pem(pem.as_bytes()).ok()?;
        let (_, certificate) = X509Certificate::from_der(&pem.contents).ok()?;
        let mut read = Self {
            parameters: parameters(&certificate),
            not_after: Timestamp::from_second(certificate.validity().not_after.timestamp()).ok()?,
            distinguished_name: distinguished_name(certificate.subject()),
            key_identifier: key_identifier(&certificate),
            der: pem.contents.clone(),
        };
        read.parameters.self_signed =
            certificate.subject() == certificate.issuer() && read.is_signed_by(&read);
        Some(read)
    }

    /// Whether the key of `authority` made the signature.
    pub(in crate::credhub) fn is_signed_by(&self, authority: &Self) -> bool {
        let verified = || {
            let (_, certificate) = X509Certificate::from_der(&self.der).ok()?;
            let (_, signer) = X509Certificate::from_der(&authority.der).ok()?;
            let key = UnparsedPublicKey::new(
                algorithm(&certificate)?,
                &signer.public_key().subject_public_key.data,
            );
            key.verify(
                certificate.tbs_certificate.as_ref(),
                &certificate.signature_value.data,
            )
            .ok()
        };
        verified().is_some()
    }
}

fn algorithm(certificate: &X509Certificate<'_>) -> Option<&'static dyn VerificationAlgorithm> {
    let named = &certificate.signature_algorithm.algorithm;
    let known: [(_, &'static dyn VerificationAlgorithm); 5] = [
        (
            OID_PKCS1_SHA256WITHRSA,
            &signature::RSA_PKCS1_2048_8192_SHA256,
        ),
        (
            OID_PKCS1_SHA384WITHRSA,
            &signature::RSA_PKCS1_2048_8192_SHA384,
        ),
        (
            OID_PKCS1_SHA512WITHRSA,
            &signature::RSA_PKCS1_2048_8192_SHA512,
        ),
        (
            OID_SIG_ECDSA_WITH_SHA256,
            &signature::ECDSA_P256_SHA256_ASN1,
        ),
        (
            OID_SIG_ECDSA_WITH_SHA384,
            &signature::ECDSA_P384_SHA384_ASN1,
        ),
    ];
    let found = known.into_iter().find(|(oid, _)| oid == named);
    found.map(|(_, algorithm)| algorithm)
}

fn parameters(certificate: &X509Certificate<'_>) -> CertificateParameters {
    let validity = certificate.validity();
    let seconds = validity.not_after.timestamp() - validity.not_before.timestamp();
    let bits = match certificate.public_key().parsed() {
        Ok(PublicKey::RSA(key)) => KeyLength::of_bits(key.key_size()),
        _ => None,
    };
    CertificateParameters {
        subject: subject(certificate.subject()),
        key_length: bits.unwrap_or_default(),
        days: u32::try_from(seconds / (24 * 60 * 60)).unwrap_or_default(),
        is_ca: certificate.is_ca(),
        self_signed: false,
        ca_name: None,
        alternative_names: alternative_names(certificate),
        extended_key_usage: extended_key_usage(certificate),
        key_usage: key_usage(certificate),
    }
}

fn subject(name: &X509Name<'_>) -> Subject {
    let mut subject = Subject::default();
    for attribute in name.iter_attributes() {
        let part = match attribute.attr_type().to_id_string().as_str() {
            "2.5.4.3" => &mut subject.common_name,
            "2.5.4.6" => &mut subject.country,
            "2.5.4.7" => &mut subject.locality,
            "2.5.4.8" => &mut subject.state,
            "2.5.4.10" => &mut subject.organization,
            "2.5.4.11" => &mut subject.organization_unit,
            _ => continue,
        };
        *part = attribute.as_str().ok().map(str::to_owned);
    }
    subject
}

/// The name with each part encoded as it was, so that what is signed by it names the very same issuer.
fn distinguished_name(name: &X509Name<'_>) -> DistinguishedName {
    let mut copy = DistinguishedName::new();
    for attribute in name.iter_attributes() {
        let Some(oid) = attribute.attr_type().iter() else {
            continue;
        };
        let kind = DnType::from_oid(&oid.collect::<Vec<u64>>());
        if let Some(value) = attribute_value(attribute.attr_value()) {
            copy.push(kind, value);
        }
    }
    copy
}

fn attribute_value(value: &Any<'_>) -> Option<DnValue> {
    let text = std::str::from_utf8(value.data).ok()?;
    Some(match value.header.tag() {
        Tag::PrintableString => DnValue::PrintableString(text.try_into().ok()?),
        Tag::Ia5String => DnValue::Ia5String(text.try_into().ok()?),
        Tag::T61String => DnValue::TeletexString(text.try_into().ok()?),
        _ => DnValue::Utf8String(text.to_owned()),
    })
}

fn key_identifier(certificate: &X509Certificate<'_>) -> Option<Vec<u8>> {
    certificate
        .extensions()
        .iter()
        .find_map(|extension| match extension.parsed_extension() {
            ParsedExtension::SubjectKeyIdentifier(identifier) => Some(identifier.0.to_vec()),
            _ => None,
        })
}

fn alternative_names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(extension)) = certificate.subject_alternative_name() else {
        return Vec::new();
    };
    let names = extension.value.general_names.iter();
    names
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            GeneralName::IPAddress(bytes) => address(bytes).map(|address| address.to_string()),
            _ => None,
        })
        .collect()
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(four.into());
    }
    <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from)
}

fn extended_key_usage(certificate: &X509Certificate<'_>) -> Vec<ExtendedKeyUse> {
    let Ok(Some(extension)) = certificate.extended_key_usage() else {
        return Vec::new();
    };
    let usage = extension.value;
    let flags = [
        (usage.server_auth, ExtendedKeyUse::ServerAuth),
        (usage.client_auth, ExtendedKeyUse::ClientAuth),
        (usage.code_signing, ExtendedKeyUse::CodeSigning),
        (usage.email_protection, ExtendedKeyUse::EmailProtection),
        (usage.time_stamping, ExtendedKeyUse::Timestamping),
    ];
    let set = flags.into_iter().filter(|(set, _)| *set);
    set.map(|(_, usage)| usage).collect()
}

fn key_usage(certificate: &X509Certificate<'_>) -> BTreeSet<KeyUse> {
    let Ok(Some(extension)) = certificate.key_usage() else {
        return BTreeSet::new();
    };
    let usage = extension.value;
    let flags = [
        (usage.digital_signature(), KeyUse::DigitalSignature),
        (usage.non_repudiation(), KeyUse::NonRepudiation),
        (usage.key_encipherment(), KeyUse::KeyEncipherment),
        (usage.data_encipherment(), KeyUse::DataEncipherment),
        (usage.key_agreement(), KeyUse::KeyAgreement),
        (usage.key_cert_sign(), KeyUse::KeyCertSign),
        (usage.crl_sign(), KeyUse::CrlSign),
        (usage.encipher_only(), KeyUse::EncipherOnly),
        (usage.decipher_only(), KeyUse::DecipherOnly),
    ];
    let set = flags.into_iter().filter(|(set, _)| *set);
    set.map(|(_, usage)| usage).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credhub::{
        certificate::{Signer, self_signed, signed},
        credential::{CertificateSecret, Secret},
        name::CredentialName,
    };

    fn wanted() -> CertificateParameters {
        CertificateParameters {
            subject: Subject {
                common_name: Some("redis".to_owned()),
                organization: Some("acme".to_owned()),
                country: Some("XY".to_owned()),
                ..Subject::default()
            },
            key_length: KeyLength::Bits2048,
            days: 30,
            is_ca: false,
            self_signed: false,
            ca_name: Some(CredentialName::sought("/ca")),
            alternative_names: vec!["127.0.0.5".to_owned(), "*.redis.internal".to_owned()],
            extended_key_usage: vec![ExtendedKeyUse::ServerAuth, ExtendedKeyUse::ClientAuth],
            key_usage: BTreeSet::from([KeyUse::DigitalSignature, KeyUse::DecipherOnly]),
        }
    }

    fn certificate(secret: Secret) -> CertificateSecret {
        let Secret::Certificate(certificate) = secret else {
            panic!("no certificate")
        };
        certificate
    }

    #[test]
    fn a_certificate_says_what_it_was_made_with_and_who_signed_it() {
        let authority = CertificateParameters {
            is_ca: true,
            self_signed: true,
            ca_name: None,
            ..wanted()
        };
        let root = certificate(self_signed(&authority).unwrap());
        let signer = Signer::new(&CredentialName::sought("/ca"), &root).unwrap();
        let leaf = certificate(signed(&wanted(), &signer).unwrap());

        let (read_root, read_leaf) = (
            ReadCertificate::read(&root.certificate).unwrap(),
            ReadCertificate::read(&leaf.certificate).unwrap(),
        );

        assert_eq!(read_root.parameters, authority);
        assert!(read_leaf.parameters.would_make_the_same(&wanted()));
        assert_eq!(read_leaf.parameters.days, 30);
        assert!(read_leaf.is_signed_by(&read_root) && !read_root.is_signed_by(&read_leaf));
        assert_eq!(leaf.ca.as_deref(), Some(root.certificate.as_str()));
        assert!(Signer::new(&CredentialName::sought("/leaf"), &leaf).is_err());
    }
}
