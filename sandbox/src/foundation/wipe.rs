//! Removing a foundation's state.

use std::{fs, path::Path};

use super::{
    credhub::{INSTANCE_IDENTITY_CERTIFICATE, INSTANCE_IDENTITY_KEY},
    files::{self, FileError},
    up::DESCRIPTION_FILE,
};
use crate::{
    cpi::{ResidualProcessError, remove_state},
    dev_loop,
};

/// The files of a foundation in its folder. Other files are not removed.
const FILES: [&str; 7] = [
    "state.redb",
    "ca.pem",
    "broker.crt",
    "broker.key",
    INSTANCE_IDENTITY_CERTIFICATE,
    INSTANCE_IDENTITY_KEY,
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
        files::remove(&folder.join(name)).map_err(WipeError::File)?;
    }
    let broker = folder.join(dev_loop::FOLDER);
    for name in BROKER_FILES {
        files::remove(&broker.join(name)).map_err(WipeError::File)?;
    }
    for name in FOLDERS.into_iter().chain([dev_loop::FOLDER]) {
        // Foreign files, in it or beside it, stay.
        let _ = fs::remove_dir(folder.join(name));
    }
    Ok(())
}
