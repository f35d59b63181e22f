//! The configuration files of the broker and the errands: `broker.yml` ⇒ a valid [`Config`].
//!
//! A file is read in two steps: `document` parses it into values with locations, then one reader for each section
//! checks them and collects every error, because an operator's feedback loop is a deployment. Keys, coercions and
//! checks are those of `spec/contracts/config-and-release.md` §1; the Go broker ignores our own keys
//! (`docs/contributing/architecture.md`, "New keys").

mod adapter;
mod address;
mod bosh;
mod broker;
mod catalog;
mod client_credentials;
mod client_definition;
mod cloud_foundry;
mod credhub;
mod deployment;
mod dns_binding;
mod document;
pub mod errands;
mod excerpt;
mod findings;
mod inspection;
mod keys;
mod plan;
mod plan_version;
mod platform_limits;
mod reference;
mod runtime_credhub;
mod scalars;
mod schema;
mod section;
mod sections;
mod service_instances_api;
mod timings;

use std::{collections::BTreeSet, fs, io, path::Path, sync::Arc};

use odb_adapter_sdk::protocol::LifecycleErrands;

use section::Section;

pub use adapter::{Adapter, AdapterForm, PlanSchemaSupport};
pub use address::Address;
pub use bosh::Bosh;
pub use broker::{
    BackupAgentBindings, BasicCredentials, BoshConfigs, Broker, ErrorDetail, InstanceFetching,
    OrganizationAndSpace, PendingChanges, TlsFiles, UnchangedUpgrades, UsageReporting,
};
pub use catalog::{DashboardClient, GlobalQuotas, Offering};
pub use client_definition::ClientDefinition;
pub use cloud_foundry::{CloudFoundry, CloudFoundryChecks, Verification};
pub use credhub::CredHubAccess;
pub use deployment::ServiceSoftware;
pub use dns_binding::DnsBinding;
pub use excerpt::Excerpt;
pub use findings::{ConfigFinding, InvalidConfig, Message};
pub use inspection::{CertificateText, Inspection};
pub use plan::{Plan, PlanQuotas, ResourceQuota, WatchTime};
pub use plan_version::{
    MaintenanceConflict, MaintenanceInfo, PlanVersion, check_maintenance_version,
};
pub use reference::markdown_reference;
pub use runtime_credhub::RuntimeCredHub;
pub use schema::json_schema;
pub use section::Paths;
pub use sections::{Reported, Sections};
pub use service_instances_api::ServiceInstancesApi;
pub use timings::Timings;

/// The complete configuration. Every value has been checked.
#[derive(Debug)]
pub struct Config {
    /// How the broker listens, stops and treats its requests.
    pub broker: Broker,
    /// The Director.
    pub bosh: Bosh,
    /// The Director's CredHub, where secure manifests are on (`broker.enable_secure_manifests`).
    pub bosh_credhub: Option<CredHubAccess>,
    /// The Cloud Controller; may be absent where `broker.disable_cf_startup_checks` or `service_instances_api` is set.
    pub cloud_foundry: Option<CloudFoundry>,
    /// The source of service instances without a Cloud Controller.
    pub service_instances_api: Option<ServiceInstancesApi>,
    /// The CredHub of applications, where it keeps the credentials of bindings.
    pub runtime_credhub: Option<RuntimeCredHub>,
    /// The service adapter.
    pub adapter: Adapter,
    /// The releases and stemcells that adapters build manifests from.
    pub software: ServiceSoftware,
    /// The offering in the marketplace.
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
        /// The underlying error.
        #[source]
        source: io::Error,
    },
    /// The file was read and cannot be used.
    #[error(transparent)]
    Invalid(#[from] InvalidConfig),
}

/// A configuration with its warnings, such as unknown keys.
#[derive(Debug)]
pub struct Loaded<T> {
    /// The checked configuration.
    pub config: T,
    /// Warnings for the operator.
    pub warnings: Vec<ConfigFinding>,
}

impl Config {
    /// Reads and checks a configuration file, the adapter's executable included.
    pub fn load(file: &Path) -> Result<Loaded<Self>, LoadError> {
        Ok(Self::parse(file, &read_file(file)?)?)
    }

