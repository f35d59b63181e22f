//! What a manifest would change (`POST /deployments/NAME/diff`; `spec/contracts/director-api.md`, "Deploying").
//!
//! | module | contents |
//! | --- | --- |
//! | [`changeset`] | compares two documents, section by section |
//! | [`lines`] | the lines of a diff, and their order |
//! | [`psych`] | writes values as the YAML that a real Director writes |
//! | [`lines`] | hides the values of properties |

mod changeset;
mod lines;
mod psych;

use odb_adapter_sdk::yaml;
use serde_json::{Map, Value, json};

use super::uploads::{release_version, stemcell_version};
use crate::director::{
    Director, configs::Config, deployments::NameVersion, ids::ConfigId, tasks::TaskFailure,
};
use changeset::compare;
use lines::redacted;

pub(in crate::director) use self::lines::DiffLine;
/// A manifest with the cloud configs that it is deployed with.
pub(in crate::director) struct ManifestVersion {
    pub(in crate::director) document: Map<String, Value>,
    /// None of a deployment that does not exist.
    pub(in crate::director) cloud_configs: Option<Vec<ConfigId>>,
}

/// Whether values of properties are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::director) enum Redaction {
    Hidden,
    Shown,
}

/// The lines that differ between two versions, with the headings above them.
pub(in crate::director) fn changes(
    director: &Director,
    before: ManifestVersion,
    after: ManifestVersion,
    redaction: Redaction,
) -> Result<Vec<DiffLine>, TaskFailure> {
    let before = merged(director, before)?;
    let after = merged(director, after)?;
    Ok(document_changes(&before, &after, redaction))
}

/// The lines that differ between two documents that are no manifests.
pub(in crate::director) fn document_changes(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    redaction: Redaction,
) -> Vec<DiffLine> {
    let lines = match redaction {
        Redaction::Shown => compare((before, before), (after, after)),
        Redaction::Hidden => compare((before, &redacted(before)), (after, &redacted(after))),
    };
    lines::ordered(lines)
}

/// A manifest and its cloud configs as one document, with versions that are what `latest` means today.
fn merged(
    director: &Director,
    version: ManifestVersion,
) -> Result<Map<String, Value>, TaskFailure> {
    let mut document = version.document;
    resolve_versions(director, &mut document)?;
    let Some(ids) = version.cloud_configs else {
        return Ok(document);
    };
    let configs: Vec<Config> = ids
        .iter()
        .filter_map(|id| Some(director.inner.configs.find(*id)?.0))
        .collect();
    document.extend(consolidated(&configs));
    Ok(document)
}

/// All cloud configs as one: lists are joined, other sections come from the config that has them.
fn consolidated(configs: &[Config]) -> Map<String, Value> {
    let mut all = Map::new();
    for list in ["azs", "vm_types", "disk_types", "networks", "vm_extensions"] {
        all.insert(list.to_owned(), json!([]));
    }
    for config in configs {
        let Ok(Value::Object(content)) = yaml::from_str::<Value>(&config.content) else {
            continue;
        };
        for (key, value) in content {
            match (all.get_mut(&key), value) {
                (Some(Value::Array(present)), Value::Array(more)) => present.extend(more),
                (_, value) => {
                    all.insert(key, value);
                }
            }
        }
    }
    all
}

fn resolve_versions(
    director: &Director,
    document: &mut Map<String, Value>,
) -> Result<(), TaskFailure> {
    let uploads = director.uploads();
    for release in entries(document, "releases") {
        let wanted = NameVersion {
            name: text(release, "name"),
            version: text(release, "version"),
        };
        let version = if is_latest(&wanted.version) {
            release_version(&wanted, &uploads.releases)?.version.clone()
        } else {
            wanted.version
        };
        release.insert("version".to_owned(), Value::String(version));
    }
    for stemcell in entries(document, "stemcells") {
        let version = text(stemcell, "version");
        let version = if is_latest(&version) {
            stemcell_version(&stemcell_ref(stemcell, version), &uploads.stemcells)?.version
        } else {
            version
        };
        stemcell.insert("version".to_owned(), Value::String(version));
    }
    Ok(())
}

fn stemcell_ref(stemcell: &Map<String, Value>, version: String) -> super::manifest::StemcellRef {
    use super::manifest::{StemcellRef, WantedStemcell};
    let wanted = match stemcell.get("name").and_then(Value::as_str) {
        Some(name) => WantedStemcell::Name(name.to_owned()),
        None => WantedStemcell::Os(text(stemcell, "os")),
    };
    StemcellRef {
        alias: text(stemcell, "alias"),
        wanted,
        version,
    }
}

fn entries<'a>(
    document: &'a mut Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let list = document.get_mut(key).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

fn text(entry: &Map<String, Value>, key: &str) -> String {
    match entry.get(key) {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        Some(other) => other.to_string(),
    }
}

fn is_latest(version: &str) -> bool {
    version == "latest" || version.ends_with(".latest")
}
