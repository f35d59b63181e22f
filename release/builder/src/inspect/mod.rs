//! From a tarball to faults.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `fault` | what can be wrong |
//! | `unpacked` | an archive as files by their paths |
//! | `job`, `package` | one of them, looked at |
//! | `dependencies` | packages that are missing or wait for each other |
//! | `report` | what was found, for people |

mod dependencies;
mod fault;
mod job;
mod package;
mod report;
mod unpacked;

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, BufReader},
    path::{Path, PathBuf},
};

use serde::Serialize;

use crate::{
    archive,
    contents::Contents,
    digest::Digest,
    fingerprint::Subject,
    release_manifest::{ReleaseManifest, ResourceEntry},
    version::ReleaseVersion,
};

pub use fault::{Fault, FaultKind, Place};

/// What a tarball holds, and what is wrong with it.
#[derive(Debug, Serialize)]
pub struct Inspection {
    /// The digest of the tarball itself, which a manifest names as `sha1` beside a `url`.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
    /// The name of the release.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The commit that it was built from.
    pub commit_hash: String,
    /// Whether it was built from something else than that commit.
    pub uncommitted_changes: bool,
    /// The jobs.
    pub jobs: Vec<Part>,
    /// The packages.
    pub packages: Vec<Part>,
    /// What is wrong, if anything.
    pub faults: Vec<Fault>,
}

/// A job or package.
#[derive(Debug, Serialize)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its fingerprint.
    pub fingerprint: String,
    /// The size of its archive in bytes.
    pub size: u64,
    /// The packages of a job, or those that a package depends on.
    pub packages: Vec<String>,
    /// The executables in it, with the newest glibc that each needs.
    pub executables: Vec<Executable>,
}

/// An executable in a package.
#[derive(Debug, Serialize)]
pub struct Executable {
    /// Its path in the package.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// The newest version of glibc that it needs, as `2.34`; none when it needs no glibc.
    pub glibc: Option<String>,
}

/// A tarball that cannot be read at all.
#[derive(Debug, thiserror::Error)]
#[error("`{path}` cannot be read")]
pub struct Unreadable {
    path: PathBuf,
    source: io::Error,
}

