use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// File that makes a folder an adapter of templates.
const TEMPLATE_FILE: &str = "adapter.yml";

/// Where `odb-adapter new` puts that folder.
const FOLDER_OF_NEW: &str = "adapter";

/// The executable that serves such folders.
const TEMPLATE_ADAPTER: &str = "template-service-adapter";

/// The variable that names the folder to serve.
const TEMPLATE_FOLDER: &str = "SERVICE_ADAPTER_FOLDER";

/// An adapter's executable and the environment variables that it requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub(super) executable: PathBuf,
    pub(super) environment: Vec<(OsString, OsString)>,
}

/// Why a path is no adapter.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// There is nothing to look at.
    #[error("could not look at `{}`", path.display())]
    Unreadable {
        /// The path as it was given.
        path: PathBuf,
        /// The underlying error.
        #[source]
        source: io::Error,
    },
    /// A file that cannot be run.
    #[error("`{}` is not executable; make it so with `chmod +x`", path.display())]
    NotExecutable {
        /// The path.
        path: PathBuf,
    },
    /// A folder without an adapter in it.
    #[error("folder `{}` has no `{TEMPLATE_FILE}`, so it is not a template adapter", path.display())]
    NoTemplates {
        /// The folder.
        path: PathBuf,
    },
    /// A folder without an adapter in it, and one in a folder of it.
    #[error("folder `{}` has no `{TEMPLATE_FILE}`; did you mean `{}`?", path.display(), meant.display())]
    NoTemplatesHere {
        /// The folder as it was given.
        path: PathBuf,
        /// The folder in it that has an adapter.
        meant: PathBuf,
    },
    /// A folder of templates, without an executable to serve it.
    #[error(
        "`{}` is a folder of templates, and `{TEMPLATE_ADAPTER}` is neither beside this executable nor in a folder of PATH",
        path.display()
    )]
    NoTemplateAdapter {
        /// The folder.
        path: PathBuf,
    },
}

impl Program {
    /// The adapter at a path: an executable file, or a folder of templates.
    pub fn at(path: &Path) -> Result<Self, ProgramError> {
        let unreadable = |source| ProgramError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let absolute = fs::canonicalize(path).map_err(unreadable)?;
        if absolute.is_dir() {
            let meant = path.join(FOLDER_OF_NEW);
            if !absolute.join(TEMPLATE_FILE).is_file() && meant.join(TEMPLATE_FILE).is_file() {
                let path = path.to_owned();
                return Err(ProgramError::NoTemplatesHere { path, meant });
            }
            return Self::of_folder(&absolute);
        }
        // Called by the given name, because an adapter may read its own name.
        let called = std::path::absolute(path).map_err(unreadable)?;
        if is_executable(&called) {
            Ok(Self {
                executable: called,
                environment: Vec::new(),
            })
        } else {
            Err(ProgramError::NotExecutable {
                path: path.to_owned(),
            })
        }
    }

    /// The file that is run.
    pub fn executable(&self) -> &Path {
        &self.executable
    }

    fn of_folder(folder: &Path) -> Result<Self, ProgramError> {
        if !folder.join(TEMPLATE_FILE).is_file() {
            return Err(ProgramError::NoTemplates {
                path: folder.to_owned(),
            });
        }
        let executable = template_adapter().ok_or_else(|| ProgramError::NoTemplateAdapter {
            path: folder.to_owned(),
        })?;
        Ok(Self {
            executable,
            environment: vec![(TEMPLATE_FOLDER.into(), folder.into())],
        })
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
