//! Secrets of new clients.

use secrecy::{SecretString, zeroize::Zeroize};

/// As long as those of the Go broker; 190 bits.
const LENGTH: usize = 32;

const CHARACTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// The system has no random numbers to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the random number generator failed")]
pub struct NoRandomness;

/// A random secret of letters and digits.
pub(super) fn random() -> Result<SecretString, NoRandomness> {
    let mut secret = String::with_capacity(LENGTH);
    let mut bytes = [0; LENGTH];
    while secret.len() < LENGTH {
        aws_lc_rs::rand::fill(&mut bytes).map_err(|_| NoRandomness)?;
        let left = LENGTH - secret.len();
        secret.extend(bytes.iter().copied().filter_map(character).take(left));
    }
    bytes.zeroize();
    Ok(secret.into())
}

/// Every character is as likely as any other: bytes beyond a multiple of their number have none.
fn character(byte: u8) -> Option<char> {
    let index = usize::from(byte >> 2);
    CHARACTERS.get(index).copied().map(char::from)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn secrets_are_long_enough_of_letters_and_digits_and_never_the_same() {
        let secrets: BTreeSet<String> = (0..500)
            .map(|_| random().unwrap().expose_secret().to_owned())
            .collect();

        assert_eq!(secrets.len(), 500);
        for secret in &secrets {
            assert_eq!(secret.len(), 32, "{secret}");
            assert!(
                secret.bytes().all(|byte| byte.is_ascii_alphanumeric()),
                "{secret}"
            );
        }
        let used: BTreeSet<char> = secrets.iter().flat_map(|secret| secret.chars()).collect();
        assert_eq!(used.len(), 62, "every character comes up");
    }

    #[test]
    fn every_character_has_as_many_bytes_as_any_other() {
        let mut bytes = std::collections::BTreeMap::<char, usize>::new();
        for byte in 0..=u8::MAX {
            if let Some(character) = character(byte) {
                *bytes.entry(character).or_default() += 1;
            }
        }
        assert_eq!(bytes.len(), 62);
        assert!(bytes.values().all(|count| *count == 4), "{bytes:?}");
    }
}
