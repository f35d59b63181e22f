//! SHA-256 as text.

use std::fmt::{self, Write};

use sha2::{Digest, Sha256};

/// A SHA-256 in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hex(String);

impl Hex {
    pub(crate) fn of(digest: Sha256) -> Self {
        Self(hex(&digest.finalize()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.0)
    }
}

/// Hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
