//! A release folder, as the `bosh` command line knows it: `config/final.yml`, `jobs`, `packages`, `src`, `blobs`,
//! `LICENSE`.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use walkdir::WalkDir;

use crate::{
    contents::{Contents, ContentsError},
    fingerprint::{Subject, fingerprint},
    specification::{JobSpecification, PackageSpecification, from_yaml},
};

/// The content of a release folder.
#[derive(Debug)]
pub struct ReleaseFolder {
    /// The name of the release.
    pub name: String,
    /// The jobs, by name.
    pub jobs: Vec<JobPart>,
    /// The packages, by name.
    pub packages: Vec<PackagePart>,
    /// The licence, where there is one.
    pub license: Option<Part>,
}

/// A job, a package or the licence before it is packed.
#[derive(Debug)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its files, by their paths in its archive.
    pub contents: Contents,
    /// The digest of its content.
    pub fingerprint: String,
}

/// A job before it is packed.
#[derive(Debug)]
pub struct JobPart {
    /// Its files.
    pub part: Part,
    /// The packages that come to each VM with it.
    pub packages: Vec<String>,
}

/// A package before it is packed.
#[derive(Debug)]
pub struct PackagePart {
    /// Its files.
    pub part: Part,
    /// The packages that are there while it is compiled.
    pub dependencies: Vec<String>,
}

/// Errors in a release folder.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file that is needed is missing or cannot be read.
    #[error("`{path}` cannot be read")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A `spec` or `final.yml` says something else than it should.
    #[error("`{path}` is not as BOSH wants it")]
    Specification {
        /// Which.
        path: PathBuf,
        /// Where and what.
        source: Box<serde_saphyr::Error>,
    },
    /// Folder and `spec` disagree.
    #[error("`{path}` names `{name}`; it has to be the name of its folder")]
    Name {
        /// The `spec`.
        path: PathBuf,
        /// The name in its specification.
        name: String,
    },
    /// A pattern of a package's `files` is no pattern.
    #[error("`{pattern}` among `files` of `{path}` is no pattern of paths")]
    Pattern {
        /// The `spec`.
        path: PathBuf,
        /// Which.
        pattern: String,
        /// Why.
        source: globset::Error,
    },
    /// A pattern of a package's `files` finds nothing.
    #[error(
        "`{pattern}` among `files` of `{path}` fits no file below `src` or `blobs`; put the file there, or drop the pattern"
    )]
    NoFiles {
        /// The `spec`.
        path: PathBuf,
        /// Which.
        pattern: String,
    },
    /// A file cannot be part of the release.
    #[error(transparent)]
    Contents(#[from] ContentsError),
}

impl ReleaseFolder {
    /// Reads the folder, but for the bytes of what is packed.
    pub fn read(folder: &Path) -> Result<Self, FolderError> {
        Ok(Self {
            name: read_name(folder)?,
            jobs: read_jobs(folder)?,
            packages: read_packages(folder)?,
            license: read_license(folder)?,
        })
    }
}

#[derive(serde::Deserialize)]
struct FinalConfiguration {
    name: String,
}

fn read_name(folder: &Path) -> Result<String, FolderError> {
    read_yaml::<FinalConfiguration>(&folder.join("config/final.yml")).map(|read| read.name)
}

fn read_jobs(folder: &Path) -> Result<Vec<JobPart>, FolderError> {
    subfolders(&folder.join("jobs"))?
        .into_iter()
        .map(|job| read_job(&job))
        .collect()
}

fn read_job(folder: &Path) -> Result<JobPart, FolderError> {
    let path = folder.join("spec");
    let specification: JobSpecification = read_yaml(&path)?;
    check_name(folder, &path, &specification.name)?;
    let mut contents = Contents::default();
    contents.add_file(Path::new("job.MF"), &path)?;
    contents.add_file(Path::new("monit"), &folder.join("monit"))?;
    for template in specification.templates.keys() {
        let name = Path::new("templates").join(template);
        contents.add_file(&name, &folder.join(&name))?;
    }
    let fingerprint = fingerprint(&contents, Subject::Job)?;
    Ok(JobPart {
        part: Part {
            name: specification.name,
            contents,
            fingerprint,
        },
        packages: specification.packages,
    })
}

fn read_packages(folder: &Path) -> Result<Vec<PackagePart>, FolderError> {
    subfolders(&folder.join("packages"))?
        .into_iter()
        .map(|package| read_package(folder, &package))
        .collect()
}

