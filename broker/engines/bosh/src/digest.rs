//! Digests that identify a foundation and an executable.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Read},
    path::Path,
};

use aws_lc_rs::digest::{Context, Digest, SHA256, digest};
use serde::{Deserialize, Serialize};

const CHUNK: usize = 64 * 1024;

/// How many bytes of the digest distinguish foundations.
const LENGTH: usize = 8;

pub(crate) fn sha256(content: impl AsRef<[u8]>) -> Digest {
    digest(&SHA256, content.as_ref())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Identifies a foundation: a short digest of its Cloud Controller's address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Foundation(String);

impl Foundation {
    /// The foundation whose Cloud Controller has this address, in any spelling.
    pub(crate) fn of(cloud_controller: &str) -> Self {
        let address = cloud_controller.trim_end_matches('/').to_lowercase();
        Self(hex(&sha256(address).as_ref()[..LENGTH]))
    }
}

/// A digest of the executable file of an adapter. Files that it loads or starts do not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutableDigest(String);

impl ExecutableDigest {
    /// Reads the executable to its end. Blocks.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut context = Context::new(&SHA256);
        let mut chunk = vec![0; CHUNK];
        loop {
            match file.read(&mut chunk) {
                Ok(0) => return Ok(Self(hex(context.finish().as_ref()))),
                Ok(read) => context.update(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Of this content.
    pub fn of(content: &[u8]) -> Self {
        Self(hex(sha256(content).as_ref()))
    }

    /// The digest in one word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn addresses_report_foundations_apart_however_they_are_spelled() {
        let one = Foundation::of("https://api.one.example");
        assert_eq!(one, Foundation::of("https://API.one.example/"));
        assert_ne!(one, Foundation::of("https://api.two.example"));
    }

    #[test]
    fn a_file_is_read_to_its_end_and_one_byte_makes_another_digest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("adapter");
        let mut content = vec![7; 3 * CHUNK + 5];
        fs::write(&path, &content).unwrap();
        let digest = ExecutableDigest::read(&path).unwrap();
        assert_eq!(digest, ExecutableDigest::of(&content));
        *content.last_mut().unwrap() = 8;
        fs::write(&path, &content).unwrap();
        assert_ne!(digest, ExecutableDigest::read(&path).unwrap());
    }
}
