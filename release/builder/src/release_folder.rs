//! A release folder, as the `bosh` command line knows it: `config/final.yml`, `jobs`, `packages`, `src`, `blobs`,
//! `LICENSE`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail, ensure};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, de::DeserializeOwned};
use serde_saphyr::DuplicateKeyPolicy;
use walkdir::WalkDir;

use crate::contents::{Contents, Subject, unreadable};

#[derive(Debug)]
pub(crate) struct ReleaseFolder {
    pub(crate) name: String,
    pub(crate) jobs: Vec<Part>,
    pub(crate) packages: Vec<Part>,
    pub(crate) license: Option<Part>,
}

/// A job, a package or the licence before it is packed.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    /// Its files, by their paths in its archive.
    pub(crate) contents: Contents,
    pub(crate) fingerprint: String,
    /// Of a job, the packages that come to each VM with it. Of a package, those that are there while it is compiled.
    pub(crate) packages: Vec<String>,
}

/// The `spec` of a job, as far as a release's structure goes; in its archive it is `job.MF`
/// (<https://bosh.io/docs/jobs/>).
#[derive(Deserialize)]
struct JobSpecification {
    name: String,
    /// From template to rendered file.
    #[serde(default)]
    templates: BTreeMap<String, String>,
    #[serde(default)]
    packages: Vec<String>,
    // These only have to be of the right form.
    #[serde(default, rename = "properties")]
    _properties: Option<BTreeMap<String, serde_json::Value>>,
    #[serde(default, rename = "provides")]
    _provides: Option<Vec<Link>>,
    #[serde(default, rename = "consumes")]
    _consumes: Option<Vec<Link>>,
}

#[derive(Deserialize)]
struct Link {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "type")]
    _kind: String,
    #[serde(rename = "optional")]
    _optional: Option<bool>,
}

/// The `spec` of a package (<https://bosh.io/docs/packages/>).
#[derive(Deserialize)]
struct PackageSpecification {
    name: String,
    #[serde(default)]
    dependencies: Vec<String>,
    /// Patterns of paths below `src`, or below `blobs`.
    #[serde(default)]
    files: Vec<String>,
    /// Patterns of paths to exclude again.
    #[serde(default)]
    excluded_files: Vec<String>,
}

impl ReleaseFolder {
    /// Reads the folder, but for the bytes of what is packed.
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Self> {
        #[derive(Deserialize)]
        struct Configuration {
            name: String,
        }
        let Configuration { name } = read_yaml(&folder.join("config/final.yml"))?;
        let jobs = subfolders(&folder.join("jobs"))?;
        let packages = subfolders(&folder.join("packages"))?;
        Ok(Self {
            name,
            jobs: jobs
                .iter()
                .map(|job| read_job(job))
                .collect::<Result<_, _>>()?,
            packages: packages
                .iter()
                .map(|package| read_package(folder, package))
                .collect::<Result<_, _>>()?,
            license: read_license(folder)?,
        })
    }
}

fn read_job(folder: &Path) -> anyhow::Result<Part> {
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
    Ok(Part {
        name: specification.name,
        fingerprint: contents.fingerprint(Subject::Job)?,
        contents,
        packages: specification.packages,
    })
}

fn read_package(release: &Path, folder: &Path) -> anyhow::Result<Part> {
    let path = folder.join("spec");
    let specification: PackageSpecification = read_yaml(&path)?;
    check_name(folder, &path, &specification.name)?;
    let mut contents = Contents::default();
    contents.add_file(Path::new("packaging"), &folder.join("packaging"))?;
    add_package_files(release, &path, &specification, &mut contents)?;
    Ok(Part {
        name: specification.name,
        fingerprint: contents.fingerprint(Subject::Package(&specification.dependencies))?,
        contents,
        packages: specification.dependencies,
    })
}

/// The files below `src` and `blobs` that fit the patterns; each pattern has to fit one.
fn add_package_files(
    release: &Path,
    path: &Path,
    specification: &PackageSpecification,
    contents: &mut Contents,
) -> anyhow::Result<()> {
    let wanted = patterns(path, &specification.files)?;
    let excluded = patterns(path, &specification.excluded_files)?;
    let mut found = BTreeSet::new();
    for root in [release.join("src"), release.join("blobs")] {
        if !root.is_dir() {
            continue;
        }
        for entry in WalkDir::new(&root).sort_by_file_name() {
            let entry = entry.with_context(|| unreadable(&root))?;
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
    let mut files = specification.files.iter().enumerate();
    if let Some((_, pattern)) = files.find(|(location, _)| !found.contains(location)) {
        bail!(
            "`{pattern}` among `files` of `{}` fits no file below `src` or `blobs`; put the file there, or drop the pattern",
            path.display()
        );
    }
    Ok(())
}

fn patterns(path: &Path, texts: &[String]) -> anyhow::Result<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for text in texts {
        let glob = GlobBuilder::new(text).literal_separator(true).build();
        set.add(glob.with_context(|| {
            let path = path.display();
            format!("`{text}` among `files` of `{path}` is no pattern of paths")
        })?);
    }
    Ok(set.build()?)
}

fn read_license(folder: &Path) -> anyhow::Result<Option<Part>> {
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
    Ok(Some(Part {
        name: "license".to_owned(),
        fingerprint: contents.fingerprint(Subject::License)?,
        contents,
        packages: Vec::new(),
    }))
}

fn check_name(folder: &Path, path: &Path, name: &str) -> anyhow::Result<()> {
    ensure!(
        folder.file_name().is_some_and(|folder| folder == name),
        "`{}` names `{name}`; it has to be the name of its folder",
        path.display()
    );
    Ok(())
}

fn read_yaml<T: DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let text = fs::read_to_string(path).with_context(|| unreadable(path))?;
    from_yaml(&text).with_context(|| format!("`{}` is not as BOSH wants it", path.display()))
}

/// Reads a YAML document. Two members of the same name are refused: a Director would drop one of them.
pub(crate) fn from_yaml<T: DeserializeOwned>(text: &str) -> Result<T, serde_saphyr::Error> {
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::Error,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options)
}

fn subfolders(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut folders = entries(folder)?;
    folders.retain(|path| path.is_dir());
    Ok(folders)
}

fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder).and_then(|entries| {
        let paths = entries.map(|entry| Ok(entry?.path()));
        paths.collect::<io::Result<Vec<_>>>()
    });
    let mut paths = paths.with_context(|| unreadable(folder))?;
    paths.sort();
    Ok(paths)
}
