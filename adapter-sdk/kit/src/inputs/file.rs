//! `adapter-check.yml` and the part of `broker.yml` that adapters see, as they may be written.

use std::collections::BTreeMap;
use std::path::PathBuf;

use odb_adapter_sdk::protocol::{BoshVms, DnsAddresses, ServiceRelease, Stemcell};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::plan::CatalogPlan;

#[derive(Default, Deserialize)]
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

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Variable {
    /// A path relative to the file.
    File(FileVariable),
    Text(String),
    Flag(bool),
    Number(i64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileVariable {
    pub(super) file: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Form {
    Stdin,
    Arguments,
}

/// The broker itself checks the rest of its configuration.
#[derive(Deserialize)]
pub(super) struct BrokerConfig {
    pub(super) service_deployment: DeploymentKeys,
    pub(super) service_catalog: Catalog,
    #[serde(default)]
    pub(super) broker: BrokerSettings,
}

#[derive(Deserialize)]
pub(super) struct Catalog {
    #[serde(default)]
    pub(super) global_properties: Option<Map<String, Value>>,
    pub(super) plans: Vec<CatalogPlan>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct BrokerSettings {
    pub(super) use_stdin: Option<bool>,
    pub(super) enable_secure_manifests: Option<bool>,
}

/// `service_deployment` as brokers are configured with it.
#[derive(Deserialize)]
pub(super) struct DeploymentKeys {
    releases: Vec<ReleaseKeys>,
    #[serde(default)]
    stemcells: Vec<StemcellKeys>,
    stemcell: Option<StemcellKeys>,
}

#[derive(Deserialize)]
struct ReleaseKeys {
    name: String,
    version: String,
    #[serde(default)]
    jobs: Vec<String>,
}

#[derive(Deserialize)]
struct StemcellKeys {
    name: Option<String>,
    #[serde(default)]
    os: String,
    version: String,
}

#[derive(Default, Deserialize)]
pub(super) struct Software {
    pub(super) releases: Vec<ServiceRelease>,
    pub(super) stemcells: Vec<Stemcell>,
}

impl From<DeploymentKeys> for Software {
    fn from(keys: DeploymentKeys) -> Self {
        let releases = keys.releases.into_iter();
        let stemcells = keys.stemcells.into_iter().chain(keys.stemcell);
        Self {
            releases: releases
                .map(|release| ServiceRelease::new(release.name, release.version, release.jobs))
                .collect(),
            stemcells: stemcells
                .map(|keys| {
                    let mut stemcell = Stemcell::new(keys.os, keys.version);
                    stemcell.name = keys.name;
                    stemcell
                })
                .collect(),
        }
    }
}

/// How an adapter treats unknown parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "`docs/authors/check.md` explains the keys")]
pub enum UnknownParameters {
    #[default]
    Refused,
    Ignored,
}

/// Valid parameters of an order. The choices must survive updates and upgrades without parameters.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "`docs/authors/check.md` explains the keys")]
pub struct ParameterCase {
    pub name: Option<String>,
    pub plan: Option<String>,
    #[serde(default)]
    pub create: Map<String, Value>,
    #[serde(default)]
    pub expect: Map<String, Value>,
    pub update: Option<Map<String, Value>>,
    #[serde(default)]
    pub expect_after_update: Map<String, Value>,
    #[serde(default)]
    pub secrets: Vec<String>,
}

/// Parameters that have to be refused, with a text for the user.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "`docs/authors/check.md` explains the keys")]
pub struct RefusedParameters {
    pub parameters: Map<String, Value>,
    pub plan: Option<String>,
    #[serde(default)]
    pub on: RefusedOn,
    pub message: Option<String>,
}

/// Where parameters are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "`docs/authors/check.md` explains the keys")]
pub enum RefusedOn {
    Create,
    Update,
    #[default]
    Both,
}

/// A change of plan.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "`docs/authors/check.md` explains the keys")]
pub struct PlanChange {
    pub from: String,
    pub to: String,
    #[serde(default)]
    pub outcome: PlanChangeOutcome,
    pub message: Option<String>,
}

/// How a change of plan ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "`docs/authors/check.md` explains the keys")]
pub enum PlanChangeOutcome {
    #[default]
    Accepted,
    Refused,
}

/// A binding.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "`docs/authors/check.md` explains the keys")]
pub struct BindingCase {
    pub name: Option<String>,
    pub plan: Option<String>,
    #[serde(default)]
    pub parameters: Map<String, Value>,
    #[serde(default = "application")]
    pub app_guid: String,
    pub bosh_vms: Option<BoshVms>,
    #[serde(default)]
    pub dns_addresses: DnsAddresses,
    #[serde(default)]
    pub outcome: BindingOutcome,
    #[serde(default)]
    pub credentials: Vec<String>,
    pub message: Option<String>,
}

impl Default for BindingCase {
    fn default() -> Self {
        Self {
            name: None,
            plan: None,
            parameters: Map::new(),
            app_guid: application(),
            bosh_vms: None,
            dns_addresses: DnsAddresses::new(),
            outcome: BindingOutcome::default(),
            credentials: Vec::new(),
            message: None,
        }
    }
}

fn application() -> String {
    "0a1b2c3d-0000-4000-8000-00000000a000".to_owned()
}

/// How a binding ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "`docs/authors/check.md` explains the keys")]
pub enum BindingOutcome {
    #[default]
    Created,
    Exists,
    AppGuidRequired,
    Refused,
}

/// The deletion of a binding.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "`docs/authors/check.md` explains the keys")]
pub struct UnbindingCase {
    pub binding_id: String,
    pub bosh_vms: Option<BoshVms>,
    #[serde(default)]
    pub outcome: UnbindingOutcome,
}

/// How the deletion of a binding ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "`docs/authors/check.md` explains the keys")]
pub enum UnbindingOutcome {
    #[default]
    Removed,
    NotFound,
}
