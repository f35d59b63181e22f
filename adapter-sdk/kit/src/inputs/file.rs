use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Form;
use super::cases::{
    BindingCase, ParameterCase, PlanChange, RefusedParameters, UnbindingCase, UnknownParameters,
};
use super::plan::CatalogPlan;

/// `adapter-check.yml` as it may be written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct InputsFile {
    pub(super) broker_config: Option<PathBuf>,
    pub(super) service_deployment: Option<DeploymentKeys>,
    pub(super) global_properties: Map<String, Value>,
    pub(super) plans: Vec<CatalogPlan>,
    pub(super) environment: BTreeMap<String, Variable>,
    pub(super) forms: Option<Vec<Form>>,
    pub(super) secure_manifests: Option<bool>,
    pub(super) deadline_in_seconds: Option<u64>,
    pub(super) unknown_parameters: UnknownParameters,
    pub(super) untyped_parameters: Vec<String>,
    pub(super) plain_secrets: Vec<String>,
    pub(super) required_parameters: Map<String, Value>,
    pub(super) parameters: Vec<ParameterCase>,
    pub(super) refused_parameters: Vec<RefusedParameters>,
    pub(super) plan_changes: Vec<PlanChange>,
    pub(super) bindings: Option<Vec<BindingCase>>,
    pub(super) unbindings: Vec<UnbindingCase>,
}

/// The value of an environment variable.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Variable {
    /// A path relative to the file.
    File(FileVariable),
    Text(String),
    Flag(bool),
    Number(i64),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileVariable {
    pub(super) file: PathBuf,
}

/// `service_deployment` as brokers are configured with it.
#[derive(Debug, Deserialize)]
pub(super) struct DeploymentKeys {
    pub(super) releases: Vec<ReleaseKeys>,
    #[serde(default)]
    pub(super) stemcells: Vec<StemcellKeys>,
    pub(super) stemcell: Option<StemcellKeys>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ReleaseKeys {
    name: String,
    version: String,
    #[serde(default)]
    jobs: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct StemcellKeys {
    name: Option<String>,
    #[serde(default)]
    os: String,
    version: String,
}

impl DeploymentKeys {
    /// The releases as adapters get them.
    pub(super) fn releases(&self) -> Value {
        self.releases
            .iter()
            .map(|release| {
                json!({"name": release.name, "version": release.version, "jobs": release.jobs})
            })
            .collect()
    }

    /// The stemcells as adapters get them.
    pub(super) fn stemcells(&self) -> Value {
        self.stemcells
            .iter()
            .chain(&self.stemcell)
            .map(|stemcell| {
                let mut members = Map::new();
                if let Some(name) = &stemcell.name {
                    members.insert("stemcell_name".to_owned(), name.as_str().into());
                }
                members.insert("stemcell_os".to_owned(), stemcell.os.as_str().into());
                members.insert(
                    "stemcell_version".to_owned(),
                    stemcell.version.as_str().into(),
                );
                Value::from(members)
            })
            .collect()
    }
}
