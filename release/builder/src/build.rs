//! From a release folder to a tarball.

use std::{
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use crate::{
    archive::{self, WriteError},
    contents::{Contents, ContentsError, Mode},
    digest::Digest,
    release_folder::{FolderError, Part, ReleaseFolder},
    release_manifest::{
        JobEntry, LicenseEntry, ManifestError, PackageEntry, ReleaseManifest, ResourceEntry,
    },
    version::{InvalidVersion, ReleaseVersion},
};

/// The options of a build.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// The version of the release.
    pub version: VersionChoice,
    /// Where its sources come from.
    pub origin: Origin,
}

/// How the version of a release is chosen.
#[derive(Clone, Debug)]
pub enum VersionChoice {
    /// This one.
    Given(ReleaseVersion),
    /// This one, the commit, and what names the content.
    FromCommit {
        /// The version of the project.
        release: String,
    },
}

/// Where the sources of a release come from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A commit, perhaps with changes on top.
    Commit {
        /// Its hash.
        hash: String,
        /// Whether there are changes on top.
        uncommitted_changes: bool,
    },
    /// No repository.
    NotVersioned,
}

/// A tarball that has been made.
#[derive(Clone, Debug)]
pub struct Built {
    /// Where it is.
    pub path: PathBuf,
    /// The name of the release.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// Why there is no tarball.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The folder is not as it should be.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A file that was there a moment ago.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    /// An archive cannot be written.
    #[error("the archive of `{name}` cannot be made")]
    Archive {
        /// Whose.
        name: String,
        /// Why.
        source: WriteError,
    },
    /// The version that comes of the commit is none.
    #[error(transparent)]
    Version(#[from] InvalidVersion),
    /// The list of what the release holds.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The tarball cannot be written.
    #[error("`{path}` cannot be written")]
    Unwritable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Makes a tarball of a release folder (`config/final.yml`, `jobs`, `packages`, `src`, `LICENSE`). The same folder
/// makes the same bytes. `output` is the tarball's path, or a folder for it. Nothing is left of a tarball that fails.
pub fn build(folder: &Path, options: &BuildOptions, output: &Path) -> Result<Built, BuildError> {
    let ReleaseFolder {
        name,
        jobs,
        packages,
        license,
    } = ReleaseFolder::read(folder)?;

    let (commit_hash, uncommitted_changes) = options.origin.as_members();
    let fingerprints = jobs
        .iter()
        .map(|job| &job.part.fingerprint)
        .chain(packages.iter().map(|package| &package.part.fingerprint));
    let version = options
        .version
        .resolve(&options.origin, &content_of(fingerprints))?;
    let mut manifest = ReleaseManifest::new(name, &version, commit_hash, uncommitted_changes);

    let mut release = Contents::default();
    for job in &jobs {
        manifest.jobs.push(JobEntry {
            resource: pack(&job.part, "jobs", &mut release)?,
            packages: job.packages.clone(),
        });
    }
    for package in &packages {
        manifest.packages.push(PackageEntry {
            resource: pack(&package.part, "packages", &mut release)?,
            dependencies: package.dependencies.clone(),
        });
    }
    if let Some(license) = license {
        let entry = pack(&license, "", &mut release)?;
        manifest.license = Some(LicenseEntry {
            version: entry.version,
            fingerprint: entry.fingerprint,
            sha1: entry.sha1,
        });
    }
    let text = manifest.to_yaml()?;
    release.add_bytes("release.MF".to_owned(), text.into_bytes(), Mode::Plain);
    let output = if output.is_dir() {
        output.join(format!("{}-{}.tgz", manifest.name, manifest.version))
    } else {
        output.to_owned()
    };
    write_release(&release, &output)?;
    Ok(Built {
        path: output,
        name: manifest.name,
        version: manifest.version,
    })
}

impl Origin {
    fn as_members(&self) -> (String, bool) {
        match self {
            Self::Commit {
                hash,
                uncommitted_changes,
            } => (hash.clone(), *uncommitted_changes),
            // As `bosh create-release` has it.
            Self::NotVersioned => ("non-git".to_owned(), false),
        }
    }
}

impl VersionChoice {
    /// A Director refuses other content under the name of a version that it has. One commit makes several: sources, and
    /// programs as each compiler makes them.
    fn resolve(&self, origin: &Origin, content: &str) -> Result<ReleaseVersion, InvalidVersion> {
        match (self, origin) {
            (Self::Given(version), _) => Ok(version.clone()),
            (Self::FromCommit { release }, Origin::Commit { hash, .. }) => {
                ReleaseVersion::of_commit(release, hash)?.with_component(content)
            }
            (Self::FromCommit { release }, Origin::NotVersioned) => {
                release.parse::<ReleaseVersion>()?.with_component(content)
            }
        }
    }
}

/// A name of all the content, short and no number.
fn content_of<'a>(fingerprints: impl Iterator<Item = &'a String>) -> String {
    let all: String = fingerprints.map(String::as_str).collect();
    format!("c{}", &Digest::of(all.as_bytes()).digits()[..8])
}

/// Puts the archive of a part into the release, and says what the release's list has to say of it.
fn pack(part: &Part, folder: &str, release: &mut Contents) -> Result<ResourceEntry, BuildError> {
    let archive =
        archive::write(&part.contents, Vec::new()).map_err(|source| BuildError::Archive {
            name: part.name.clone(),
            source,
        })?;
    let sha1 = Digest::of(&archive);
    let location = if folder.is_empty() {
        format!("{}.tgz", part.name)
    } else {
        format!("{folder}/{}.tgz", part.name)
    };
    release.add_bytes(location, archive, Mode::Plain);
    Ok(ResourceEntry {
        name: part.name.clone(),
        version: part.fingerprint.clone(),
        fingerprint: part.fingerprint.clone(),
        sha1,
    })
}

/// Writes to a temporary file first, so that readers see a complete tarball or none.
fn write_release(release: &Contents, output: &Path) -> Result<(), BuildError> {
    let unwritable = |source| BuildError::Unwritable {
        path: output.to_owned(),
        source,
    };
    let folder = match output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let file = tempfile::Builder::new()
        .prefix(".release-")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(folder)
        .map_err(unwritable)?;
    archive::write(release, BufWriter::new(file.as_file()))
        .map_err(|error| match error {
            WriteError::Archive(source) => unwritable(source),
            WriteError::Contents(error) => error.into(),
        })?
        .flush()
        .map_err(unwritable)?;
    file.persist(output)
        .map_err(|error| unwritable(error.error))?;
    Ok(())
}
