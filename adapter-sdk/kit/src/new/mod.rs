//! A new adapter: a folder that passes `odb-adapter check` and takes orders at once.
//!
//! | file | contents |
//! | --- | --- |
//! | here | creating the folder, and errors |
//! | `command` | the command line |
//! | `name` | valid names of adapters |
//! | `sdk` | where an adapter in Rust finds the SDK |
//! | `skeleton` | the files, from `skeletons/` with their placeholders |

mod command;
mod name;
mod sdk;
mod skeleton;

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

pub use command::{NewArguments, execute};
pub use name::{AdapterName, NotAnAdapterName};
pub use sdk::{NoSdk, Sdk};

use skeleton::{File, Placeholders};

/// The language of an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Language {
    /// Rust, with this SDK.
    Rust(Sdk),
    /// Templates, served by `template-service-adapter`.
    Templates,
}

/// A new adapter to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAdapter {
    folder: PathBuf,
    name: AdapterName,
    language: Language,
}

/// Why the adapter could not be created.
#[derive(Debug, thiserror::Error)]
pub enum NewAdapterError {
    /// The last part of the path is no name.
    #[error("the folder cannot be that of an adapter")]
    Name(#[source] NotAnAdapterName),
    /// There is something already.
    #[error("`{}` already exists; choose another name, or remove it first", .0.display())]
    Exists(PathBuf),
    /// The folder could not be made.
    #[error("could not make the folder `{}`", folder.display())]
    MakeFolder {
        /// The folder.
        folder: PathBuf,
        /// The underlying error.
        #[source]
        source: io::Error,
    },
    /// A file could not be written.
    #[error("could not write `{}`", file.display())]
    WriteFile {
        /// The file.
        file: PathBuf,
        /// The underlying error.
        #[source]
        source: io::Error,
    },
}

impl NewAdapter {
    /// An adapter in a folder that does not exist yet and is called as the adapter is to be.
    pub fn at(folder: &Path, language: Language) -> Result<Self, NewAdapterError> {
        let name = folder
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        Ok(Self {
            folder: folder.to_owned(),
            name: name.parse().map_err(NewAdapterError::Name)?,
            language,
        })
    }

    /// Its name.
    pub fn name(&self) -> &AdapterName {
        &self.name
    }

    /// Creates the folder with all files. On an error nothing remains.
    pub fn make(&self) -> Result<(), NewAdapterError> {
        fs::create_dir(&self.folder).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => NewAdapterError::Exists(self.folder.clone()),
            _ => NewAdapterError::MakeFolder {
                folder: self.folder.clone(),
                source,
            },
        })?;
        self.fill().inspect_err(|_| {
            // The original error is reported, not one of this clean-up.
            let _ = fs::remove_dir_all(&self.folder);
        })
    }

    fn fill(&self) -> Result<(), NewAdapterError> {
        let placeholders = Placeholders::new(&self.name, &self.language);
        let of_the_language = match &self.language {
            Language::Rust(_) => skeleton::RUST,
            Language::Templates => skeleton::TEMPLATES,
        };
        for file in skeleton::SHARED.iter().chain(of_the_language) {
            let path = self.folder.join(placeholders.fill(file.path));
            write(&path, file, &placeholders.fill(file.text))
                .map_err(|source| NewAdapterError::WriteFile { file: path, source })?;
        }
        self.take_the_lock_along()
    }

    /// An adapter is built with the versions of crates that its SDK is tested with.
    fn take_the_lock_along(&self) -> Result<(), NewAdapterError> {
        let Language::Rust(sdk) = &self.language else {
            return Ok(());
        };
        let Some(lock) = sdk.lock() else {
            return Ok(());
        };
        let file = self.folder.join("Cargo.lock");
        match fs::copy(lock, &file) {
            Ok(_) => Ok(()),
            Err(source) => Err(NewAdapterError::WriteFile { file, source }),
        }
    }
}

fn write(path: &Path, file: &File, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(file.kind.mode())
        .open(path)?
        .write_all(text.as_bytes())
}
