//! From the project to a release folder.
//!
//! | module | contents |
//! | --- | --- |
//! | `programs` | the programs of each package |
//! | `binaries` | existing programs, stripped |
//! | `sources` | the part of the workspace with a package's programs |
//! | `vendored` | the crates that they need |
//! | `toolchain` | the operator's Rust toolchain |
//! | `child` | a command with a deadline |

mod binaries;
mod child;
mod programs;
mod sources;
mod toolchain;
mod vendored;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use walkdir::WalkDir;

use crate::{digest::Digest, executable::ExecutableError};

pub use child::ChildError;
pub use toolchain::ToolchainError;

/// `config/blobs.yml` of a folder without blobs: packages only need files below `src`. The `bosh` command line requires
/// this file.
const NO_BLOBS: &str = "--- {}\n";

/// Files that `bosh create-release` writes between its two calls of `git status`, and files that must not be committed.
/// From the top folder only, because vendored sources may have folders of these names.
const GIT_IGNORE: &str = "\
/.blobs
/.dev_builds
/blobs
/config/private.yml
/dev_releases
/releases/**/*.tgz
";

/// The content of the packages of a release.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Programs that are in this folder; nothing is compiled on VMs.
    Binary {
        /// The folder.
        binaries: PathBuf,
    },
    /// Sources, and the toolchain that compiles them on VMs.
    Source {
        /// The standalone installer of the toolchain.
        rust_toolchain: PathBuf,
    },
}

/// The result of staging.
#[derive(Clone, Debug)]
pub struct Staged {
    /// The digest of the toolchain, where there is one: to be compared with the one that its makers publish.
    pub toolchain: Option<Digest>,
}

/// Why there is no release folder.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The folder is not empty.
    #[error("`{0}` is not empty; name a folder that does not exist yet")]
    NotEmpty(PathBuf),
    /// A file or folder cannot be read or written.
    #[error("`{path}` cannot be copied or written")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program is not there.
    #[error(
        "there is no program `{path}`; build it first: `cargo build --locked --release --bins --package {package}`"
    )]
    NoProgram {
        /// Where it should be.
        path: PathBuf,
        /// The package with the error.
        package: &'static str,
    },
    /// A program does not run on stemcells.
    #[error("`{path}` {error}")]
    Program {
        /// Which.
        path: PathBuf,
        /// The error.
        error: ExecutableError,
    },
    /// A `Cargo.toml` of the workspace.
    #[error("`{path}` cannot be understood")]
    Cargo {
        /// Which.
        path: PathBuf,
        /// Why.
        source: toml_edit::TomlError,
    },
    /// A `Cargo.toml` of the workspace lacks something.
    #[error("`{path}` has no {missing}")]
    Workspace {
        /// Which.
        path: PathBuf,
        /// What the package needs.
        missing: &'static str,
    },
    /// Cargo has chosen another version of a crate than `Cargo.lock` has.
    #[error(
        "the sources of `{package}` would be compiled with another `{dependency}` than `Cargo.lock` names"
    )]
    OtherDependency {
        /// The package of the release.
        package: &'static str,
        /// The crate.
        dependency: String,
    },
    /// Cargo's digests of a crate cannot be parsed.
    #[error("a `.cargo-checksum.json` of `cargo vendor` cannot be understood")]
    Checksum(#[source] serde_json::Error),
    /// The toolchain.
    #[error("`{path}` {error}")]
    Toolchain {
        /// Its file.
        path: PathBuf,
        /// The error.
        error: ToolchainError,
    },
    /// A command.
    #[error(transparent)]
    Child(#[from] ChildError),
}

/// Lays a release folder out of the project: `config`, `jobs`, `packages`, `src` and the licence.
pub fn stage(project: &Path, kind: &Kind, into: &Path) -> Result<Staged, StageError> {
    make_empty(into)?;
    let release = project.join("release");
    let packages = match kind {
        Kind::Binary { .. } => "packages/binary",
        Kind::Source { .. } => "packages/source",
    };
    copy_file(
        &release.join("config/final.yml"),
        &into.join("config/final.yml"),
    )?;
    write_file(&into.join("config/blobs.yml"), NO_BLOBS)?;
    write_file(&into.join(".gitignore"), GIT_IGNORE)?;
    copy_folder(&release.join("jobs"), &into.join("jobs"))?;
    copy_folder(&release.join(packages), &into.join("packages"))?;
    copy_file(&project.join("LICENSE"), &into.join("LICENSE"))?;
    let sources = into.join("src");
    let toolchain = match kind {
        Kind::Binary { binaries } => {
            binaries::stage(binaries, &sources)?;
            None
        }
        Kind::Source { rust_toolchain } => {
            let toolchain = toolchain::stage(project, rust_toolchain, &sources)?;
            for package in &programs::PACKAGES {
                sources::stage(project, package, &sources)?;
            }
            Some(toolchain)
        }
    };
    Ok(Staged { toolchain })
}

fn make_empty(folder: &Path) -> Result<(), StageError> {
    fs::create_dir_all(folder).map_err(|source| failed(folder, source))?;
    let mut entries = fs::read_dir(folder).map_err(|source| failed(folder, source))?;
    if entries.next().is_some() {
        return Err(StageError::NotEmpty(folder.to_owned()));
    }
    Ok(())
}

/// Copies files and their permissions; folders without files are left out.
fn copy_folder(from: &Path, to: &Path) -> Result<(), StageError> {
    for entry in WalkDir::new(from).sort_by_file_name() {
        let entry = entry.map_err(|error| failed(from, error.into()))?;
        if entry.file_type().is_dir() {
            continue;
        }
        let name = entry.path().strip_prefix(from).unwrap_or(entry.path());
        copy_file(entry.path(), &to.join(name))?;
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> Result<(), StageError> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(|source| failed(folder, source))?;
    }
    fs::copy(from, to)
        .map(drop)
        .map_err(|source| failed(from, source))
}

fn write_file(path: &Path, text: &str) -> Result<(), StageError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|source| failed(folder, source))?;
    }
    fs::write(path, text).map_err(|source| failed(path, source))
}

fn read_file(path: &Path) -> Result<String, StageError> {
    fs::read_to_string(path).map_err(|source| failed(path, source))
}

fn failed(path: &Path, source: io::Error) -> StageError {
    StageError::Io {
        path: path.to_owned(),
        source,
    }
}
