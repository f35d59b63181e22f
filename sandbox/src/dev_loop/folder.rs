//! The broker's folder in the state folder, for its owner alone.
//!
//! Where other executables of the project are: beside this one, else on the `PATH`.

use std::{
    env,
    fs::{self, DirBuilder},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use secrecy::{ExposeSecret, SecretString};

use super::DevLoopError;
use crate::foundation::{FileError, random_secret, write_for_owner};

pub(crate) const NAME: &str = "broker";

/// A folder, and the password by which the platform knows the broker, which stays the same over restarts.
pub(super) struct Folder {
    path: PathBuf,
    password: SecretString,
}

impl Folder {
    /// Opens the folder below a state folder; creates it with a new password if it is missing.
    pub(super) fn open(state: &Path) -> Result<Self, DevLoopError> {
        let path = state.join(NAME);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(|source| DevLoopError::Folder {
            folder: path.clone(),
            source,
        })?;
        let file = path.join("password");
        let kept = fs::read_to_string(&file).ok();
        let kept = kept.filter(|password| !password.is_empty());
        let password = kept.map_or_else(random_secret, Into::into);
        write_for_owner(&file, password.expose_secret()).map_err(DevLoopError::File)?;
        Ok(Self { path, password })
    }

    pub(super) fn password(&self) -> &SecretString {
        &self.password
    }

    pub(super) fn broker_file(&self) -> PathBuf {
        self.path.join("broker.yml")
    }

    /// The file for the next start, if it is valid.
    pub(super) fn candidate(&self) -> PathBuf {
        self.path.join("next-broker.yml")
    }

    pub(super) fn errands_file(&self) -> PathBuf {
        self.path.join("errands.yml")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.path.join("broker.log")
    }

    /// Where an executable is written for an adapter that is none.
    pub(super) fn adapter(&self) -> PathBuf {
        self.path.join("service-adapter")
    }

    pub(super) fn write(&self, file: &Path, text: &str) -> Result<(), FileError> {
        debug_assert!(file.starts_with(&self.path));
        write_for_owner(file, text)
    }
}

/// The folders in which executables are looked for, in their order.
#[derive(Clone, Debug)]
pub(super) struct Executables {
    folders: Vec<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
#[error("there is no `{name}` beside `odb-sandbox` or on the PATH; build or install it")]
pub(super) struct ExecutableError {
    name: String,
}

impl Executables {
    pub(super) fn of_process() -> Self {
        let own = env::current_exe().ok();
        let beside = own.as_deref().and_then(Path::parent).map(Path::to_owned);
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = beside.into_iter().chain(env::split_paths(&path));
        Self {
            folders: folders.collect(),
        }
    }

    #[cfg(test)]
    pub(super) fn in_folders(folders: Vec<PathBuf>) -> Self {
        Self { folders }
    }

    /// The first of this name.
    pub(super) fn find(&self, name: &str) -> Result<PathBuf, ExecutableError> {
        let mut candidates = self.folders.iter().map(|folder| folder.join(name));
        candidates
            .find(|candidate| candidate.is_file())
            .ok_or_else(|| ExecutableError {
                name: name.to_owned(),
            })
    }
}