/// Reads a release tarball back as a Director does, and looks closer.
pub fn inspect(path: &Path) -> Result<Inspection, Unreadable> {
    let unreadable = |source| Unreadable {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?.len();
    let mut inspection = Inspection {
        digest: Digest::of_file(path).map_err(unreadable)?,
        size,
        name: String::new(),
        version: String::new(),
        commit_hash: String::new(),
        uncommitted_changes: false,
        jobs: Vec::new(),
        packages: Vec::new(),
        faults: Vec::new(),
    };
    match archive::read(BufReader::new(file)) {
        Ok(members) => {
            let release = unpacked::files(members, &Place::Release, &mut inspection.faults);
            inspection.read(&release);
        }
        Err(error) => inspection.add(Place::Release, FaultKind::Archive(error.to_string())),
    }
    Ok(inspection)
}

impl Inspection {
    fn read(&mut self, release: &Contents) {
        let Some(manifest) = self.manifest(release) else {
            return;
        };
        self.read_head(&manifest);
        let packages: BTreeSet<&str> = manifest
            .packages
            .iter()
            .map(|package| package.resource.name.as_str())
            .collect();
        for entry in &manifest.jobs {
            let entry = &entry.resource;
            let place = Place::Job(entry.name.clone());
            if let Some((files, size)) = self.part(release, "jobs/", entry, &place) {
                self.check_fingerprint(&place, &files, Subject::Job, &entry.fingerprint);
                let part = job::read(entry, &files, size, &packages, &mut self.faults);
                self.jobs.push(part);
            }
        }
        for entry in &manifest.packages {
            let place = Place::Package(entry.resource.name.clone());
            if let Some((files, size)) = self.part(release, "packages/", &entry.resource, &place) {
                let subject = Subject::Package {
                    dependencies: &entry.dependencies,
                };
                self.check_fingerprint(&place, &files, subject, &entry.resource.fingerprint);
                let part = package::read(entry, &files, size, &mut self.faults);
                self.packages.push(part);
            }
        }
        dependencies::check(&manifest.packages, &mut self.faults);
        let license = self.read_license(release, &manifest);
        self.look_for_unnamed(release, &manifest, &license);
    }

    fn manifest(&mut self, release: &Contents) -> Option<ReleaseManifest> {
        let path = "release.MF";
        let Some(text) = unpacked::text(release, path) else {
            self.add(Place::Release, FaultKind::Missing(path.to_owned()));
            return None;
        };
        match crate::specification::from_yaml(&text) {
            Ok(manifest) => Some(manifest),
            Err(error) => {
                let kind = FaultKind::Document {
                    path: path.to_owned(),
                    fault: error.to_string(),
                };
                self.add(Place::Release, kind);
                None
            }
        }
    }

    fn read_head(&mut self, manifest: &ReleaseManifest) {
        self.name.clone_from(&manifest.name);
        self.version.clone_from(&manifest.version);
        self.commit_hash.clone_from(&manifest.commit_hash);
        self.uncommitted_changes = manifest.uncommitted_changes;
        if let Err(error) = manifest.version.parse::<ReleaseVersion>() {
            self.add(Place::Release, error.into());
        }
        if !is_name(&manifest.name) {
            self.add(Place::Release, FaultKind::Name(manifest.name.clone()));
        }
    }

    /// The files of a job or package whose archive is there, whole and the one that `release.MF` names.
    fn part(
        &mut self,
        release: &Contents,
        folder: &str,
        entry: &ResourceEntry,
        place: &Place,
    ) -> Option<(Contents, u64)> {
        if !is_name(&entry.name) {
            self.add(place.clone(), FaultKind::Name(entry.name.clone()));
        }
        self.archive(
            release,
            &format!("{folder}{}.tgz", entry.name),
            &entry.sha1,
            place,
        )
    }

    fn archive(
        &mut self,
        release: &Contents,
        path: &str,
        stated: &Digest,
        place: &Place,
    ) -> Option<(Contents, u64)> {
        let Some(bytes) = unpacked::bytes(release, path) else {
            self.add(place.clone(), FaultKind::Missing(path.to_owned()));
            return None;
        };
        let found = stated.of_the_same_kind(bytes);
        if &found != stated {
            let kind = FaultKind::Digest {
                stated: stated.to_string(),
                found: found.to_string(),
            };
            self.add(place.clone(), kind);
        }
        match archive::read(bytes) {
            Ok(members) => Some((
                unpacked::files(members, place, &mut self.faults),
                bytes.len() as u64,
            )),
            Err(error) => {
                self.add(place.clone(), FaultKind::Archive(error.to_string()));
                None
            }
        }
    }

    fn check_fingerprint(
        &mut self,
        place: &Place,
        files: &Contents,
        subject: Subject<'_>,
        stated: &str,
    ) {
        // What is in memory can be read.
        let Ok(found) = crate::fingerprint::fingerprint(files, subject) else {
            return;
        };
        if found != stated {
            let kind = FaultKind::Fingerprint {
                stated: stated.to_owned(),
                found,
            };
            self.add(place.clone(), kind);
        }
    }

    /// The files of the licence, where there is one that can be read.
    fn read_license(&mut self, release: &Contents, manifest: &ReleaseManifest) -> Contents {
        let Some(entry) = &manifest.license else {
            return Contents::default();
        };
        let Some((files, _)) = self.archive(release, "license.tgz", &entry.sha1, &Place::License)
        else {
            return Contents::default();
        };
        self.check_fingerprint(
            &Place::License,
            &files,
            Subject::License,
            &entry.fingerprint,
        );
        files
    }

    /// A Director unpacks everything and uses what `release.MF` names. The `bosh` command line lays the files of the licence
    /// beside their archive.
    fn look_for_unnamed(
        &mut self,
        release: &Contents,
        manifest: &ReleaseManifest,
        license: &Contents,
    ) {
        let jobs = manifest
            .jobs
            .iter()
            .map(|job| format!("jobs/{}.tgz", job.resource.name));
        let packages = manifest
            .packages
            .iter()
            .map(|package| format!("packages/{}.tgz", package.resource.name));
        let mut named: BTreeSet<String> = jobs.chain(packages).collect();
        named.insert("release.MF".to_owned());
        if manifest.license.is_some() {
            named.insert("license.tgz".to_owned());
        }
        for (path, _) in release.iter() {
            let is_of_the_license = unpacked::bytes(license, path)
                .is_some_and(|bytes| unpacked::bytes(release, path) == Some(bytes));
            if !named.contains(path) && !is_of_the_license {
                self.faults.push(Fault {
                    place: Place::Release,
                    kind: FaultKind::Unnamed(path.to_owned()),
                });
            }
        }
    }

    fn add(&mut self, place: Place, kind: FaultKind) {
        self.faults.push(Fault { place, kind });
    }
}

/// As Directors check it.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_+.".contains(&byte))
}