    /// Parses the text of a configuration. `file` is its name in errors.
    pub fn parse(file: &Path, source: &str) -> Result<Loaded<Self>, InvalidConfig> {
        let Inspection {
            sections,
            errors: findings,
            warnings,
            ..
        } = Inspection::of(file, source, Paths::OfThisMachine);
        match sections.complete() {
            Some(config) if findings.is_empty() => Ok(Loaded { config, warnings }),
            _ => {
                debug_assert!(
                    !findings.is_empty(),
                    "a reader that gives nothing has noted why"
                );
                Err(InvalidConfig { findings, warnings })
            }
        }
    }
}

fn read_file(file: &Path) -> Result<String, LoadError> {
    fs::read_to_string(file).map_err(|source| LoadError::Unreadable {
        file: file.display().to_string(),
        source,
    })
}

/// Every section is read to its end before missing ones are reported, so that no error hides another.
fn read(root: &Section<'_>) -> Reading {
    let broker_section = root.section("broker");
    let adapter_support = adapter::read_support(&broker_section);
    let tls = broker::tls(&broker_section.section("tls"));
    let broker = broker::read(&broker_section);
    let bosh = bosh::read(&root.section("bosh"));
    let bosh_credhub = credhub::read_of_director(root);
    let cloud_foundry = cloud_foundry::read(root);
    let service_instances_api = service_instances_api::read(&root.section("service_instances_api"));
    let runtime_credhub = runtime_credhub::read(&root.section("credhub"));
    let adapter = adapter::read(&root.section("service_adapter"), adapter_support);
    let software = deployment::read(&root.section("service_deployment"));
    let catalog = root.section("service_catalog");
    let offering = catalog::read(&catalog);
    root.warn_unknown_keys();

    if let Some(adapter) = &adapter {
        dns_binding::refuse_in_arguments(&catalog, adapter.form);
        if let Ok(Some(cf)) = &cloud_foundry {
            warn_unused_client_definition(root, cf, adapter.form);
        }
    }
    let has_cloud_foundry = !matches!(cloud_foundry, Ok(None));
    let is_listed_elsewhere = root.section("service_instances_api").has_value("url");
    if !has_cloud_foundry
        && !is_listed_elsewhere
        && let Some(limit) = catalog::first_limit(&catalog)
    {
        root.refuse_value::<(), _>(
            &limit,
            (
                "cannot be enforced without a source of instances to count",
                "configure `cf` or `service_instances_api`, or remove all quotas",
            ),
        );
    }
    if let (Some(software), Some(offering)) = (&software, &offering) {
        warn_unknown_errands(&catalog, software, offering);
    }
    if let (Ok(credhub), Some(offering)) = (&runtime_credhub, &offering) {
        runtime_credhub::check_catalog(credhub.as_ref(), &catalog, offering);
    }
    Reading {
        tls: tls.ok().flatten(),
        sections: Sections {
            broker: broker.into(),
            bosh: bosh.into(),
            bosh_credhub: bosh_credhub.into(),
            cloud_foundry: cloud_foundry.into(),
            service_instances_api: Ok(service_instances_api).into(),
            runtime_credhub: runtime_credhub.into(),
            adapter: adapter.into(),
            software: software.into(),
            offering: offering.map(Arc::new).into(),
        },
    }
}

/// The sections that could be read.
#[derive(Default)]
struct Reading {
    tls: Option<TlsFiles>,
    sections: Sections,
}

/// An errand that is not in the manifest fails each order after its deployment. Adapters may add errands, so an unknown
/// name is a warning and no error.
fn warn_unknown_errands(catalog: &Section<'_>, software: &ServiceSoftware, offering: &Offering) {
    let jobs: BTreeSet<&str> = software
        .releases
        .iter()
        .flat_map(|release| release.jobs.iter().map(String::as_str))
        .collect();
    for (section, plan) in catalog.sections("plans").iter().zip(&offering.plans) {
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
                let text = (
                    format!(
                        "has the errand `{}`, which is neither an instance group of the plan nor a job of a release",
                        errand.name
                    ),
                    "is that its name?",
                );
                section.section("lifecycle_errands").warn_here(text);
            }
        }
    }
}

/// Warns of a client definition that no adapter can use.
fn warn_unused_client_definition(root: &Section<'_>, cf: &CloudFoundry, form: AdapterForm) {
    if cf.client_definition.is_some() && form == AdapterForm::Arguments {
        let uaa = root.section("cf").section("uaa");
        uaa.section("client_definition").warn_here(
            ("gives each instance a UAA client that its adapter does not receive, because `broker.use_stdin` is off", "switch it on"),
        );
    }
}

#[cfg(test)]
mod tests;
