//! The adapter's executable, in one word: whether it is still the same.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Read},
    path::Path,
};

use aws_lc_rs::digest::{Context, Digest, SHA256, digest};

/// How much of it is held in memory.
const CHUNK: usize = 64 * 1024;

/// A digest of the executable file. Files that it loads or starts do not count.
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
                Ok(0) => return Ok(Self::written(&context.finish())),
                Ok(read) => context.update(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Of this content.
    pub fn of(content: &[u8]) -> Self {
        Self::written(&digest(&SHA256, content))
    }

    /// The digest in one word.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn written(digest: &Digest) -> Self {
        let mut hex = String::new();
        for byte in digest.as_ref() {
            // Writing to a string does not fail.
            let _ = write!(hex, "{byte:02x}");
        }
        Self(hex)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

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
