use std::collections::BTreeMap;

use super::{
    ManifestText, Plan, RequestParameters, Secrets, ServiceDeployment, Subcommand, UaaClient,
};
use crate::manifest::Manifest;
use crate::yaml;

/// Addresses of an instance group's VMs, every network, by the group's name.
pub type BoshVms = BTreeMap<String, Vec<String>>;

/// DNS addresses by the name of their `binding_with_dns` entry in the plan.
pub type DnsAddresses = BTreeMap<String, String>;

/// BOSH configs of the service instance as they are now: YAML text by config type.
pub type PreviousConfigs = BTreeMap<String, String>;

/// A manifest that the broker passes on and that is no manifest to this SDK.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnreadableManifest {
    /// The one that the next is made from.
    #[error("the previous manifest cannot be read")]
    Previous(#[source] yaml::Error),
    /// The one that a binding or a dashboard is for.
    #[error("the deployed manifest cannot be read")]
    Deployed(#[source] yaml::Error),
}

/// A subcommand with what it is given.
#[derive(Debug, Clone)]
pub enum Call {
    /// `generate-manifest`
    GenerateManifest(Box<GenerateManifest>),
    /// `create-binding`
    CreateBinding(Box<CreateBinding>),
    /// `delete-binding`
    DeleteBinding(Box<DeleteBinding>),
    /// `dashboard-url`
    DashboardUrl(Box<GenerateDashboardUrl>),
    /// `generate-plan-schemas`
    GeneratePlanSchemas(Box<GeneratePlanSchemas>),
}

impl Call {
    /// The subcommand.
    pub const fn subcommand(&self) -> Subcommand {
        match self {
            Self::GenerateManifest(_) => Subcommand::GenerateManifest,
            Self::CreateBinding(_) => Subcommand::CreateBinding,
            Self::DeleteBinding(_) => Subcommand::DeleteBinding,
            Self::DashboardUrl(_) => Subcommand::DashboardUrl,
            Self::GeneratePlanSchemas(_) => Subcommand::GeneratePlanSchemas,
        }
    }
}

/// What `generate-manifest` is given.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GenerateManifest {
    /// Name, releases and stemcells to deploy with.
    pub service_deployment: ServiceDeployment,
    /// The plan to deploy.
    pub plan: Plan,
    /// Body of the request, or `{}` where the broker only looks for pending changes.
    pub request_parameters: RequestParameters,
    /// The plan before this request, as it is configured today; `None` on create.
    pub previous_plan: Option<Plan>,
    /// The manifest deployed last, variables unresolved; `None` on create.
    pub previous_manifest: Option<ManifestText>,
    /// Secrets of the previous manifest; `None` on create, on upgrade and without secure manifests.
    pub previous_secrets: Option<Secrets>,
    /// Configs of the instance; `None` on create and without BOSH configs.
    pub previous_configs: Option<PreviousConfigs>,
    /// The instance's UAA client, if the broker keeps one; `None` when it looks for pending changes.
    pub uaa_client: Option<UaaClient>,
}

impl GenerateManifest {
    /// What a create is given; for other operations set the `previous_…` fields.
    pub fn new(
        service_deployment: ServiceDeployment,
        plan: Plan,
        request_parameters: RequestParameters,
    ) -> Self {
        Self {
            service_deployment,
            plan,
            request_parameters,
            previous_plan: None,
            previous_manifest: None,
            previous_secrets: None,
            previous_configs: None,
            uaa_client: None,
        }
    }

    /// The manifest deployed last, read into the model; `None` on create.
    pub fn previous(&self) -> Result<Option<Manifest>, UnreadableManifest> {
        self.previous_manifest
            .as_ref()
            .map(ManifestText::parse)
            .transpose()
            .map_err(UnreadableManifest::Previous)
    }
}

/// What `create-binding` is given.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CreateBinding {
    /// Id of the binding, chosen by the platform.
    pub binding_id: String,
    /// Addresses of the instance's VMs.
    pub bosh_vms: BoshVms,
    /// The deployed manifest.
    pub manifest: ManifestText,
    /// Body of the request.
    pub request_parameters: RequestParameters,
    /// Secrets of the manifest; `None` without secure manifests.
    pub secrets: Option<Secrets>,
    /// DNS addresses that the plan asks for.
    pub dns_addresses: DnsAddresses,
}

impl CreateBinding {
    /// A binding of that id to the instance that runs on these VMs by that manifest.
    pub fn new(
        binding_id: impl Into<String>,
        bosh_vms: BoshVms,
        manifest: ManifestText,
        request_parameters: RequestParameters,
    ) -> Self {
        Self {
            binding_id: binding_id.into(),
            bosh_vms,
            manifest,
            request_parameters,
            secrets: None,
            dns_addresses: DnsAddresses::new(),
        }
    }

    /// The deployed manifest, read into the model.
    pub fn deployed(&self) -> Result<Manifest, UnreadableManifest> {
        self.manifest.parse().map_err(UnreadableManifest::Deployed)
    }
}

/// What `delete-binding` is given.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DeleteBinding {
    /// Id of the binding, chosen by the platform.
    pub binding_id: String,
    /// Addresses of the instance's VMs.
    pub bosh_vms: BoshVms,
    /// The deployed manifest.
    pub manifest: ManifestText,
    /// Service and plan id of the request.
    pub request_parameters: RequestParameters,
    /// Secrets of the manifest; `None` without secure manifests.
    pub secrets: Option<Secrets>,
    /// DNS addresses that the plan asks for.
    pub dns_addresses: DnsAddresses,
}

impl DeleteBinding {
    /// The end of a binding of that id to the instance that runs on these VMs by that manifest.
    pub fn new(
        binding_id: impl Into<String>,
        bosh_vms: BoshVms,
        manifest: ManifestText,
        request_parameters: RequestParameters,
    ) -> Self {
        Self {
            binding_id: binding_id.into(),
            bosh_vms,
            manifest,
            request_parameters,
            secrets: None,
            dns_addresses: DnsAddresses::new(),
        }
    }

    /// The deployed manifest, read into the model.
    pub fn deployed(&self) -> Result<Manifest, UnreadableManifest> {
        self.manifest.parse().map_err(UnreadableManifest::Deployed)
    }
}

/// What `dashboard-url` is given.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GenerateDashboardUrl {
    /// Id of the service instance, chosen by the platform.
    pub instance_id: String,
    /// The plan that was deployed.
    pub plan: Plan,
    /// The manifest that was deployed.
    pub manifest: ManifestText,
}

impl GenerateDashboardUrl {
    /// The dashboard of that instance.
    pub fn new(instance_id: impl Into<String>, plan: Plan, manifest: ManifestText) -> Self {
        Self {
            instance_id: instance_id.into(),
            plan,
            manifest,
        }
    }

    /// The deployed manifest, read into the model.
    pub fn deployed(&self) -> Result<Manifest, UnreadableManifest> {
        self.manifest.parse().map_err(UnreadableManifest::Deployed)
    }
}

/// What `generate-plan-schemas` is given.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GeneratePlanSchemas {
    /// The plan to describe.
    pub plan: Plan,
}

impl GeneratePlanSchemas {
    /// The schemas of that plan.
    pub fn new(plan: Plan) -> Self {
        Self { plan }
    }
}
