use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::reading::{Inspection, UnknownKeys, Violations, empty_as_none, null_as_default};

const NOT_EMPTY: &str = "must not be empty";

/// The deployment of a service instance: the same for every plan of an offering (`spec/contracts/adapter-protocol.md`,
/// "Service deployment").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ServiceDeployment {
    /// Name that the manifest must carry: `service-instance_` and the instance id.
    #[schemars(length(min = 1))]
    pub deployment_name: String,
    /// Releases to use, with exact versions.
    pub releases: Vec<ServiceRelease>,
    /// Stemcells to use, with exact versions.
    pub stemcells: Vec<Stemcell>,
    /// Keys that the protocol does not know yet, kept.
    #[serde(flatten)]
    pub other: UnknownKeys,
}

/// A BOSH release and the jobs to take from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ServiceRelease {
    /// Name of the release.
    pub name: String,
    /// Exact version.
    pub version: String,
    /// Jobs that this release provides.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(with = "Option<Vec<String>>")]
    pub jobs: Vec<String>,
    /// Keys that the protocol does not know yet, kept.
    #[serde(flatten)]
    pub other: UnknownKeys,
}

/// A stemcell, by operating system or by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct Stemcell {
    /// Name of the stemcell, where operating system and version do not decide.
    #[serde(
        rename = "stemcell_name",
        deserialize_with = "empty_as_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<String>,
    /// Operating system, such as `ubuntu-jammy`.
    #[serde(rename = "stemcell_os")]
    pub os: String,
    /// Exact version.
    #[serde(rename = "stemcell_version")]
    pub version: String,
    /// Keys that the protocol does not know yet, kept.
    #[serde(flatten)]
    pub other: UnknownKeys,
}

impl ServiceDeployment {
    /// A service deployment of these parts.
    pub fn new(
        deployment_name: impl Into<String>,
        releases: Vec<ServiceRelease>,
        stemcells: Vec<Stemcell>,
    ) -> Self {
        Self {
            deployment_name: deployment_name.into(),
            releases,
            stemcells,
            other: UnknownKeys::default(),
        }
    }

    /// Id of the service instance: the deployment's name without its prefix `service-instance_`.
    pub fn instance_id(&self) -> &str {
        let name = &self.deployment_name;
        name.strip_prefix("service-instance_").unwrap_or(name)
    }

    /// Checks that there is at least one release and that each release has a name, a version and a job. The protocol
    /// accepts less, so callers that need complete releases call this.
    pub fn check_releases(&self) -> Result<(), Violations> {
        let mut inspection = Inspection::default();
        if self.releases.is_empty() {
            inspection.violate("releases", NOT_EMPTY);
        }
        for (nth, release) in self.releases.iter().enumerate() {
            let path = |key| format!("releases[{nth}].{key}");
            let missing = [
                ("name", release.name.is_empty()),
                ("version", release.version.is_empty()),
                ("jobs", release.jobs.is_empty()),
            ];
            for (key, _) in missing.into_iter().filter(|(_, is_missing)| *is_missing) {
                inspection.violate(&path(key), NOT_EMPTY);
            }
        }
        inspection.finish()
    }

    /// Rules that a document must keep before it is decoded: a name, releases and stemcells.
    pub(super) fn inspect(document: &Value) -> Result<(), Violations> {
        let mut inspection = Inspection::default();
        if let Some(object) = inspection.object(document, "service_deployment") {
            inspection.required_text(object, "", "deployment_name");
            inspection.required_array(object, "", "releases");
            inspection.required_array(object, "", "stemcells");
        }
        inspection.finish()
    }
}

impl ServiceRelease {
    /// A release of that name and version that provides these jobs.
    pub fn new(name: impl Into<String>, version: impl Into<String>, jobs: Vec<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            jobs,
            other: UnknownKeys::default(),
        }
    }
}

impl Default for ServiceRelease {
    fn default() -> Self {
        Self::new("", "", Vec::new())
    }
}

impl Stemcell {
    /// A stemcell of that operating system and version.
    pub fn new(os: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: None,
            os: os.into(),
            version: version.into(),
            other: UnknownKeys::default(),
        }
    }
}

impl Default for Stemcell {
    fn default() -> Self {
        Self::new("", "")
    }
}
