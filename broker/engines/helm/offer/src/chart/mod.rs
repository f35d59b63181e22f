//! Packaged charts: read with limits, checked before Helm sees them.
//!
//! | file | contents |
//! | --- | --- |
//! | here | a chart and its subcharts |
//! | `metadata` | `Chart.yaml` |
//! | `version` | versions as text and as strict versions |
//! | `pack` | packs a chart's folder |

mod metadata;
mod pack;
mod version;

use std::{collections::BTreeMap, path::Path};

use odb_api_types::finding::Location;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::{
    archive::{self, ArchiveError, Files, Limits},
    digest::Hex,
    findings::Findings,
    section::File,
    values::{Values, merge, schema::ValuesSchema},
};

pub use metadata::Metadata;
pub use version::ChartVersion;

/// How deep charts lie in charts.
const DEPTH: usize = 8;

/// A chart that Helm can install.
#[derive(Debug)]
pub struct Chart {
    pub metadata: Metadata,
    /// The path as given, for findings.
    pub origin: String,
    /// The packed chart, as Helm gets it.
    pub archive: Vec<u8>,
    /// SHA-256 of names and contents: packing again does not change it.
    pub digest: Hex,
    /// The values of the chart and its subcharts, which lie under the subcharts' names.
    pub defaults: Values,
    pub schema: Option<ValuesSchema>,
}

impl Chart {
    /// Reads a packed chart or, packing it, a chart's folder. None after an error.
    pub fn open(path: &Path, findings: &mut Findings) -> Option<Self> {
        let origin = path.display().to_string();
        if path.is_dir() {
            let archive = match pack::pack(path) {
                Ok(archive) => archive,
                Err(errors) => {
                    report(&origin, &errors, findings);
                    return None;
                }
            };
            return Self::read(&origin, archive, findings);
        }
        match std::fs::read(path) {
            Ok(archive) => Self::read(&origin, archive, findings),
            Err(error) => {
                let found = format!("the chart cannot be read: {error}");
                let remedy = "give `NAME-VERSION.tgz` or the folder of a chart";
                findings.error(Location::file(origin), None, found, remedy);
                None
            }
        }
    }

    /// Reads a packed chart. None after an error.
    pub fn read(origin: &str, archive: Vec<u8>, findings: &mut Findings) -> Option<Self> {
        let files = match archive::of_tgz(&archive, archive::CHART) {
            Ok(files) => files,
            Err(errors) => {
                report(origin, &errors, findings);
                return None;
            }
        };
        let before = findings.errors();
        let files = without_top(origin, files, findings)?;
        let mut left = archive::CHART.unpacked;
        let tree = Tree::read(origin, files, 0, &mut left, findings)?;
        tree.check_hooks(origin, findings);
        let schema = tree.schema(origin, findings);
        let defaults = tree.defaults(origin, findings);
        if findings.errors() > before {
            return None;
        }
        Some(Self {
            digest: digest(&tree.files),
            metadata: tree.metadata,
            origin: origin.to_owned(),
            archive,
            defaults,
            schema,
        })
    }

    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    pub fn version(&self) -> &ChartVersion {
        &self.metadata.version
    }

    /// The place of a template that Helm names, such as `redis/templates/a.yaml`.
    pub(crate) fn at(&self, template: &str, line: Option<u64>, column: Option<u64>) -> Location {
        let inner = template
            .split_once('/')
            .map_or(template, |(_, inner)| inner);
        Location {
            file: format!("{}/{inner}", self.origin),
            line,
            column,
        }
    }
}

pub(crate) fn report(origin: &str, errors: &[ArchiveError], findings: &mut Findings) {
    for error in errors {
        let cause = std::error::Error::source(error);
        let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
        let remedy = match error {
            ArchiveError::NotGzip | ArchiveError::NotTar => "package it again",
            ArchiveError::Packed { .. }
            | ArchiveError::Unpacked { .. }
            | ArchiveError::TooMany { .. }
            | ArchiveError::TooLarge { .. } => "make it smaller and package again",
            ArchiveError::Truncated => "copy or package it again",
            ArchiveError::Unreadable(_) => "check the path and its permissions",
            _ => "remove it and package again",
        };
        let found = format!("the archive is refused: {error}{cause}");
        findings.error(Location::file(origin), None, found, remedy);
    }
}

