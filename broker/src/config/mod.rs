//! `broker.yml` ⇒ a [`Config`] that cannot be wrong.
//!
//! A file is read in two steps: [`document`] parses it into values that know their places, then one reader per
//! section checks them and collects every fault, so that an operator, whose feedback loop is a deployment, hears of
//! all of them at once. Keys, coercions and checks are those of `spec/contracts/config-and-release.md` §1; the keys
//! of our own (`docs/architecture.md`, "Keys of our own") are ignored by the Go broker.

mod adapter;
mod bosh;
mod broker;
mod catalog;
mod client_credentials;
mod cloud_foundry;
mod deployment;
mod document;
mod plan;
mod platform_limits;
mod problems;
mod section;
mod service_instances_api;

use std::{collections::BTreeSet, fs, io, path::Path, sync::Arc};

use odb_adapter_sdk::protocol::LifecycleErrands;

use document::{Document, Place};
use problems::Problems;
use section::{Context, Section};

pub use adapter::{Adapter, AdapterForm, PlanSchemaSupport};
pub use bosh::{Bosh, DirectorCredentials};
pub use broker::{
    BasicCredentials, BoshConfigs, Broker, ErrorDetail, InstanceFetching, OrganizationAndSpace,
    PendingChanges, Timings, TlsFiles,
};
pub use catalog::{DashboardClient, GlobalQuotas, Offering};
pub use cloud_foundry::{CloudFoundry, CloudFoundryChecks, PlatformCredentials, Verification};
pub use deployment::ServiceSoftware;
pub use plan::{MaintenanceInfo, Plan, PlanQuotas, ResourceQuota};
pub use problems::{InvalidConfig, Problem};
pub use service_instances_api::ServiceInstancesApi;

/// Everything the broker has been told. Every value has been checked.
#[derive(Debug)]
pub struct Config {
    /// How the broker listens, stops and treats its requests.
    pub broker: Broker,
    /// The Director.
    pub bosh: Bosh,
    /// The Cloud Controller; may be absent where `broker.disable_cf_startup_checks` or `service_instances_api` is set.
    pub cloud_foundry: Option<CloudFoundry>,
    /// Who lists the service instances where no Cloud Controller does.
    pub service_instances_api: Option<ServiceInstancesApi>,
    /// The service adapter.
    pub adapter: Adapter,
    /// The releases and stemcells that adapters build manifests from.
    pub software: ServiceSoftware,
    /// What is offered in the marketplace.
    pub offering: Arc<Offering>,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("could not read the configuration `{file}`")]
    Unreadable {
        /// The path as given.
        file: String,
        /// What the operating system says.
        #[source]
        source: io::Error,
    },
    /// The file was read and cannot be used.
    #[error(transparent)]
    Invalid(#[from] InvalidConfig),
}

/// A configuration and what is odd about it, such as keys that nobody knows.
#[derive(Debug)]
pub struct Loaded {
    /// The checked configuration.
    pub config: Config,
    /// Remarks for the operator's log.
    pub remarks: Vec<Problem>,
}

impl Config {
    /// Reads and checks a configuration file, the adapter's executable included.
    pub fn load(file: &Path) -> Result<Loaded, LoadError> {
        let source = fs::read_to_string(file).map_err(|source| LoadError::Unreadable {
            file: file.display().to_string(),
            source,
        })?;
        Ok(Self::parse(file, &source)?)
    }

    /// Checks the text of a configuration. `file` is what refusals call it.
    pub fn parse(file: &Path, source: &str) -> Result<Loaded, InvalidConfig> {
        let problems = Problems::of(file);
        let config = match Document::parse(source) {
            Ok(document) => {
                let context = Context {
                    document: &document,
                    problems: &problems,
                };
                read(&Section::root(context))
            }
            Err(error) => {
                let place = Place {
                    line: error.line().unwrap_or_default(),
                    column: error.column().unwrap_or_default(),
                };
                problems.refuse(
                    place,
                    "",
                    format!("the file cannot be read as YAML: {}", error.message()),
                )
            }
        };
        let (fault, remarks) = problems.into_parts();
        match (config, fault) {
            (Some(config), None) => Ok(Loaded { config, remarks }),
            (_, Some(fault)) => Err(fault),
            (None, None) => unreachable!("a reader that gives nothing has noted why"),
        }
    }
}

fn read(root: &Section<'_>) -> Option<Config> {
    let broker = root.section("broker");
    let adapter_support = adapter::read_support(&broker);
    let broker = broker::read(&broker);
    let bosh = bosh::read(&root.section("bosh"));
    let cloud_foundry = cloud_foundry::read(root);
    let service_instances_api = service_instances_api::read(&root.section("service_instances_api"));
    let adapter = adapter::read(&root.section("service_adapter"), adapter_support);
    let software = deployment::read(&root.section("service_deployment"));
    let offering = catalog::read(&root.section("service_catalog"));
    refuse_what_is_not_offered(root);
    root.remark_unknown_keys();

    let config = Config {
        broker: broker?,
        bosh: bosh?,
        cloud_foundry: cloud_foundry.ok()?,
        service_instances_api,
        adapter: adapter?,
        software: software?,
        offering: Arc::new(offering?),
    };
    let has_source = config.cloud_foundry.is_some() || config.service_instances_api.is_some();
    if config.offering.has_quotas() && !has_source {
        return root.refuse(
            "service_catalog",
            "has quotas, which cannot be enforced without somebody to count at; configure `cf` or `service_instances_api`, or \
             remove the quotas",
        );
    }
    if config.cloud_foundry.is_some() && config.service_instances_api.is_some() {
        root.remark(
            "service_instances_api",
            "stands beside `cf`, where quotas are counted; its list is not asked for",
        );
    }
    remark_unknown_errands(root, &config);
    Some(config)
}

/// An errand that is not in the manifest fails each order after its deployment. Adapters may add some of their own, so
/// that an unknown name is odd and not wrong.
fn remark_unknown_errands(root: &Section<'_>, config: &Config) {
    let jobs: BTreeSet<&str> = config
        .software
        .releases
        .iter()
        .flat_map(|release| release.jobs.iter().map(String::as_str))
        .collect();
    for plan in &config.offering.plans {
        let LifecycleErrands {
            post_deploy,
            pre_delete,
            ..
        } = &plan.lifecycle_errands;
        for errand in post_deploy.iter().chain(pre_delete) {
            let is_group = plan
                .instance_groups
                .iter()
                .any(|group| group.name == errand.name);
            if !is_group && !jobs.contains(errand.name.as_str()) {
                let text = format!(
                    "has plan `{}` with the lifecycle errand `{}`, which is neither an instance group of the plan nor a job of \
                     a release; is that its name?",
                    plan.name, errand.name
                );
                root.remark("service_catalog.plans", text);
            }
        }
    }
}

/// Features of the Go broker that are not there yet are refused by name: running without them in silence would break promises.
fn refuse_what_is_not_offered(root: &Section<'_>) {
    if root.section("credhub").holds_a_value() {
        root.refuse::<()>(
            "credhub",
            "is configured; this version does not offer binding credentials in the runtime CredHub, remove the section",
        );
    }
    // Rendered with nulls or values by the release whether or not secure manifests are on.
    root.ignore(&["bosh_credhub"]);
}

#[cfg(test)]
mod tests;
