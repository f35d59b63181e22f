use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::parts::{self, InputError};
use super::{
    BoshVms, Call, CreateBinding, DeleteBinding, DnsAddresses, GenerateDashboardUrl,
    GenerateManifest, GeneratePlanSchemas, ManifestText, RequestParameters, Secrets, Subcommand,
};
use crate::json;
use crate::schemas::texts;

/// The document on an adapter's stdin (`spec/contracts/adapter-protocol.md`, "stdin form").
///
/// It has a section per subcommand, of which the one called is filled. Every member is a string:
/// objects stand in it as JSON text, manifests as YAML text. The document is secret as a whole;
/// formatting does not show it.
#[derive(Clone, Default, Serialize, JsonSchema)]
#[schemars(
    default,
    description = "The document on an adapter's stdin. It has a section per subcommand, of which the one called is filled \
                   and the others hold empty strings or are absent: which one to read follows from the subcommand. Every \
                   member is a string; objects stand in it as JSON text, manifests as YAML text."
)]
pub struct AdapterInput {
    /// What `generate-manifest` is given.
    #[schemars(with = "Option<GenerateManifestSection>")]
    generate_manifest: GenerateManifestSection,
    /// What `dashboard-url` is given.
    #[schemars(with = "Option<DashboardUrlSection>")]
    dashboard_url: DashboardUrlSection,
    /// What `create-binding` is given.
    #[schemars(with = "Option<BindingSection>")]
    create_binding: BindingSection,
    /// What `delete-binding` is given.
    #[schemars(with = "Option<BindingSection>")]
    delete_binding: BindingSection,
    /// What `generate-plan-schemas` is given.
    #[schemars(with = "Option<PlanSchemasSection>")]
    generate_plan_schemas: PlanSchemasSection,
}

#[derive(Clone, Default, Serialize, JsonSchema)]
#[schemars(default)]
struct GenerateManifestSection {
    /// Name, releases and stemcells to deploy with.
    #[schemars(schema_with = "texts::service_deployment")]
    service_deployment: String,
    /// The plan to deploy.
    #[schemars(schema_with = "texts::plan")]
    plan: String,
    /// The plan before this request, as it is configured today; `null` on create.
    #[schemars(schema_with = "texts::plan_or_null")]
    previous_plan: String,
    /// The manifest deployed last, as the Director stores it, variables unresolved; empty on create.
    #[schemars(schema_with = "texts::manifest")]
    previous_manifest: String,
    /// Body of the request: `{}` where the broker only looks for pending changes, the `context` alone
    /// on upgrade.
    #[schemars(schema_with = "texts::request_parameters")]
    request_parameters: String,
    /// Secrets of the previous manifest; `null` on create, on upgrade and without secure manifests.
    #[schemars(schema_with = "texts::previous_secrets")]
    previous_secrets: String,
    /// BOSH configs of the instance as they are now; `null` on create and without BOSH configs.
    #[schemars(schema_with = "texts::previous_configs")]
    previous_configs: String,
    /// The instance's UAA client, if the broker keeps one; `null` when it looks for pending changes.
    #[schemars(schema_with = "texts::uaa_client")]
    uaa_client: String,
}

#[derive(Clone, Default, Serialize, JsonSchema)]
#[schemars(default)]
struct DashboardUrlSection {
    /// Id of the service instance, chosen by the platform.
    #[schemars(schema_with = "texts::plain")]
    instance_id: String,
    /// The plan that was deployed.
    #[schemars(schema_with = "texts::plan")]
    plan: String,
    /// The manifest that was deployed; names of ODB-managed secrets are their paths already.
    #[schemars(schema_with = "texts::manifest")]
    manifest: String,
}

#[derive(Clone, Default, Serialize, JsonSchema)]
#[schemars(default)]
struct BindingSection {
    /// Id of the binding, chosen by the platform.
    #[schemars(schema_with = "texts::plain")]
    binding_id: String,
    /// Addresses of the instance's VMs.
    #[schemars(schema_with = "texts::bosh_vms")]
    bosh_vms: String,
    /// The deployed manifest.
    #[schemars(schema_with = "texts::manifest")]
    manifest: String,
    /// Body of the request; only `plan_id` and `service_id` when a binding ends.
    #[schemars(schema_with = "texts::request_parameters")]
    request_parameters: String,
    /// Secrets of the manifest; `null` without secure manifests.
    #[schemars(schema_with = "texts::previous_secrets")]
    secrets: String,
    /// DNS addresses that the plan asks for; `{}` if it asks for none.
    #[schemars(schema_with = "texts::dns_addresses")]
    dns_addresses: String,
}