/// The files below the one top folder.
fn without_top(origin: &str, files: Files, findings: &mut Findings) -> Option<Files> {
    let mut top = None;
    for name in files.keys() {
        if let Some((folder, "Chart.yaml")) = name.split_once('/') {
            top = Some(folder.to_owned());
        }
    }
    let Some(top) = top else {
        let found = "the archive has no `NAME/Chart.yaml`";
        findings.error(
            Location::file(origin),
            None,
            found,
            "package a chart with `helm package`",
        );
        return None;
    };
    let mut inner = Files::new();
    for (name, content) in files {
        match name.split_once('/') {
            Some((folder, rest)) if folder == top => {
                inner.insert(rest.to_owned(), content);
            }
            _ => {
                let found = format!("`{name}` lies outside the chart's folder `{top}`");
                findings.error(
                    Location::file(origin),
                    None,
                    found,
                    "remove it and package again",
                );
            }
        }
    }
    Some(inner)
}

fn digest(files: &Files) -> Hex {
    let mut digest = Sha256::new();
    for (name, content) in files {
        for part in [name.as_bytes(), content] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
    }
    Hex::of(digest)
}

/// A chart with its subcharts.
struct Tree {
    metadata: Metadata,
    files: Files,
    /// By name, with the aliases under which the chart configures them.
    subcharts: BTreeMap<String, Tree>,
}

impl Tree {
    fn read(
        origin: &str,
        files: Files,
        depth: usize,
        left: &mut u64,
        findings: &mut Findings,
    ) -> Option<Self> {
        let name = format!("{origin}/Chart.yaml");
        let Some(bytes) = files.get("Chart.yaml") else {
            let found = "the chart has no `Chart.yaml`";
            findings.error(
                Location::file(origin),
                None,
                found,
                "package a complete chart",
            );
            return None;
        };
        let file = File::parse(&name, bytes, findings)?;
        let mut metadata = metadata::read(&file, depth > 0, findings)?;
        if metadata.has_v1_layout
            && let Some(bytes) = files.get("requirements.yaml")
        {
            let name = format!("{origin}/requirements.yaml");
            let file = File::parse(&name, bytes, findings)?;
            metadata.dependencies = metadata::dependencies(&file.map(findings)?, findings);
        }
        let subcharts = Self::subcharts(origin, &files, depth, left, findings);
        let missing: Vec<&str> = metadata
            .dependencies
            .iter()
            .map(|one| one.name.as_str())
            .filter(|name| !subcharts.contains_key(*name))
            .collect();
        if !missing.is_empty() {
            let found = format!("dependencies are not in `charts/`: {}", missing.join(", "));
            let remedy = "run `helm dependency build` and package again";
            findings.error(Location::file(name), Some("dependencies"), found, remedy);
        }
        Some(Self {
            metadata,
            files,
            subcharts,
        })
    }

    fn subcharts(
        origin: &str,
        files: &Files,
        depth: usize,
        left: &mut u64,
        findings: &mut Findings,
    ) -> BTreeMap<String, Self> {
        let mut folders: BTreeMap<String, Files> = BTreeMap::new();
        for (name, content) in files {
            let Some(inner) = name.strip_prefix("charts/") else {
                continue;
            };
            let at = format!("{origin}/{name}");
            match inner.split_once('/') {
                // Helm leaves these out.
                Some((folder, _)) if folder.starts_with(['_', '.']) => {}
                Some((folder, rest)) => {
                    *left = left.saturating_sub(content.len() as u64);
                    let folder = format!("{origin}/charts/{folder}");
                    let folder = folders.entry(folder).or_default();
                    folder.insert(rest.to_owned(), content.clone());
                }
                None if archive::is_packed(inner) => {
                    folders.extend(Self::packed(&at, content, left, findings));
                }
                None => {}
            }
        }
        if *left == 0 {
            let limit = archive::CHART.unpacked / archive::MIB;
            let found = format!("the chart and the charts in it unpack to more than {limit} MiB");
            findings.error(Location::file(origin), None, found, "make it smaller");
            return BTreeMap::new();
        }
        if depth == DEPTH && !folders.is_empty() {
            let found = format!("charts lie in charts more than {DEPTH} deep");
            findings.error(Location::file(origin), None, found, "");
            return BTreeMap::new();
        }
        let trees = folders.into_iter().filter_map(|(origin, files)| {
            let tree = Self::read(&origin, files, depth + 1, left, findings)?;
            Some((tree.metadata.name.clone(), tree))
        });
        trees.collect()
    }

