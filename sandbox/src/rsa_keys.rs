//! New RSA keys of 2048 bits, which take tenths of a second each, and a folder that keeps them for the next sandbox.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der},
    rsa::{KeyPair, KeySize},
};
use rustls_pki_types::PrivatePkcs8KeyDer;
use tempfile::NamedTempFile;

static KEPT: OnceLock<KeptKeys> = OnceLock::new();

/// No RSA key can be had.
#[derive(Debug, thiserror::Error)]
pub enum RsaKeyError {
    #[error("could not generate an RSA key")]
    Generate,
    #[error("could not read or write the RSA key {}", file.display())]
    File { file: PathBuf, source: io::Error },
}

/// The keys in a folder. A process takes each of them once, in their order, and adds a new one where they end.
struct KeptKeys {
    folder: PathBuf,
    next: AtomicUsize,
}

/// Takes this process's RSA keys from a folder from now on. The first call counts.
pub fn keep_in(folder: PathBuf) {
    let _ = KEPT.set(KeptKeys::new(folder));
}

/// A private key that this process has not had before.
pub(crate) fn private_key() -> Result<PrivatePkcs8KeyDer<'static>, RsaKeyError> {
    KEPT.get().map_or_else(generate, KeptKeys::private_key)
}

impl KeptKeys {
    fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            next: AtomicUsize::new(0),
        }
    }

    fn private_key(&self) -> Result<PrivatePkcs8KeyDer<'static>, RsaKeyError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let file = self.folder.join(format!("{number}.der"));
        match fs::read(&file) {
            Ok(key) => Ok(key.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let key = generate()?;
                match write(&file, key.secret_pkcs8_der()) {
                    Ok(()) => Ok(key),
                    Err(source) => Err(RsaKeyError::File { file, source }),
                }
            }
            Err(source) => Err(RsaKeyError::File { file, source }),
        }
    }
}

fn generate() -> Result<PrivatePkcs8KeyDer<'static>, RsaKeyError> {
    let pair = KeyPair::generate(KeySize::Rsa2048).map_err(|_| RsaKeyError::Generate)?;
    let key: Pkcs8V1Der<'_> = pair.as_der().map_err(|_| RsaKeyError::Generate)?;
    Ok(key.as_ref().to_vec().into())
}

/// Concurrent sandboxes may write the same file: each version is complete, and the last one stays.
fn write(file: &Path, key: &[u8]) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut whole = NamedTempFile::new_in(folder)?;
    whole.write_all(key)?;
    whole.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::KeptKeys;

    #[test]
    fn a_process_has_other_keys_each_time_and_the_next_process_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("keys");
        let two_keys = || {
            let kept = KeptKeys::new(folder.clone());
            [(); 2].map(|()| kept.private_key().unwrap())
        };
        let [first, second] = two_keys();
        assert_ne!(first, second);
        assert_eq!(two_keys(), [first, second]);
        let mode = fs::metadata(folder.join("0.der"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
