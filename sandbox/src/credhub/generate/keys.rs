//! RSA key pairs, as CredHub writes them: public keys as X.509 has them, private ones as PKCS #1 has them.

use base64::{Engine, prelude::BASE64_STANDARD};
use rcgen::{KeyPair, PKCS_RSA_SHA256, PublicKeyData, RsaKeySize};
use x509_parser::{
    asn1_rs::{FromDer, Integer, OctetString, Sequence},
    pem::parse_x509_pem,
    public_key::PublicKey,
    x509::SubjectPublicKeyInfo,
};

use crate::{credhub::rejection::Rejection, rsa_keys};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::credhub) enum KeyLength {
    #[default]
    Bits2048,
    Bits3072,
    Bits4096,
}

/// A key pair, new or read.
pub(in crate::credhub) struct RsaPair {
    pair: KeyPair,
    /// DER, PKCS #1.
    private: Vec<u8>,
}

impl KeyLength {
    pub(in crate::credhub) const fn bits(self) -> usize {
        match self {
            Self::Bits2048 => 2048,
            Self::Bits3072 => 3072,
            Self::Bits4096 => 4096,
        }
    }

    pub(in crate::credhub) fn of_bits(bits: usize) -> Option<Self> {
        [Self::Bits2048, Self::Bits3072, Self::Bits4096]
            .into_iter()
            .find(|length| length.bits() == bits)
    }
}

impl RsaPair {
    /// Makes a key. Takes tenths of a second, and for the longest keys seconds.
    pub(in crate::credhub) fn generate(length: KeyLength) -> Result<Self, Rejection> {
        let made = |size| KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, size);
        let pair = match length {
            KeyLength::Bits2048 => {
                let key =
                    rsa_keys::private_key().map_err(|error| Rejection::Internal(error.into()))?;
                KeyPair::from_pkcs8_der_and_sign_algo(&key, &PKCS_RSA_SHA256)
            }
            KeyLength::Bits3072 => made(RsaKeySize::_3072),
            KeyLength::Bits4096 => made(RsaKeySize::_4096),
        };
        let pair = pair.map_err(|error| Rejection::Internal(error.into()))?;
        let private = unwrapped(&pair.serialize_der())
            .ok_or_else(|| Rejection::Internal("the new key is not in PKCS #8".into()))?;
        Ok(Self { pair, private })
    }

    pub(in crate::credhub) fn signing_key(&self) -> &KeyPair {
        &self.pair
    }

    /// The public key, PEM.
    pub(in crate::credhub) fn public_pem(&self) -> String {
        pem("PUBLIC KEY", &self.pair.subject_public_key_info())
    }

    /// The public key as X.509 has it, DER.
    pub(in crate::credhub) fn public_info(&self) -> Vec<u8> {
        self.pair.subject_public_key_info()
    }

    /// The private key, PEM.
    pub(in crate::credhub) fn private_pem(&self) -> String {
        pem("RSA PRIVATE KEY", &self.private)
    }
}

/// The length of a public RSA key in PEM, if it is one.
pub(in crate::credhub) fn rsa_key_bits(public_pem: &str) -> Option<usize> {
    let (_, pem) = parse_x509_pem(public_pem.as_bytes()).ok()?;
    let (_, info) = SubjectPublicKeyInfo::from_der(&pem.contents).ok()?;
    match info.parsed().ok()? {
        PublicKey::RSA(key) => Some(key.key_size()),
        _ => None,
    }
}

/// The PKCS #1 key within PKCS #8.
fn unwrapped(pkcs8: &[u8]) -> Option<Vec<u8>> {
    let (_, outer) = Sequence::from_der(pkcs8).ok()?;
    let (rest, _version) = Integer::from_der(outer.content.as_ref()).ok()?;
    let (rest, _algorithm) = Sequence::from_der(rest).ok()?;
    let (_, key) = OctetString::from_der(rest).ok()?;
    Some(key.as_ref().to_vec())
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines: Vec<&str> = text
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).unwrap_or_default())
        .collect();
    format!(
        "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_key_in_pkcs_1_is_read_back_and_is_the_same() {
        let made = RsaPair::generate(KeyLength::Bits2048).unwrap();

        let read = KeyPair::from_pem(&made.private_pem()).unwrap();

        assert!(
            made.private_pem()
                .starts_with("-----BEGIN RSA PRIVATE KEY-----\n")
        );
        assert_eq!(read.subject_public_key_info(), made.public_info());
        assert_eq!(rsa_key_bits(&made.public_pem()), Some(2048));
    }
}
