use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context as _, bail, ensure};

const TEMPLATE_FILE: &str = "adapter.yml";

/// Where `odb-adapter new` puts that folder.
const FOLDER_OF_NEW: &str = "adapter";

/// The executable that serves such folders.
const TEMPLATE_ADAPTER: &str = "template-service-adapter";

const TEMPLATE_FOLDER: &str = "SERVICE_ADAPTER_FOLDER";

/// An adapter: its executable, and the folder that this serves if it is one of templates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    executable: PathBuf,
    folder: Option<PathBuf>,
}

impl Program {
    /// The adapter at a path: an executable file, or a folder of templates.
    pub fn at(path: &Path) -> anyhow::Result<Self> {
        let unreadable = || format!("could not access `{}`", path.display());
        let absolute = fs::canonicalize(path).with_context(unreadable)?;
        if absolute.is_dir() {
            return Self::of_folder(path, absolute);
        }
        // Called by the given name, because an adapter may read its own name.
        let executable = std::path::absolute(path).with_context(unreadable)?;
        if !is_executable(&executable) {
            bail!(
                "`{}` is not executable; make it so with `chmod +x`",
                path.display()
            );
        }
        Ok(Self {
            executable,
            folder: None,
        })
    }

    fn of_folder(given: &Path, folder: PathBuf) -> anyhow::Result<Self> {
        let meant = given.join(FOLDER_OF_NEW);
        if !folder.join(TEMPLATE_FILE).is_file() {
            ensure!(
                !meant.join(TEMPLATE_FILE).is_file(),
                "folder `{}` has no `{TEMPLATE_FILE}`; did you mean `{}`?",
                given.display(),
                meant.display()
            );
            bail!(
                "folder `{}` has no `{TEMPLATE_FILE}`, so it is not a template adapter",
                folder.display()
            );
        }
        let executable = template_adapter().with_context(|| {
            format!(
                "`{}` is a folder of templates, and `{TEMPLATE_ADAPTER}` is neither beside this executable nor in a folder of PATH",
                folder.display()
            )
        })?;
        Ok(Self {
            executable,
            folder: Some(folder),
        })
    }

    /// The file that is run.
    pub fn executable(&self) -> &Path {
        &self.executable
    }

    pub(crate) fn folder_variable(&self) -> Option<(&'static str, &Path)> {
        Some((TEMPLATE_FOLDER, self.folder.as_deref()?))
    }
}

fn template_adapter() -> Option<PathBuf> {
    let beside = env::current_exe().ok()?.parent()?.join(TEMPLATE_ADAPTER);
    let path = env::var_os("PATH").unwrap_or_default();
    let candidates = env::split_paths(&path).map(|folder| folder.join(TEMPLATE_ADAPTER));
    [beside]
        .into_iter()
        .chain(candidates)
        .find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