#[derive(Clone, Default, Serialize, JsonSchema)]
#[schemars(default)]
struct PlanSchemasSection {
    /// The plan to describe.
    #[schemars(schema_with = "texts::plan")]
    plan: String,
}

impl AdapterInput {
    /// The input of `generate-manifest`.
    pub fn generate_manifest(call: &GenerateManifest) -> Self {
        let section = GenerateManifestSection {
            service_deployment: text(&call.service_deployment),
            plan: text(&call.plan),
            previous_plan: text(&call.previous_plan),
            previous_manifest: call
                .previous_manifest
                .as_ref()
                .map_or("", ManifestText::as_str)
                .to_owned(),
            request_parameters: call.request_parameters.as_json().to_owned(),
            previous_secrets: text(&call.previous_secrets),
            previous_configs: text(&call.previous_configs),
            uaa_client: text(&call.uaa_client),
        };
        Self {
            generate_manifest: section,
            ..Self::default()
        }
    }

    /// The input of `create-binding`.
    pub fn create_binding(call: &CreateBinding) -> Self {
        let CreateBinding {
            binding_id,
            bosh_vms,
            manifest,
            request_parameters,
            secrets,
            dns_addresses,
        } = call;
        let section = binding_section(
            binding_id,
            bosh_vms,
            manifest,
            request_parameters,
            secrets.as_ref(),
            dns_addresses,
        );
        Self {
            create_binding: section,
            ..Self::default()
        }
    }

    /// The input of `delete-binding`.
    pub fn delete_binding(call: &DeleteBinding) -> Self {
        let DeleteBinding {
            binding_id,
            bosh_vms,
            manifest,
            request_parameters,
            secrets,
            dns_addresses,
        } = call;
        let section = binding_section(
            binding_id,
            bosh_vms,
            manifest,
            request_parameters,
            secrets.as_ref(),
            dns_addresses,
        );
        Self {
            delete_binding: section,
            ..Self::default()
        }
    }

    /// The input of `dashboard-url`.
    pub fn dashboard_url(call: &GenerateDashboardUrl) -> Self {
        let section = DashboardUrlSection {
            instance_id: call.instance_id.clone(),
            plan: text(&call.plan),
            manifest: call.manifest.as_str().to_owned(),
        };
        Self {
            dashboard_url: section,
            ..Self::default()
        }
    }

    /// The input of `generate-plan-schemas`.
    pub fn generate_plan_schemas(call: &GeneratePlanSchemas) -> Self {
        Self {
            generate_plan_schemas: PlanSchemasSection {
                plan: text(&call.plan),
            },
            ..Self::default()
        }
    }

    /// The document as it goes to stdin, newline included.
    pub fn to_json(&self) -> String {
        text(self) + "\n"
    }

    /// Reads the section of that subcommand out of a document; the others may be absent, and what
    /// the protocol does not know is passed over.
    ///
    /// Where the Go SDK insists on at least `null`, a member may be empty or absent as well.
    pub fn read(document: &str, subcommand: Subcommand) -> Result<Call, InputError> {
        let document: Map<String, Value> =
            json::from_str(document).map_err(InputError::Document)?;
        match subcommand {
            Subcommand::GenerateManifest => read_generate_manifest(&document),
            Subcommand::CreateBinding => read_binding("create_binding", &document)
                .map(|binding| Call::CreateBinding(Box::new(binding))),
            Subcommand::DeleteBinding => read_binding("delete_binding", &document).map(|binding| {
                let CreateBinding {
                    binding_id,
                    bosh_vms,
                    manifest,
                    request_parameters,
                    secrets,
                    dns_addresses,
                } = binding;
                Call::DeleteBinding(Box::new(DeleteBinding {
                    binding_id,
                    bosh_vms,
                    manifest,
                    request_parameters,
                    secrets,
                    dns_addresses,
                }))
            }),
            Subcommand::DashboardUrl => read_dashboard_url(&document),
            Subcommand::GeneratePlanSchemas => {
                let section = Section::of(&document, "generate_plan_schemas")?;
                let plan = parts::plan(&section.path("plan"), section.required("plan")?)?;
                Ok(Call::GeneratePlanSchemas(Box::new(GeneratePlanSchemas {
                    plan,
                })))
            }
        }
    }
}

impl fmt::Debug for AdapterInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdapterInput").finish_non_exhaustive()
    }
}

