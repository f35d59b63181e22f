//! The `spec` of a job and of a package, as far as a release's structure goes.
//!
//! Format: <https://bosh.io/docs/jobs/> and <https://bosh.io/docs/packages/>.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_saphyr::DuplicateKeyPolicy;

/// The `spec` of a job; in its archive it is `job.MF`.
#[derive(Clone, Debug, Deserialize)]
pub struct JobSpecification {
    /// The name, that of its folder.
    pub name: String,
    /// From template to rendered file.
    #[serde(default)]
    pub templates: BTreeMap<String, String>,
    /// The packages that come to each VM with it.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Its properties: whatever they are, a map.
    #[serde(default)]
    pub properties: Option<BTreeMap<String, serde_json::Value>>,
    /// The links that it gives.
    #[serde(default)]
    pub provides: Option<Vec<Link>>,
    /// The links that it takes.
    #[serde(default)]
    pub consumes: Option<Vec<Link>>,
}

/// A link that a job gives or takes.
#[derive(Clone, Debug, Deserialize)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether the job does without. Only who takes a link may say so.
    pub optional: Option<bool>,
}

/// The `spec` of a package.
#[derive(Clone, Debug, Deserialize)]
pub struct PackageSpecification {
    /// The name, that of its folder.
    pub name: String,
    /// The packages that are there while it is compiled.
    #[serde(default)]
    pub dependencies: Vec<String>,
    /// Patterns of paths below `src`, or below `blobs`.
    #[serde(default)]
    pub files: Vec<String>,
    /// Patterns of paths to exclude again.
    #[serde(default)]
    pub excluded_files: Vec<String>,
}

/// Reads a YAML document. Two members of the same name are refused: a Director would drop one of them.
pub fn from_yaml<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, serde_saphyr::Error> {
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::Error,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options)
}
