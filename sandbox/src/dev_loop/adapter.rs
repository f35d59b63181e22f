//! The author's adapter: an executable, or a folder that `template-service-adapter` makes an adapter of.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use super::executables::{ExecutableError, Executables};

/// Owner may read and execute, as the broker demands.
const READ_AND_EXECUTE: u32 = 0o500;

const DESCRIPTION: &str = "adapter.yml";

const SERVER: &str = "template-service-adapter";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Adapter {
    Executable(PathBuf),
    Folder {
        folder: PathBuf,
        /// `template-service-adapter`.
        server: PathBuf,
    },
}

/// There is no adapter.
#[derive(Debug, thiserror::Error)]
pub(super) enum AdapterError {
    #[error("could not find the adapter `{}`", path.display())]
    Missing {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the adapter `{}` is a file that cannot be executed; `chmod +x` makes it one that can", .0.display())]
    NotExecutable(PathBuf),
    #[error(
        "the folder `{}` is no adapter: it has no `{DESCRIPTION}`; --adapter names an executable, or a folder with that file",
        .0.display()
    )]
    NotDescribed(PathBuf),
    #[error("`{}` is an adapter by means of another executable", folder.display())]
    Server {
        folder: PathBuf,
        #[source]
        source: ExecutableError,
    },
}

impl Adapter {
    pub(super) fn find(path: &Path, executables: &Executables) -> Result<Self, AdapterError> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let found = fs::metadata(&path).map_err(|source| AdapterError::Missing {
            path: path.clone(),
            source,
        })?;
        if found.is_dir() {
            return if path.join(DESCRIPTION).is_file() {
                Self::of_folder(path, executables)
            } else {
                Err(AdapterError::NotDescribed(path))
            };
        }
        if is_executable(found.permissions().mode()) {
            return Ok(Self::Executable(path));
        }
        match path.parent() {
            Some(folder) if path.file_name() == Some(DESCRIPTION.as_ref()) => {
                Self::of_folder(folder.to_owned(), executables)
            }
            _ => Err(AdapterError::NotExecutable(path)),
        }
    }

    fn of_folder(folder: PathBuf, executables: &Executables) -> Result<Self, AdapterError> {
        match executables.find(SERVER) {
            Ok(server) => Ok(Self::Folder { folder, server }),
            Err(source) => Err(AdapterError::Server { folder, source }),
        }
    }

    /// The files that make it: one executable, or all in the folder.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Executable(path) => path,
            Self::Folder { folder, .. } => folder,
        }
    }

    /// Whether it can be called now. While it is built anew it cannot.
    pub(super) fn is_whole(&self) -> bool {
        match self {
            Self::Executable(path) => fs::metadata(path)
                .is_ok_and(|found| found.is_file() && is_executable(found.permissions().mode())),
            Self::Folder { folder, .. } => folder.join(DESCRIPTION).is_file(),
        }
    }

    /// The executable that the broker is to call. `service_adapter.path` takes no arguments, so that for a folder one
    /// is written.
    pub(super) fn executable(&self, made: &Path) -> io::Result<PathBuf> {
        let (folder, server) = match self {
            Self::Executable(path) => return Ok(path.clone()),
            Self::Folder { folder, server } => (folder, server),
        };
        let script = format!(
            "#!/bin/sh\nexec {} {} \"$@\"\n",
            quoted(server),
            quoted(folder)
        );
        let unfinished = made.with_extension("unfinished");
        if let Err(error) = fs::remove_file(&unfinished)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o700)
            .open(&unfinished)?;
        file.write_all(script.as_bytes())?;
        drop(file);
        fs::rename(&unfinished, made)?;
        Ok(made.to_owned())
    }
}

fn is_executable(mode: u32) -> bool {
    mode & READ_AND_EXECUTE == READ_AND_EXECUTE
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn executables(folder: &Path) -> Executables {
        let server = folder.join(SERVER);
        fs::write(&server, "#!/bin/sh\nfor word; do echo \"$word\"; done\n").unwrap();
        fs::set_permissions(&server, PermissionsExt::from_mode(0o755)).unwrap();
        Executables::in_folders(vec![folder.to_owned()])
    }

    #[test]
    fn a_folder_with_an_adapter_yml_is_served_with_its_path_as_first_argument() {
        let folder = tempfile::tempdir().unwrap();
        let executables = executables(folder.path());
        let templates = folder.path().join("the author's own");
        fs::create_dir(&templates).unwrap();
        let refused = Adapter::find(&templates, &executables).unwrap_err();
        assert!(refused.to_string().contains("adapter.yml"), "{refused}");

        fs::write(templates.join(DESCRIPTION), "").unwrap();
        for path in [templates.clone(), templates.join(DESCRIPTION)] {
            let adapter = Adapter::find(&path, &executables).unwrap();
            let made = adapter.executable(&folder.path().join("made")).unwrap();
            let said = Command::new(made)
                .arg("generate-manifest")
                .output()
                .unwrap();
            let said = String::from_utf8(said.stdout).unwrap();
            let words: Vec<&str> = said.lines().collect();
            assert_eq!(words, [templates.to_str().unwrap(), "generate-manifest"]);
        }
    }

    #[test]
    fn a_file_that_cannot_be_executed_is_refused_with_what_would_help() {
        let folder = tempfile::tempdir().unwrap();
        let executables = executables(folder.path());
        let file = folder.path().join("adapter");
        let missing = Adapter::find(&file, &executables).unwrap_err();
        assert!(matches!(missing, AdapterError::Missing { .. }), "{missing}");

        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        let refused = Adapter::find(&file, &executables).unwrap_err();

        assert!(refused.to_string().contains("chmod +x"), "{refused}");
    }
}
