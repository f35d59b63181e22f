//! The input of each subcommand: the same type for the document on stdin, for the argument list of old brokers, and for
//! the schema of the document.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use super::wire::{InputError, Texts, Wire};
use super::{
    ManifestText, Plan, RequestParameters, Secrets, ServiceDeployment, Subcommand, UaaClient,
};
use crate::manifest::Manifest;
use crate::schemas::texts;
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
#[expect(missing_docs, reason = "the texts say what each error is")]
pub enum UnreadableManifest {
    #[error("the previous manifest cannot be read")]
    Previous(#[source] yaml::Error),
    #[error("the deployed manifest cannot be read")]
    Deployed(#[source] yaml::Error),
}

/// A subcommand with its input.
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

    pub(super) fn read(subcommand: Subcommand, texts: &Texts<'_>) -> Result<Self, InputError> {
        Ok(match subcommand {
            Subcommand::GenerateManifest => {
                Self::GenerateManifest(Box::new(GenerateManifest::read(texts)?))
            }
            Subcommand::CreateBinding => Self::CreateBinding(Box::new(CreateBinding::read(texts)?)),
            Subcommand::DeleteBinding => Self::DeleteBinding(Box::new(DeleteBinding::read(texts)?)),
            Subcommand::DashboardUrl => {
                Self::DashboardUrl(Box::new(GenerateDashboardUrl::read(texts)?))
            }
            Subcommand::GeneratePlanSchemas => {
                Self::GeneratePlanSchemas(Box::new(GeneratePlanSchemas::read(texts)?))
            }
        })
    }
}

/// The input of `generate-manifest`.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(rename = "GenerateManifestSection")]
#[non_exhaustive]
pub struct GenerateManifest {
    /// Name, releases and stemcells to deploy with.
    #[schemars(schema_with = "texts::service_deployment")]
    pub service_deployment: ServiceDeployment,
    /// The plan to deploy.
    #[schemars(schema_with = "texts::plan")]
    pub plan: Plan,
    /// The plan before this request, as it is configured today; `None` on create.
    #[schemars(schema_with = "texts::plan_or_null")]
    pub previous_plan: Option<Plan>,
    /// The manifest deployed last, as the Director stores it, variables unresolved; empty on create.
    #[schemars(schema_with = "texts::manifest")]
    pub previous_manifest: Option<ManifestText>,
    /// Body of the request: `{}` when the broker checks for pending changes, the `context` alone on upgrade.
    #[schemars(schema_with = "texts::request_parameters")]
    pub request_parameters: RequestParameters,
    /// Secrets of the previous manifest; `None` on create, on upgrade and without secure manifests.
    #[schemars(schema_with = "texts::previous_secrets")]
    pub previous_secrets: Option<Secrets>,
    /// BOSH configs of the instance as they are now; `None` on create and without BOSH configs.
    #[schemars(schema_with = "texts::previous_configs")]
    pub previous_configs: Option<PreviousConfigs>,
    /// The instance's UAA client, if the broker manages one; `None` when the broker checks for pending changes.
    #[schemars(schema_with = "texts::uaa_client")]
    pub uaa_client: Option<UaaClient>,
}

impl GenerateManifest {
    /// The input of a create; for other operations set the `previous_…` fields.
    pub fn new(
        service_deployment: ServiceDeployment,
        plan: Plan,
        request_parameters: RequestParameters,
    ) -> Self {
        Self {
            service_deployment,
            plan,
            previous_plan: None,
            previous_manifest: None,
            request_parameters,
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

/// The input of `create-binding` and of `delete-binding`.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(rename = "BindingSection")]
#[non_exhaustive]
pub struct CreateBinding {
    /// Id of the binding, chosen by the platform.
    #[schemars(schema_with = "texts::plain")]
    pub binding_id: String,
    /// Addresses of the instance's VMs.
    #[schemars(schema_with = "texts::bosh_vms")]
    pub bosh_vms: BoshVms,
    /// The deployed manifest.
    #[schemars(schema_with = "texts::manifest")]
    pub manifest: ManifestText,
    /// Body of the request; only `plan_id` and `service_id` when a binding ends.
    #[schemars(schema_with = "texts::request_parameters")]
    pub request_parameters: RequestParameters,
    /// Secrets of the manifest; `None` without secure manifests.
    #[schemars(schema_with = "texts::previous_secrets")]
    pub secrets: Option<Secrets>,
    /// DNS addresses that the plan asks for; `{}` if it asks for none.
    #[schemars(schema_with = "texts::dns_addresses")]
    pub dns_addresses: DnsAddresses,
}

/// The input of `delete-binding`: the same as when the binding was created.
pub type DeleteBinding = CreateBinding;

impl CreateBinding {
    /// A binding of that id, or its end, to the instance that runs on these VMs by that manifest.
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

/// The input of `dashboard-url`.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(rename = "DashboardUrlSection")]
#[non_exhaustive]
pub struct GenerateDashboardUrl {
    /// Id of the service instance, chosen by the platform.
    #[schemars(schema_with = "texts::plain")]
    pub instance_id: String,
    /// The plan that was deployed.
    #[schemars(schema_with = "texts::plan")]
    pub plan: Plan,
    /// The manifest that was deployed; names of ODB-managed secrets are their paths already.
    #[schemars(schema_with = "texts::manifest")]
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

/// The input of `generate-plan-schemas`.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(rename = "PlanSchemasSection")]
#[non_exhaustive]
pub struct GeneratePlanSchemas {
    /// The plan to describe.
    #[schemars(schema_with = "texts::plan")]
    pub plan: Plan,
}

impl GeneratePlanSchemas {
    /// The schemas of that plan.
    pub fn new(plan: Plan) -> Self {
        Self { plan }
    }
}

/// Addresses that a binding needs but that are missing. The error names the existing ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the texts say what each error is")]
pub enum NoAddressError {
    #[error("instance group `{group}` has no VM; there are VMs of {existing}")]
    NoVm { group: String, existing: String },
    #[error("unknown DNS address `{name}` ({existing}); add it to `binding_with_dns` of the plan")]
    NoDnsAddress { name: String, existing: String },
}

impl CreateBinding {
    /// Addresses of the VMs of an instance group, at least one.
    pub fn addresses_of(&self, group: &str) -> Result<&[String], NoAddressError> {
        match self.bosh_vms.get(group).map(Vec::as_slice) {
            None | Some([]) => {
                let vms = self.bosh_vms.iter();
                let existing = vms.filter(|(_, addresses)| !addresses.is_empty());
                Err(NoAddressError::NoVm {
                    group: group.to_owned(),
                    existing: in_words(existing.map(|(name, _)| name), "no group"),
                })
            }
            Some(addresses) => Ok(addresses),
        }
    }

    /// The DNS address of that name, which survives VMs that get new IP addresses.
    pub fn dns_address(&self, name: &str) -> Result<&str, NoAddressError> {
        let address = self.dns_addresses.get(name).map(String::as_str);
        address.ok_or_else(|| NoAddressError::NoDnsAddress {
            name: name.to_owned(),
            existing: in_words(self.dns_addresses.keys(), "there is none at all"),
        })
    }
}

fn in_words<'n>(names: impl Iterator<Item = &'n String>, nothing: &str) -> String {
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        nothing.to_owned()
    } else {
        names.join(", ")
    }
}
