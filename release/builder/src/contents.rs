//! The files of a job or package.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Component, Path, PathBuf},
};

use crate::digest::Digest;

/// The files of a job, of a package or of a licence, by their paths in its archive, in the order of the paths.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    files: BTreeMap<String, Entry>,
}

/// One of them.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Where its bytes are.
    pub bytes: Bytes,
    /// Its permissions.
    pub mode: Mode,
}

/// Where the bytes of a file are.
#[derive(Clone, Debug)]
pub enum Bytes {
    /// In a file.
    OnDisk(PathBuf),
    /// Here.
    InMemory(Vec<u8>),
}

/// Releases know two kinds of files, as git does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Mode 0644.
    Plain,
    /// Mode 0755.
    Executable,
}

/// A file that cannot be part of a job or package.
#[derive(Debug, thiserror::Error)]
pub enum ContentsError {
    /// It cannot be read.
    #[error("`{path}` cannot be read")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is something else than a file.
    #[error("`{path}` is no plain file; put the file itself in the place of a link or device")]
    NotAFile {
        /// The thing.
        path: PathBuf,
    },
    /// The path in the archive would leave it.
    #[error(
        "`{path}` cannot be the path of a file in an archive: paths are relative, UTF-8 and stay in their folder"
    )]
    OrphanedPath {
        /// The path.
        path: PathBuf,
    },
}

impl Contents {
    /// Adds a file of the disk under that path.
    pub fn add_file(&mut self, name: &Path, path: &Path) -> Result<(), ContentsError> {
        let unreadable = |source| ContentsError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let metadata = fs::symlink_metadata(path).map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(ContentsError::NotAFile {
                path: path.to_owned(),
            });
        }
        let name = name_in_archive(name).ok_or_else(|| ContentsError::OrphanedPath {
            path: name.to_owned(),
        })?;
        let entry = Entry {
            bytes: Bytes::OnDisk(path.to_owned()),
            mode: Mode::of(metadata.permissions().mode()),
        };
        self.files.insert(name, entry);
        Ok(())
    }

    /// Adds a file with these bytes; the name has been looked at.
    pub fn add_bytes(&mut self, name: String, bytes: Vec<u8>, mode: Mode) {
        let entry = Entry {
            bytes: Bytes::InMemory(bytes),
            mode,
        };
        self.files.insert(name, entry);
    }

    /// The files, in the order of their paths.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.files
            .iter()
            .map(|(name, entry)| (name.as_str(), entry))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

impl Entry {
    /// Its bytes.
    pub fn read(&self) -> Result<Vec<u8>, ContentsError> {
        match &self.bytes {
            Bytes::InMemory(bytes) => Ok(bytes.clone()),
            Bytes::OnDisk(path) => fs::read(path).map_err(|source| ContentsError::Unreadable {
                path: path.clone(),
                source,
            }),
        }
    }

    /// The digest of its bytes.
    pub fn digest(&self) -> Result<Digest, ContentsError> {
        match &self.bytes {
            Bytes::InMemory(bytes) => Ok(Digest::of(bytes)),
            Bytes::OnDisk(path) => {
                Digest::of_file(path).map_err(|source| ContentsError::Unreadable {
                    path: path.clone(),
                    source,
                })
            }
        }
    }
}

impl Mode {
    /// The mode for these permission bits.
    pub fn of(bits: u32) -> Self {
        if bits & 0o111 == 0 {
            Self::Plain
        } else {
            Self::Executable
        }
    }

    /// The permission bits.
    pub fn bits(self) -> u32 {
        match self {
            Self::Plain => 0o644,
            Self::Executable => 0o755,
        }
    }
}

/// A relative path that stays where it begins, as text.
fn name_in_archive(path: &Path) -> Option<String> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}