    /// A packed subchart. All of a chart together may have no more than `left`.
    fn packed(
        origin: &str,
        archive: &[u8],
        left: &mut u64,
        findings: &mut Findings,
    ) -> Option<(String, Files)> {
        let limits = Limits {
            unpacked: *left,
            ..archive::CHART
        };
        match archive::of_tgz(archive, limits) {
            Ok(files) => {
                let size: usize = files.values().map(Vec::len).sum();
                *left = left.saturating_sub(size as u64);
                Some((origin.to_owned(), without_top(origin, files, findings)?))
            }
            Err(errors) if matches!(errors.last(), Some(ArchiveError::Unpacked { .. })) => {
                *left = 0;
                None
            }
            Err(errors) => {
                report(origin, &errors, findings);
                None
            }
        }
    }

    /// Hooks of Helm 2 that make CRDs are left out by Helm 3 and 4.
    fn check_hooks(&self, origin: &str, findings: &mut Findings) {
        if self.files.keys().any(|name| name.starts_with("crds/")) {
            return;
        }
        for (name, content) in &self.files {
            if !name.starts_with("templates/") {
                continue;
            }
            let text = String::from_utf8_lossy(content);
            let is_hook =
                |line: &str| line.contains("helm.sh/hook") && line.contains("crd-install");
            if let Some(index) = text.lines().position(is_hook) {
                let at = Location {
                    file: format!("{origin}/{name}"),
                    line: Some(index as u64 + 1),
                    column: None,
                };
                let found = "the hook `crd-install` is ignored by Helm 3 and 4: the chart is made for Helm 2";
                findings.error(at, Some("helm.sh/hook"), found, "put the CRD into `crds/`");
            }
        }
    }

    fn schema(&self, origin: &str, findings: &mut Findings) -> Option<ValuesSchema> {
        let bytes = self.files.get("values.schema.json")?;
        let at = Location::file(format!("{origin}/values.schema.json"));
        let read = serde_json::from_slice(bytes).map_err(|error| error.to_string());
        match read.and_then(ValuesSchema::new) {
            Ok(schema) => Some(schema),
            Err(why) => {
                findings.error(
                    at,
                    None,
                    format!("the schema cannot be used: {why}"),
                    "correct the chart",
                );
                None
            }
        }
    }

    /// As Helm has them: the chart's own values over those of its subcharts.
    fn defaults(&self, origin: &str, findings: &mut Findings) -> Values {
        let mut defaults = Map::new();
        for (name, tree) in &self.subcharts {
            let values = tree.defaults(&format!("{origin}/charts/{name}"), findings);
            let own = self
                .metadata
                .dependencies
                .iter()
                .filter(|one| one.name == *name);
            let mut names: Vec<&str> = own
                .map(|one| one.alias.as_deref().unwrap_or(name))
                .collect();
            if names.is_empty() {
                names.push(name);
            }
            for name in names {
                defaults.insert(name.to_owned(), Value::Object(values.clone()));
            }
        }
        if let Some(bytes) = self.files.get("values.yaml")
            && let Some(file) = File::parse(&format!("{origin}/values.yaml"), bytes, findings)
            && file.map(findings).is_some()
            && let Value::Object(own) = file.document.root.value.to_json()
        {
            merge(&mut defaults, &own);
        }
        defaults
    }
}
