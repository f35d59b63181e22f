use std::collections::BTreeMap;
use std::path::Path;

use odb_adapter_sdk::json;
use odb_adapter_sdk::protocol::{
    AdapterInput, BoshVms, CreateBinding, DnsAddresses, GenerateDashboardUrl, GenerateManifest,
    ManifestText, Plan, Secrets, ServiceDeployment, Subcommand, UaaClient,
};
use serde_json::{Map, Value};

use super::answer::{Answer, Form};
use super::command::RunArguments;
use super::deployed::Deployed;
use super::given::{RequestError, file_meant, given, parsed, read, text_or_file, typed};
use super::request::{self, Operation};
use crate::inputs::{Inputs, NamedPlan};
use crate::process::{AdapterProcess, ProcessCall};

/// The sources of a request.
pub(super) struct Prompt<'a> {
    pub(super) arguments: &'a RunArguments,
    pub(super) inputs: &'a Inputs,
    pub(super) adapter: &'a AdapterProcess,
}

impl Prompt<'_> {
    pub(super) fn generate_manifest(&self) -> Result<GenerateManifest, RequestError> {
        let arguments = self.arguments;
        let previous = arguments
            .previous_manifest
            .as_deref()
            .map(read)
            .transpose()?;
        let operation = arguments.operation.unwrap_or(match previous {
            Some(_) => Operation::Update,
            None => Operation::Order,
        });
        let mut call = GenerateManifest::new(
            self.service_deployment()?,
            self.plan()?,
            request::for_a_manifest(operation, &self.parameters()?),
        );
        if let Some(text) = &arguments.uaa_client {
            call.uaa_client = Some(given::<UaaClient>("the UAA client", text)?);
        }
        if let Some(text) = previous {
            let previous = Deployed::from_text(ManifestText::from(text));
            call.previous_plan = Some(match &arguments.previous_plan {
                Some(plan) => self.plan_called(plan)?,
                None => call.plan.clone(),
            });
            call.previous_configs = Some(BTreeMap::new());
            if operation != Operation::Upgrade {
                call.previous_secrets = Some(self.secrets(previous.secrets)?);
            }
            call.previous_manifest = Some(previous.manifest);
        }
        Ok(call)
    }

    /// The input for creating or deleting a binding.
    pub(super) fn binding(&self, subcommand: Subcommand) -> Result<CreateBinding, RequestError> {
        let deployed = self.deployed()?;
        let parameters = match subcommand {
            Subcommand::DeleteBinding => Map::new(),
            _ => self.parameters()?,
        };
        let request = request::for_a_binding(subcommand, &parameters);
        let mut call = CreateBinding::new(
            &self.arguments.binding_id,
            self.bosh_vms(&deployed.manifest)?,
            deployed.manifest,
            request,
        );
        call.secrets = Some(self.secrets(deployed.secrets)?);
        call.dns_addresses = self.dns_addresses()?;
        Ok(call)
    }

    pub(super) fn dashboard_url(&self) -> Result<GenerateDashboardUrl, RequestError> {
        let manifest = self.deployed()?.manifest;
        Ok(GenerateDashboardUrl::new(
            &self.arguments.instance_id,
            self.plan()?,
            manifest,
        ))
    }

    /// The manifest that was given, else the one that the adapter makes for an order of the plan.
    fn deployed(&self) -> Result<Deployed, RequestError> {
        if let Some(file) = &self.arguments.manifest {
            return Ok(Deployed::from_text(ManifestText::from(read(file)?)));
        }
        let deployment = self.service_deployment()?;
        let name = deployment.deployment_name.clone();
        let order = GenerateManifest::new(
            deployment,
            self.plan()?,
            request::for_a_manifest(Operation::Order, &Map::new()),
        );
        let subcommand = Subcommand::GenerateManifest;
        let call = ProcessCall::stdin(subcommand, &AdapterInput::generate_manifest(&order));
        let ended = self
            .adapter
            .run(&call)
            .map_err(RequestError::StartForManifest)?;
        if !ended.is_success() {
            let why = ended.end.to_string();
            return Err(RequestError::NoManifest { why });
        }
        match Answer::of(subcommand, Form::Stdin, &ended) {
            Ok(Answer::Manifest { generated, .. }) => Ok(Deployed::of(&generated, &name)),
            Ok(Answer::Document(_) | Answer::Nothing) => Err(RequestError::NoManifest {
                why: "answered something else".to_owned(),
            }),
            Err(error) => Err(RequestError::NoManifest {
                why: format!("gave no answer that can be read: {error}"),
            }),
        }
    }

    fn service_deployment(&self) -> Result<ServiceDeployment, RequestError> {
        let document = self.inputs.service_deployment(&self.arguments.instance_id);
        typed("the service deployment", &document)
    }

    pub(super) fn plan(&self) -> Result<Plan, RequestError> {
        match &self.arguments.plan {
            Some(plan) => self.plan_called(plan),
            None => plan(self.inputs.first_plan()),
        }
    }

    fn plan_called(&self, name: &str) -> Result<Plan, RequestError> {
        if let Some(named) = self.inputs.plan(name) {
            return plan(named);
        }
        let file = Path::new(name);
        if file.is_file() {
            return parsed(&format!("the plan in `{name}`"), &read(file)?);
        }
        let plans = &self.inputs.plans;
        Err(RequestError::NoSuchPlan {
            name: name.to_owned(),
            plans: plans.iter().map(|plan| plan.name.clone()).collect(),
        })
    }

    fn parameters(&self) -> Result<Map<String, Value>, RequestError> {
        match &self.arguments.parameters {
            None => Ok(Map::new()),
            Some(text) => json::from_str(&text_or_file(text)?).map_err(|source| {
                let file = file_meant(text);
                RequestError::NoParameters { file, source }
            }),
        }
    }

    /// Those that were given, over those that were made up.
    fn secrets(&self, made_up: Secrets) -> Result<Secrets, RequestError> {
        let mut secrets = made_up;
        if let Some(file) = &self.arguments.secrets {
            let given: BTreeMap<String, String> = parsed(
                &format!("the secrets in `{}`", file.display()),
                &read(file)?,
            )?;
            for (reference, value) in given {
                secrets.insert(reference, value);
            }
        }
        Ok(secrets)
    }

    fn bosh_vms(&self, manifest: &ManifestText) -> Result<BoshVms, RequestError> {
        match &self.arguments.bosh_vms {
            Some(text) => given("the addresses of VMs", text),
            None => Ok(made_up_vms(manifest)),
        }
    }

    fn dns_addresses(&self) -> Result<DnsAddresses, RequestError> {
        match &self.arguments.dns_addresses {
            Some(text) => given("the DNS addresses", text),
            None => Ok(DnsAddresses::new()),
        }
    }
}

/// An address for each instance of each group that is no errand.
fn made_up_vms(manifest: &ManifestText) -> BoshVms {
    let groups = manifest
        .parse()
        .map(|manifest| manifest.instance_groups)
        .unwrap_or_default();
    let running = groups
        .into_iter()
        .filter(|group| group.lifecycle.as_deref() != Some("errand"));
    running
        .enumerate()
        .map(|(nth, group)| {
            let addresses = (0..group.instances.clamp(0, 200))
                .map(|instance| format!("10.0.{}.{}", nth % 256, instance + 10));
            (group.name, addresses.collect())
        })
        .collect()
}

fn plan(named: &NamedPlan) -> Result<Plan, RequestError> {
    typed(&format!("plan `{}`", named.name), &named.document)
}