fn read_package(release: &Path, folder: &Path) -> Result<PackagePart, FolderError> {
    let path = folder.join("spec");
    let specification: PackageSpecification = read_yaml(&path)?;
    check_name(folder, &path, &specification.name)?;
    let mut contents = Contents::default();
    contents.add_file(Path::new("packaging"), &folder.join("packaging"))?;
    add_package_files(release, &path, &specification, &mut contents)?;
    let fingerprint = fingerprint(
        &contents,
        Subject::Package {
            dependencies: &specification.dependencies,
        },
    )?;
    Ok(PackagePart {
        part: Part {
            name: specification.name,
            contents,
            fingerprint,
        },
        dependencies: specification.dependencies,
    })
}

/// The files below `src` and `blobs` that fit the patterns; each pattern has to fit one.
fn add_package_files(
    release: &Path,
    path: &Path,
    specification: &PackageSpecification,
    contents: &mut Contents,
) -> Result<(), FolderError> {
    let wanted = patterns(path, &specification.files)?;
    let excluded = patterns(path, &specification.excluded_files)?;
    let mut found = BTreeSet::new();
    for root in [release.join("src"), release.join("blobs")] {
        if !root.is_dir() {
            continue;
        }
        for entry in WalkDir::new(&root).sort_by_file_name() {
            let entry = entry.map_err(|error| unreadable(&root, error.into()))?;
            if entry.file_type().is_dir() {
                continue;
            }
            let name = entry.path().strip_prefix(&root).unwrap_or(entry.path());
            let fits = wanted.matches(name);
            if fits.is_empty() || excluded.is_match(name) {
                continue;
            }
            found.extend(fits);
            contents.add_file(name, entry.path())?;
        }
    }
    match (0..specification.files.len()).find(|pattern| !found.contains(pattern)) {
        None => Ok(()),
        Some(pattern) => Err(FolderError::NoFiles {
            path: path.to_owned(),
            pattern: specification.files[pattern].clone(),
        }),
    }
}

fn patterns(path: &Path, texts: &[String]) -> Result<GlobSet, FolderError> {
    let pattern = |text: &str, source| FolderError::Pattern {
        path: path.to_owned(),
        pattern: text.to_owned(),
        source,
    };
    let mut set = GlobSetBuilder::new();
    for text in texts {
        let glob = GlobBuilder::new(text)
            .literal_separator(true)
            .build()
            .map_err(|source| pattern(text, source))?;
        set.add(glob);
    }
    set.build().map_err(|source| pattern("", source))
}

fn read_license(folder: &Path) -> Result<Option<Part>, FolderError> {
    let mut contents = Contents::default();
    for path in entries(folder)? {
        let name = path.file_name().map_or(path.as_path(), Path::new);
        let text = name.to_string_lossy();
        if text.starts_with("LICENSE") || text.starts_with("NOTICE") {
            contents.add_file(name, &path)?;
        }
    }
    if contents.is_empty() {
        return Ok(None);
    }
    let fingerprint = fingerprint(&contents, Subject::License)?;
    Ok(Some(Part {
        name: "license".to_owned(),
        contents,
        fingerprint,
    }))
}

fn check_name(folder: &Path, path: &Path, name: &str) -> Result<(), FolderError> {
    if folder.file_name().is_some_and(|folder| folder == name) {
        Ok(())
    } else {
        Err(FolderError::Name {
            path: path.to_owned(),
            name: name.to_owned(),
        })
    }
}

fn read_yaml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, FolderError> {
    let text = fs::read_to_string(path).map_err(|source| unreadable(path, source))?;
    from_yaml(&text).map_err(|source| FolderError::Specification {
        path: path.to_owned(),
        source: Box::new(source),
    })
}

fn subfolders(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let mut folders = entries(folder)?;
    folders.retain(|path| path.is_dir());
    Ok(folders)
}

/// The entries of a folder, by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let mut paths = fs::read_dir(folder)
        .and_then(|entries| {
            entries
                .map(|entry| Ok(entry?.path()))
                .collect::<io::Result<Vec<_>>>()
        })
        .map_err(|source| unreadable(folder, source))?;
    paths.sort();
    Ok(paths)
}

fn unreadable(path: &Path, source: io::Error) -> FolderError {
    FolderError::Unreadable {
        path: path.to_owned(),
        source,
    }
}