fn binding_section(
    binding_id: &str,
    bosh_vms: &BoshVms,
    manifest: &ManifestText,
    request_parameters: &RequestParameters,
    secrets: Option<&Secrets>,
    dns_addresses: &DnsAddresses,
) -> BindingSection {
    BindingSection {
        binding_id: binding_id.to_owned(),
        bosh_vms: text(bosh_vms),
        manifest: manifest.as_str().to_owned(),
        request_parameters: request_parameters.as_json().to_owned(),
        secrets: text(&secrets),
        dns_addresses: text(dns_addresses),
    }
}

/// A part as it travels: JSON in a text.
pub(super) fn text<T: Serialize>(part: &T) -> String {
    serde_json::to_string(part).expect("the protocol's types have text keys and write to memory")
}

/// The order of the parts is the order in which the Go SDK finds their faults.
fn read_generate_manifest(document: &Map<String, Value>) -> Result<Call, InputError> {
    let section = Section::of(document, "generate_manifest")?;
    let path = |key| section.path(key);
    let service_deployment = parts::service_deployment(
        &path("service_deployment"),
        section.required("service_deployment")?,
    )?;
    let plan = parts::plan(&path("plan"), section.required("plan")?)?;
    let request_parameters = parts::request_parameters(
        &path("request_parameters"),
        section.text("request_parameters")?,
    )?;
    let previous_manifest = section.text("previous_manifest")?.map(ManifestText::from);
    let previous_plan =
        parts::optional_plan(&path("previous_plan"), section.text("previous_plan")?)?;
    let previous_secrets =
        parts::optional(&path("previous_secrets"), section.text("previous_secrets")?)?;
    let previous_configs =
        parts::optional(&path("previous_configs"), section.text("previous_configs")?)?;
    let uaa_client = parts::optional(&path("uaa_client"), section.text("uaa_client")?)?;
    Ok(Call::GenerateManifest(Box::new(GenerateManifest {
        service_deployment,
        plan,
        request_parameters,
        previous_plan,
        previous_manifest,
        previous_secrets,
        previous_configs,
        uaa_client,
    })))
}

fn read_binding(
    name: &'static str,
    document: &Map<String, Value>,
) -> Result<CreateBinding, InputError> {
    let section = Section::of(document, name)?;
    let path = |key| section.path(key);
    Ok(CreateBinding {
        binding_id: section.text("binding_id")?.unwrap_or_default().to_owned(),
        bosh_vms: parts::optional(&path("bosh_vms"), section.text("bosh_vms")?)?
            .unwrap_or_default(),
        manifest: section.text("manifest")?.unwrap_or_default().into(),
        request_parameters: parts::request_parameters(
            &path("request_parameters"),
            section.text("request_parameters")?,
        )?,
        secrets: parts::optional(&path("secrets"), section.text("secrets")?)?,
        dns_addresses: parts::optional(&path("dns_addresses"), section.text("dns_addresses")?)?
            .unwrap_or_default(),
    })
}

fn read_dashboard_url(document: &Map<String, Value>) -> Result<Call, InputError> {
    let section = Section::of(document, "dashboard_url")?;
    Ok(Call::DashboardUrl(Box::new(GenerateDashboardUrl {
        instance_id: section.text("instance_id")?.unwrap_or_default().to_owned(),
        plan: parts::plan(&section.path("plan"), section.required("plan")?)?,
        manifest: section.text("manifest")?.unwrap_or_default().into(),
    })))
}

/// One subcommand's part of the document.
struct Section<'d> {
    name: &'static str,
    members: Option<&'d Map<String, Value>>,
}

impl<'d> Section<'d> {
    fn of(document: &'d Map<String, Value>, name: &'static str) -> Result<Self, InputError> {
        match document.get(name) {
            None | Some(Value::Null) => Ok(Self {
                name,
                members: None,
            }),
            Some(Value::Object(members)) => Ok(Self {
                name,
                members: Some(members),
            }),
            Some(_) => Err(InputError::NotAnObject {
                path: name.to_owned(),
            }),
        }
    }

    fn path(&self, key: &str) -> String {
        format!("{}.{key}", self.name)
    }

    /// The text of a member, if there is any.
    fn text(&self, key: &str) -> Result<Option<&'d str>, InputError> {
        match self.members.and_then(|members| members.get(key)) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
            Some(_) => Err(InputError::NotAString {
                path: self.path(key),
            }),
        }
    }

    fn required(&self, key: &str) -> Result<&'d str, InputError> {
        self.text(key)?.ok_or_else(|| InputError::Missing {
            path: self.path(key),
        })
    }
}
