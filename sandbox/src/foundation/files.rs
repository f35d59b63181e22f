//! Files of the state folder.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

#[derive(Debug, thiserror::Error)]
#[error("could not write or remove `{}`", path.display())]
pub struct FileError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

impl FileError {
    pub(super) fn new(path: &Path, source: io::Error) -> Self {
        Self {
            path: path.to_owned(),
            source,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Readers {
    World,
    Owner,
}

/// Writes a file in one step: a reader sees all of it or none, and its permissions are never wider than requested.
pub(super) fn write(path: &Path, content: &str, readers: Readers) -> Result<(), FileError> {
    let mode = match readers {
        Readers::World => 0o644,
        Readers::Owner => 0o600,
    };
    let unfinished = path.with_extension("unfinished");
    let attempt = || {
        remove_if_there(&unfinished)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&unfinished)?;
        file.write_all(content.as_bytes())?;
        fs::rename(&unfinished, path)
    };
    attempt().map_err(|source| FileError::new(path, source))
}

/// The same for a file that its owner alone may read.
pub(crate) fn write_for_owner(path: &Path, content: &str) -> Result<(), FileError> {
    write(path, content, Readers::Owner)
}

/// Removes a file, of an earlier run perhaps.
pub(super) fn remove(path: &Path) -> Result<(), FileError> {
    remove_if_there(path).map_err(|source| FileError::new(path, source))
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
