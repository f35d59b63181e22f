//! Files of the state folder.
//!
//! Removing a foundation's state.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use super::up::DESCRIPTION_FILE;
use crate::{
    cpi::{ResidualProcessError, remove_state},
    dev_loop,
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

/// The files of a foundation in its folder. Other files are not removed.
const FILES: [&str; 5] = [
    "state.redb",
    "ca.pem",
    "broker.crt",
    "broker.key",
    DESCRIPTION_FILE,
];
const FOLDERS: [&str; 2] = ["vms", "disks"];
/// The files of a broker beside it in its folder.
const BROKER_FILES: [&str; 5] = [
    "broker.yml",
    "next-broker.yml",
    "broker.log",
    "password",
    "service-adapter",
];

/// The state of a foundation could not be removed, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum WipeError {
    #[error("could not remove the VMs")]
    Vms(#[source] ResidualProcessError),
    #[error("could not remove the state")]
    File(#[source] FileError),
}

/// Removes the state of a foundation that does not run, so that the next start in the folder makes a fresh one. Ends
/// what it may have left running. Blocks until that is done.
pub fn wipe(folder: &Path) -> Result<(), WipeError> {
    remove_state(folder).map_err(WipeError::Vms)?;
    for name in FILES {
        remove(&folder.join(name)).map_err(WipeError::File)?;
    }
    let broker = folder.join(dev_loop::FOLDER);
    for name in BROKER_FILES {
        remove(&broker.join(name)).map_err(WipeError::File)?;
    }
    for name in FOLDERS.into_iter().chain([dev_loop::FOLDER]) {
        // Foreign files, in it or beside it, stay.
        let _ = fs::remove_dir(folder.join(name));
    }
    Ok(())
}
