//! Where other executables of the project are: beside this one, else on the `PATH`.

use std::{
    env,
    path::{Path, PathBuf},
};

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
