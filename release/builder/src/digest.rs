//! What names bytes.

use std::{fmt, fs::File, io, path::Path, str::FromStr};

use serde::{Deserialize, Serialize, de::Error as _};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

/// What stands before the digits of a SHA-256 digest.
const SHA256: &str = "sha256:";

/// The digest of some bytes, written as BOSH writes it: `sha256:` and 64 hexadecimal digits, or 40 digits of SHA-1 as the `bosh`
/// command line writes them without `--sha2`. Releases that are built here have SHA-256 only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Digest(String);

/// A text that is no digest which can be verified here.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is no digest; BOSH writes one as `sha256:` and 64 hexadecimal digits, or as 40 digits of SHA-1"
)]
pub struct InvalidDigest(String);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_hash(Sha256::digest(bytes).as_slice())
    }

    /// The digest of these bytes by the algorithm of this one.
    #[must_use]
    pub fn of_the_same_kind(&self, bytes: &[u8]) -> Self {
        if self.0.starts_with(SHA256) {
            Self::of(bytes)
        } else {
            Self(hexadecimal(Sha1::digest(bytes).as_slice()))
        }
    }

    /// The digest of a file's content.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        let mut hash = HashingWriter(Sha256::new());
        io::copy(&mut File::open(path)?, &mut hash)?;
        Ok(Self::from_hash(hash.0.finalize().as_slice()))
    }

    /// The hexadecimal digits alone.
    pub fn digits(&self) -> &str {
        self.0.trim_start_matches(SHA256)
    }

    fn from_hash(hash: &[u8]) -> Self {
        Self(format!("{SHA256}{}", hexadecimal(hash)))
    }
}

fn hexadecimal(hash: &[u8]) -> String {
    use fmt::Write;
    let mut text = String::new();
    for byte in hash {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (digits, length) = match text.strip_prefix(SHA256) {
            Some(digits) => (digits, 64),
            None => (text, 40),
        };
        let is_digest =
            digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_digest
            .then(|| Self(text.to_ascii_lowercase()))
            .ok_or_else(|| InvalidDigest(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

struct HashingWriter(Sha256);

impl io::Write for HashingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of `abc`, as `sha1sum` and `sha256sum` print them.
    const SHA1_OF_ABC: &str = "a9993e364706816aba3e25717850c26c9cd0d89d";
    const SHA256_OF_ABC: &str =
        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn both_kinds_that_the_bosh_command_line_writes_are_verified() -> Result<(), InvalidDigest> {
        for text in [SHA1_OF_ABC, SHA256_OF_ABC] {
            let stated: Digest = text.parse()?;
            assert_eq!(stated.of_the_same_kind(b"abc"), stated);
            assert_ne!(stated.of_the_same_kind(b"abd"), stated);
            assert_eq!(stated.to_string(), text);
        }
        Ok(())
    }

    #[test]
    fn other_texts_are_no_digests() {
        for text in [
            "",
            "a9993e",
            "sha256:a9993e364706816aba3e25717850c26c9cd0d89d",
            "sha512:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "a9993e364706816aba3e25717850c26c9cd0d89g",
        ] {
            assert!(text.parse::<Digest>().is_err(), "{text}");
        }
    }
}
