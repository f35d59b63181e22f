//! What names bytes.

use std::{fmt, fs::File, io, path::Path, str::FromStr};

use serde::{Deserialize, Serialize, de::Error as _};
use sha2::{Digest as _, Sha256};

/// The SHA-256 digest of some bytes, written as BOSH writes it: `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Digest(String);

/// A text that is no digest which can be verified here.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no SHA-256 digest; BOSH writes one as `sha256:` and 64 hexadecimal digits")]
pub struct InvalidDigest(String);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_hash(Sha256::digest(bytes).as_slice())
    }

    /// The digest of a file's content.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        let mut hash = HashingWriter(Sha256::new());
        io::copy(&mut File::open(path)?, &mut hash)?;
        Ok(Self::from_hash(hash.0.finalize().as_slice()))
    }

    /// The hexadecimal digits alone.
    pub fn digits(&self) -> &str {
        self.0.trim_start_matches("sha256:")
    }

    fn from_hash(hash: &[u8]) -> Self {
        use fmt::Write;
        let mut text = String::from("sha256:");
        for byte in hash {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Self(text)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.strip_prefix("sha256:")
            .filter(|digits| {
                digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
            })
            .map(|digits| Self(format!("sha256:{}", digits.to_ascii_lowercase())))
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
