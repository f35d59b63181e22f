//! The configuration files of the broker and the errands: `broker.yml` ⇒ a valid [`Config`].
//!
//! A file is read in two steps: `document` parses it into values with locations, then one reader for each section
//! checks them and collects every error, because an operator's feedback loop is a deployment. `keys.yml` declares the
//! keys. Coercions and checks are those of `spec/contracts/config-and-release.md` §1.

mod broker;
mod catalog;
mod cloud_foundry;
pub mod errands;
mod excerpt;
mod findings;
mod inspection;
mod keys;
mod plan;
mod plan_version;
mod reference;
mod schema;
mod section;
mod software;
mod timings;
mod ui;
mod upstreams;

use std::{collections::BTreeSet, fs, io, path::Path, sync::Arc};

use odb_adapter_sdk::document;
use section::Section;

pub use broker::{BasicCredentials, BoshConfigs, Broker, ErrorDetail, TlsFiles};
pub use catalog::{DashboardClient, GlobalQuotas, Offering};
pub use cloud_foundry::{ClientDefinition, CloudFoundry, Verification};
pub use excerpt::Excerpt;
pub use findings::{ConfigFinding, InvalidConfig, Message};
pub use inspection::{Inspection, Reported, Sections};
pub use plan::{DnsBinding, Plan, PlanQuotas, ResourceQuota, WatchTime};
pub use plan_version::{
    MaintenanceConflict, MaintenanceInfo, PlanVersion, check_maintenance_version,
};
pub use reference::markdown_reference;
pub use schema::json_schema;
pub use section::Paths;
pub use software::{Adapter, AdapterForm, ServiceSoftware};
pub use timings::Timings;
pub use ui::{Ui, UiAction};
pub use upstreams::{Address, Bosh, CredHubAccess, RuntimeCredHub, ServiceInstancesApi};

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
    /// The page for operators, where it is switched on.
    pub ui: Option<Ui>,
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

/// Every section is read to its end before missing ones are reported, so that no error hides another. Certificate and
/// key of the broker are usable even if others are not.
fn read(root: &Section<'_>) -> (Sections, Option<TlsFiles>) {
    let broker_section = root.section("broker");
    let adapter_support = software::adapter_support(&broker_section);
    let tls = broker::tls(&broker_section.section("tls"));
    let broker = broker::read(&broker_section);
    let bosh = upstreams::bosh(&root.section("bosh"));
    let bosh_credhub = upstreams::bosh_credhub(root);
    let cloud_foundry = cloud_foundry::read(root);
    let api = root.section("service_instances_api");
    let service_instances_api = upstreams::service_instances_api(&api);
    let runtime_credhub = root.section("credhub");
    let runtime_credhub = runtime_credhub.optional(upstreams::runtime_credhub);
    let adapter = software::adapter(&root.section("service_adapter"), adapter_support);
    let software = software::deployment(&root.section("service_deployment"));
    let catalog = root.section("service_catalog");
    let offering = catalog::read(&catalog);
    let ui = ui::read(&root.section("ui"));
    if let (Ok(Some(ui)), Some(broker)) = (&ui, &broker) {
        ui::refuse_those_of_the_broker(ui, broker, &root.section("ui"));
    }
    root.warn_unknown_keys();

    if let Some(adapter) = &adapter {
        plan::refuse_dns_in_arguments(&catalog, adapter.form);
        let cf = cloud_foundry.as_ref().ok().and_then(Option::as_ref);
        let has_clients = cf.is_some_and(|cf| cf.client_definition.is_some());
        if has_clients && adapter.form == AdapterForm::Arguments {
            let wrong = "gives each instance a UAA client that its adapter does not receive, because `broker.use_stdin` is off";
            let uaa = root.section("cf").section("uaa");
            let section = uaa.section("client_definition");
            section.warn_here((wrong, "switch it on"));
        }
    }
    let has_source = !matches!(cloud_foundry, Ok(None)) || api.has_value("url");
    if !has_source && let Some(limit) = catalog::first_limit(&catalog) {
        let wrong = "cannot be enforced without a source of instances to count";
        let right = "configure `cf` or `service_instances_api`, or remove all quotas";
        root.refuse_value::<(), _>(&limit, (wrong, right));
    }
    if let (Some(software), Some(offering)) = (&software, &offering) {
        warn_unknown_errands(&catalog, software, offering);
    }
    if let (Ok(credhub), Some(offering)) = (&runtime_credhub, &offering) {
        upstreams::check_catalog(credhub.as_ref(), &catalog, offering);
    }
    let sections = Sections {
        broker: broker.into(),
        bosh: bosh.into(),
        bosh_credhub: bosh_credhub.into(),
        cloud_foundry: cloud_foundry.into(),
        service_instances_api: Ok(service_instances_api).into(),
        runtime_credhub: runtime_credhub.into(),
        adapter: adapter.into(),
        software: software.into(),
        offering: offering.map(Arc::new).into(),
        ui: ui.into(),
    };
    (sections, tls.ok().flatten())
}

/// An errand that is not in the manifest fails each order after its deployment. Adapters may add errands, so an unknown
/// name is a warning and no error.
fn warn_unknown_errands(catalog: &Section<'_>, software: &ServiceSoftware, offering: &Offering) {
    let releases = software.releases.iter();
    let jobs: BTreeSet<&String> = releases.flat_map(|release| &release.jobs).collect();
    for (section, plan) in catalog.sections("plans").iter().zip(&offering.plans) {
        let (errands, groups) = (&plan.lifecycle_errands, &plan.instance_groups);
        for errand in errands.post_deploy.iter().chain(&errands.pre_delete) {
            let name = &errand.name;
            if !jobs.contains(name) && groups.iter().all(|group| group.name != *name) {
                let wrong = format!(
                    "has the errand `{name}`, which is neither an instance group of the plan nor a job of a release"
                );
                let section = section.section("lifecycle_errands");
                section.warn_here((wrong, "is that its name?"));
            }
        }
    }
}

#[cfg(test)]
mod tests;
