//! Public keys as SSH writes them (RFC 4253, "Public Key Algorithms").

use std::fmt;

use aws_lc_rs::digest;
use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD},
};
use x509_parser::{asn1_rs::FromDer, public_key, x509::SubjectPublicKeyInfo};

use super::generate::RsaPair;

const ALGORITHM: &str = "ssh-rsa";

/// A public key in one line: algorithm, key, comment.
pub(super) struct PublicKey {
    algorithm: String,
    key: Vec<u8>,
    pub(super) comment: String,
}

impl PublicKey {
    pub(super) fn of(pair: &RsaPair, comment: String) -> Option<Self> {
        let info = pair.public_info();
        let (_, info) = SubjectPublicKeyInfo::from_der(&info).ok()?;
        let public_key::PublicKey::RSA(rsa) = info.parsed().ok()? else {
            return None;
        };
        let mut key = Vec::new();
        // The numbers of an ASN.1 key have the sign byte that SSH wants them to have.
        for part in [ALGORITHM.as_bytes(), rsa.exponent, rsa.modulus] {
            key.extend(u32::try_from(part.len()).ok()?.to_be_bytes());
            key.extend(part);
        }
        Some(Self {
            algorithm: ALGORITHM.to_owned(),
            key,
            comment,
        })
    }

    pub(super) fn parse(line: &str) -> Option<Self> {
        let (algorithm, rest) = line.trim().split_once(' ')?;
        let (key, comment) = rest.split_once(' ').unwrap_or((rest, ""));
        let key = BASE64_STANDARD.decode(key).ok()?;
        (!key.is_empty()).then(|| Self {
            algorithm: algorithm.to_owned(),
            key,
            comment: comment.to_owned(),
        })
    }

    pub(super) fn bits(&self) -> Option<usize> {
        let mut rest = self.key.as_slice();
        let mut part = [].as_slice();
        for _ in 0..3 {
            let (length, after) = rest.split_first_chunk::<4>()?;
            let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
            (part, rest) = after.split_at_checked(length)?;
        }
        let significant = part.iter().position(|byte| *byte != 0)?;
        let leading = part[significant].leading_zeros() as usize;
        Some((part.len() - significant) * 8 - leading)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}",
            self.algorithm,
            BASE64_STANDARD.encode(&self.key)
        )?;
        if self.comment.is_empty() {
            return Ok(());
        }
        write!(f, " {}", self.comment)
    }
}

/// The fingerprint by which keys are compared: SHA-256 in base 64, without padding and without a prefix.
pub(super) fn fingerprint(line: &str) -> Option<String> {
    let key = PublicKey::parse(line)?;
    let digest = digest::digest(&digest::SHA256, &key.key);
    Some(BASE64_STANDARD_NO_PAD.encode(digest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credhub::generate::KeyLength;

    #[test]
    fn a_key_is_read_as_it_was_written() {
        let pair = RsaPair::generate(KeyLength::Bits2048).unwrap();

        let line = PublicKey::of(&pair, "me@here".to_owned())
            .unwrap()
            .to_string();
        let read = PublicKey::parse(&line).unwrap();

        assert!(
            line.starts_with("ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB"),
            "{line}"
        );
        assert_eq!(
            (read.bits(), read.comment.as_str()),
            (Some(2048), "me@here")
        );
        assert_eq!(read.to_string(), line);
        assert_eq!(fingerprint(&line).map(|print| print.len()), Some(43));
        assert_eq!(fingerprint("nonsense"), None);
    }
}
