//! The parameters of a certificate's generation.

use std::{collections::BTreeSet, net::IpAddr};

use super::reading::ReadCertificate;
use crate::credhub::{generate::KeyLength, name::CredentialName, rejection::CertificateRejection};

const DAYS: std::ops::RangeInclusive<u32> = 1..=3650;
const NAME_LENGTH: usize = 253;
const LABEL_LENGTH: usize = 63;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::credhub) struct CertificateParameters {
    pub(in crate::credhub) subject: Subject,
    pub(in crate::credhub) key_length: KeyLength,
    pub(in crate::credhub) days: u32,
    pub(in crate::credhub) is_ca: bool,
    pub(in crate::credhub) self_signed: bool,
    pub(in crate::credhub) ca_name: Option<CredentialName>,
    pub(in crate::credhub) alternative_names: Vec<String>,
    pub(in crate::credhub) extended_key_usage: Vec<ExtendedKeyUse>,
    pub(in crate::credhub) key_usage: BTreeSet<KeyUse>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::credhub) struct Subject {
    pub(in crate::credhub) common_name: Option<String>,
    pub(in crate::credhub) organization: Option<String>,
    pub(in crate::credhub) organization_unit: Option<String>,
    pub(in crate::credhub) locality: Option<String>,
    pub(in crate::credhub) state: Option<String>,
    pub(in crate::credhub) country: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::credhub) enum ExtendedKeyUse {
    ServerAuth,
    ClientAuth,
    CodeSigning,
    EmailProtection,
    Timestamping,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::credhub) enum KeyUse {
    DigitalSignature,
    NonRepudiation,
    KeyEncipherment,
    DataEncipherment,
    KeyAgreement,
    KeyCertSign,
    CrlSign,
    EncipherOnly,
    DecipherOnly,
}

impl CertificateParameters {
    /// The parameters that would generate a certificate like this one, if it is one.
    pub(in crate::credhub) fn of(pem: &str, ca_name: Option<CredentialName>) -> Option<Self> {
        let read = ReadCertificate::read(pem)?;
        Some(Self {
            ca_name,
            ..read.parameters
        })
    }

    /// Whether another certificate would differ in more than its key and its life.
    pub(in crate::credhub) fn would_make_the_same(&self, wanted: &Self) -> bool {
        let same_signer = match (&self.ca_name, &wanted.ca_name) {
            (Some(present), Some(wanted)) => present == wanted,
            _ => true,
        };
        let comparable = |parameters: &Self| Self {
            days: 0,
            ca_name: None,
            ..parameters.clone()
        };
        same_signer && comparable(self) == comparable(wanted)
    }

    /// Refuses what no certificate can be made with.
    pub(in crate::credhub) fn check(&self) -> Result<(), CertificateRejection> {
        if self.subject == Subject::default() {
            return Err(CertificateRejection::NoSubject);
        }
        match (&self.ca_name, self.self_signed) {
            (None, false) => return Err(CertificateRejection::NoSigner),
            (Some(_), true) => return Err(CertificateRejection::TwoSigners),
            _ => {}
        }
        if !self
            .alternative_names
            .iter()
            .all(|name| is_alternative_name(name))
        {
            return Err(CertificateRejection::AlternativeName);
        }
        if !DAYS.contains(&self.days) {
            return Err(CertificateRejection::Duration);
        }
        let subject = &self.subject;
        let limits = [
            (&subject.common_name, "common name", 64),
            (&subject.organization, "organization", 64),
            (&subject.organization_unit, "organization unit", 64),
            (&subject.locality, "locality", 128),
            (&subject.state, "state", 128),
            (&subject.country, "country", 2),
        ];
        let too_long = limits
            .into_iter()
            .find(|(part, _, limit)| part.as_ref().is_some_and(|part| part.len() > *limit));
        if let Some((_, what, limit)) = too_long {
            return Err(CertificateRejection::TooLong { what, limit });
        }
        if self
            .alternative_names
            .iter()
            .any(|name| name.len() > NAME_LENGTH)
        {
            return Err(CertificateRejection::TooLong {
                what: "alternative name",
                limit: NAME_LENGTH,
            });
        }
        Ok(())
    }
}

impl ExtendedKeyUse {
    const ALL: [(&'static str, Self); 5] = [
        ("server_auth", Self::ServerAuth),
        ("client_auth", Self::ClientAuth),
        ("code_signing", Self::CodeSigning),
        ("email_protection", Self::EmailProtection),
        ("timestamping", Self::Timestamping),
    ];

    pub(in crate::credhub) fn named(name: &str) -> Result<Self, CertificateRejection> {
        let known = Self::ALL.into_iter().find(|(known, _)| *known == name);
        known
            .map(|(_, usage)| usage)
            .ok_or_else(|| CertificateRejection::ExtendedKeyUsage(name.to_owned()))
    }
}

impl KeyUse {
    const ALL: [(&'static str, Self); 9] = [
        ("digital_signature", Self::DigitalSignature),
        ("non_repudiation", Self::NonRepudiation),
        ("key_encipherment", Self::KeyEncipherment),
        ("data_encipherment", Self::DataEncipherment),
        ("key_agreement", Self::KeyAgreement),
        ("key_cert_sign", Self::KeyCertSign),
        ("crl_sign", Self::CrlSign),
        ("encipher_only", Self::EncipherOnly),
        ("decipher_only", Self::DecipherOnly),
    ];

    pub(in crate::credhub) fn named(name: &str) -> Result<Self, CertificateRejection> {
        let known = Self::ALL.into_iter().find(|(known, _)| *known == name);
        known
            .map(|(_, usage)| usage)
            .ok_or_else(|| CertificateRejection::KeyUsage(name.to_owned()))
    }
}

/// An address, or a host name whose first label may be a `*`.
fn is_alternative_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=LABEL_LENGTH).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'_'))
    };
    let host = name.strip_prefix("*.").unwrap_or(name);
    name.parse::<IpAddr>().is_ok() || host.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alternative_name_is_an_address_or_a_host_perhaps_with_a_star() {
        for name in [
            "127.0.0.1",
            "::1",
            "redis",
            "q-s0.srv.default.d-1.bosh",
            "*.internal",
        ] {
            assert!(is_alternative_name(name), "{name}");
        }
        for name in ["", "a b", "*", "a.*.b", "-a", "a..b", "http://a"] {
            assert!(!is_alternative_name(name), "{name}");
        }
    }
}
