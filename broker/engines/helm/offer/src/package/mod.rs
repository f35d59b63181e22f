//! The files of an offer package.
//!
//! | file | contents |
//! | --- | --- |
//! | here | the files, from a folder or a tar |
//! | `descriptor` | `offer.yaml` |
//! | `plans` | `plans.yaml` |
//! | `quota` | a `ResourceQuota` of Kubernetes |
//! | `bind` | `bind.yaml` |
//! | `new` | the files of a new package |

pub(crate) mod bind;
pub(crate) mod descriptor;
pub mod new;
pub(crate) mod plans;
pub(crate) mod quota;

use std::path::Path;

use odb_api_types::finding::Location;

use crate::{
    archive::{self, Files},
    chart::report,
    findings::Findings,
    section::File,
};

/// Folders of a package, which are never the one folder around it.
const FOLDERS: &[&str] = &["plans", "overrides", "resource-quotas", "charts"];

/// The files of a package, as they are.
#[derive(Debug)]
pub struct Package {
    /// What stands before file names in findings.
    origin: String,
    pub(crate) files: Files,
}

impl Package {
    /// Reads a package's folder, or a tar of it. None after an error.
    pub fn open(path: &Path, findings: &mut Findings) -> Option<Self> {
        let origin = path.display().to_string();
        let read = if path.is_dir() {
            archive::of_folder(path, archive::PACKAGE, |name| !name.starts_with('.'))
        } else {
            match std::fs::read(path) {
                Ok(tar) => archive::of_tar(&tar, archive::PACKAGE),
                Err(error) => {
                    let found = format!("the offer package cannot be read: {error}");
                    let remedy = "give a folder, or make one with `odb offer init NAME`";
                    findings.error(Location::file(origin), None, found, remedy);
                    return None;
                }
            }
        };
        match read {
            Ok(files) => Some(Self {
                origin: origin.trim_end_matches('/').to_owned(),
                files: without_folder(files),
            }),
            Err(errors) => {
                report(&origin, &errors, findings);
                None
            }
        }
    }

    /// A package without any file: one chart is offered as it is.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The packed charts in it, with their names in findings.
    pub fn charts(&self) -> impl Iterator<Item = (String, Vec<u8>)> {
        let charts = self
            .files
            .iter()
            .filter(|(name, _)| name.starts_with("charts/"));
        charts.map(|(name, bytes)| (self.name(name), bytes.clone()))
    }

    /// A file's name in findings.
    pub(crate) fn name(&self, file: &str) -> String {
        format!("{}/{file}", self.origin)
    }

    pub(crate) fn location(&self) -> Location {
        Location::file(&self.origin)
    }

    /// The one of these files that is there, parsed. More than one is an error.
    pub(crate) fn parse_one(&self, names: &[&str], findings: &mut Findings) -> Option<File> {
        let found = names.iter().filter(|name| self.files.contains_key(**name));
        let found: Vec<&str> = found.copied().collect();
        let (first, others) = found.split_first()?;
        if !others.is_empty() {
            let text = format!("the package has `{first}` and `{}`", others.join("`, `"));
            let remedy = format!("keep one of them and remove `{}`", others.join("`, `"));
            findings.error(Location::file(self.name(first)), None, text, remedy);
        }
        File::parse(&self.name(first), &self.files[*first], findings)
    }
}

/// The files below the one folder that a tar may have around them.
fn without_folder(files: Files) -> Files {
    let mut tops = files
        .keys()
        .map(|name| name.split_once('/').map(|(top, _)| top.to_owned()));
    let Some(Some(top)) = tops.next() else {
        return files;
    };
    if FOLDERS.contains(&top.as_str()) || !tops.all(|other| other.as_deref() == Some(&top)) {
        return files;
    }
    let prefix = format!("{top}/");
    let inner = files.into_iter();
    inner
        .map(|(name, bytes)| {
            (
                name.strip_prefix(&prefix)
                    .map_or(name.clone(), str::to_owned),
                bytes,
            )
        })
        .collect()
}

/// Whether a text names a file directly in a folder.
pub(crate) fn is_file_name(name: &str) -> bool {
    let is_letter =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_');
    !name.is_empty() && !name.starts_with('.') && name.chars().all(is_letter)
}
