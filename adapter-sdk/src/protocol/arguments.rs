use std::fmt;

use super::input::text;
use super::parts::{self, InputError};
use super::{
    BoshVms, Call, CreateBinding, DeleteBinding, GenerateDashboardUrl, GenerateManifest,
    GeneratePlanSchemas, ManifestText, RequestParameters, Subcommand,
};

/// What follows the subcommand in the form of old brokers
/// (`spec/contracts/adapter-protocol.md`, "argv form").
///
/// Secrets, configs, the UAA client and DNS addresses have no place in it. While the process runs,
/// everybody on the machine can read it; formatting does not show it.
#[derive(Clone)]
pub struct AdapterArguments(Vec<String>);

impl AdapterArguments {
    /// The arguments of `generate-manifest`.
    pub fn generate_manifest(call: &GenerateManifest) -> Self {
        let previous_manifest = call
            .previous_manifest
            .as_ref()
            .map_or("", ManifestText::as_str);
        Self(vec![
            text(&call.service_deployment),
            text(&call.plan),
            call.request_parameters.as_json().to_owned(),
            previous_manifest.to_owned(),
            text(&call.previous_plan),
        ])
    }

    /// The arguments of `create-binding`.
    pub fn create_binding(call: &CreateBinding) -> Self {
        let CreateBinding {
            binding_id,
            bosh_vms,
            manifest,
            request_parameters,
            secrets: _,
            dns_addresses: _,
        } = call;
        Self::of_binding(binding_id, bosh_vms, manifest, request_parameters)
    }

    /// The arguments of `delete-binding`.
    pub fn delete_binding(call: &DeleteBinding) -> Self {
        let DeleteBinding {
            binding_id,
            bosh_vms,
            manifest,
            request_parameters,
            secrets: _,
            dns_addresses: _,
        } = call;
        Self::of_binding(binding_id, bosh_vms, manifest, request_parameters)
    }

    /// The arguments of `dashboard-url`.
    pub fn dashboard_url(call: &GenerateDashboardUrl) -> Self {
        Self(vec![
            call.instance_id.clone(),
            text(&call.plan),
            call.manifest.as_str().to_owned(),
        ])
    }

    /// The arguments of `generate-plan-schemas`.
    pub fn generate_plan_schemas(call: &GeneratePlanSchemas) -> Self {
        Self(vec!["--plan-json".to_owned(), text(&call.plan)])
    }

    /// In their order, the subcommand not among them.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// The same, given up.
    pub fn into_vec(self) -> Vec<String> {
        self.0
    }

    fn of_binding(
        binding_id: &str,
        bosh_vms: &BoshVms,
        manifest: &ManifestText,
        request_parameters: &RequestParameters,
    ) -> Self {
        Self(vec![
            binding_id.to_owned(),
            text(bosh_vms),
            manifest.as_str().to_owned(),
            request_parameters.as_json().to_owned(),
        ])
    }
}

impl fmt::Debug for AdapterArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AdapterArguments({} arguments)", self.0.len())
    }
}

/// What is wrong with an argument list.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentsError {
    /// Too few arguments, or flags that the subcommand does not have.
    #[error("usage: {subcommand} {usage}")]
    Usage {
        /// The subcommand that was called.
        subcommand: Subcommand,
        /// What it is called with.
        usage: &'static str,
    },
    /// An argument that does not hold what it should.
    #[error(transparent)]
    Value(#[from] InputError),
}

impl Call {
    /// Reads what follows the subcommand in the form of old brokers, surplus arguments passed over
    /// (`spec/contracts/adapter-protocol.md`, "argv form").
    pub fn from_arguments(
        subcommand: Subcommand,
        arguments: &[String],
    ) -> Result<Self, ArgumentsError> {
        let usage = || ArgumentsError::Usage {
            subcommand,
            usage: usage(subcommand),
        };
        match subcommand {
            Subcommand::GenerateManifest => match arguments {
                [deployment, plan, parameters, manifest, previous_plan, ..] => {
                    let mut call = GenerateManifest::new(
                        parts::service_deployment("service deployment", deployment)?,
                        parts::plan("plan", plan)?,
                        parts::request_parameters("request parameters", Some(parameters))?,
                    );
                    call.previous_manifest = present(manifest).map(ManifestText::from);
                    call.previous_plan =
                        parts::optional_plan("previous plan", present(previous_plan))?;
                    Ok(Self::GenerateManifest(Box::new(call)))
                }
                _ => Err(usage()),
            },
            Subcommand::CreateBinding => match arguments {
                [binding_id, vms, manifest, parameters, ..] => {
                    Ok(Self::CreateBinding(Box::new(CreateBinding::new(
                        binding_id,
                        parts::optional("BOSH VMs", Some(vms))?.unwrap_or_default(),
                        ManifestText::from(manifest.as_str()),
                        parts::request_parameters("request parameters", Some(parameters))?,
                    ))))
                }
                _ => Err(usage()),
            },
            Subcommand::DeleteBinding => match arguments {
                [binding_id, vms, manifest, parameters, ..] => {
                    Ok(Self::DeleteBinding(Box::new(DeleteBinding::new(
                        binding_id,
                        parts::optional("BOSH VMs", Some(vms))?.unwrap_or_default(),
                        ManifestText::from(manifest.as_str()),
                        parts::request_parameters("request parameters", Some(parameters))?,
                    ))))
                }
                _ => Err(usage()),
            },
            Subcommand::DashboardUrl => match arguments {
                [instance_id, plan, manifest, ..] => {
                    Ok(Self::DashboardUrl(Box::new(GenerateDashboardUrl::new(
                        instance_id,
                        parts::plan("plan", plan)?,
                        ManifestText::from(manifest.as_str()),
                    ))))
                }
                _ => Err(usage()),
            },
            Subcommand::GeneratePlanSchemas => {
                let plan = plan_flag(arguments).ok_or_else(usage)?;
                let plan = parts::plan("--plan-json", plan)?;
                Ok(Self::GeneratePlanSchemas(Box::new(
                    GeneratePlanSchemas::new(plan),
                )))
            }
        }
    }
}

const fn usage(subcommand: Subcommand) -> &'static str {
    match subcommand {
        Subcommand::GenerateManifest => {
            "<service-deployment-JSON> <plan-JSON> <request-params-JSON> <previous-manifest-YAML> <previous-plan-JSON>"
        }
        Subcommand::CreateBinding | Subcommand::DeleteBinding => {
            "<binding-ID> <bosh-VMs-JSON> <manifest-YAML> <request-params-JSON>"
        }
        Subcommand::DashboardUrl => "<instance-ID> <plan-JSON> <manifest-YAML>",
        Subcommand::GeneratePlanSchemas => "--plan-json <plan-JSON>",
    }
}

fn present(argument: &str) -> Option<&str> {
    Some(argument).filter(|argument| !argument.is_empty())
}

/// The value of `plan-json`, a flag in the manner of Go: one dash or two, its value after `=` or in
/// the next argument, the last one counts.
fn plan_flag(arguments: &[String]) -> Option<&str> {
    let mut plan = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let Some(flag) = argument
            .strip_prefix("--")
            .or_else(|| argument.strip_prefix('-'))
        else {
            break;
        };
        plan = match flag.strip_prefix("plan-json")? {
            "" => Some(rest.next()?.as_str()),
            value => Some(value.strip_prefix('=')?),
        };
    }
    plan.filter(|plan| !plan.is_empty())
}
