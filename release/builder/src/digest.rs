//! Digests of bytes.

use std::{fmt, fs::File, io, path::Path};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// The prefix of a SHA-256 digest.
const SHA256: &str = "sha256:";

/// The digest of some bytes, written as BOSH writes it: `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Digest(String);

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
        self.0.trim_start_matches(SHA256)
    }

    fn from_hash(hash: &[u8]) -> Self {
        use fmt::Write;
        let mut text = SHA256.to_owned();
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

    #[test]
    fn a_digest_is_written_as_bosh_writes_it() {
        // As `sha256sum` prints it.
        let digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let digest = Digest::of(b"abc");
        assert_eq!(digest.digits(), digits);
        assert_eq!(digest.to_string(), format!("sha256:{digits}"));
    }
}
