use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use odb_adapter_sdk::protocol::{
    AdapterArguments, AdapterInput, Call, CreateBinding, GenerateDashboardUrl, GenerateManifest,
    GeneratePlanSchemas, ManifestText, Plan, RequestParameters, Secrets, Subcommand, UaaClient,
};
use odb_adapter_sdk::{json, yaml};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::answer::{Form, Response};
use super::{Operation, RunArguments};
use crate::broker::{Platform, deployed, made_up_vms, secrets_folder};
use crate::inputs::Inputs;
use crate::process::{AdapterProcess, ProcessCall};

const PLATFORM: Platform = Platform {
    service_id: "service-id",
    organization: "organization-guid",
    organization_name: "organization",
    space: "space-guid",
    space_name: "space",
    instance_name: "by-hand",
};

const PLAN_ID: &str = "plan-id";

/// A request to an adapter, ready to be sent, and what is known of it.
pub(super) struct Request {
    pub(super) subcommand: Subcommand,
    pub(super) form: Form,
    pub(super) call: ProcessCall,
    /// The required name of a generated manifest; `None` if the given document does not have it.
    pub(super) deployment: Option<String>,
    pub(super) previous_manifest: Option<ManifestText>,
    /// The secrets in the request.
    pub(super) secrets: Vec<String>,
}

impl Request {
    /// The request of the command line. If it needs a manifest that is not given, the adapter generates one first.
    pub(super) fn new(
        arguments: &RunArguments,
        inputs: Option<&Inputs>,
        adapter: &AdapterProcess,
    ) -> anyhow::Result<Self> {
        let subcommand = arguments.subcommand;
        if let Some(file) = &arguments.document {
            return Self::of_document(subcommand, &read(file)?);
        }
        let prompt = Prompt {
            arguments,
            inputs: inputs.context(
                "no inputs: write an `adapter-check.yml` beside the adapter, or name one with --inputs",
            )?,
            adapter,
        };
        let call = match subcommand {
            Subcommand::GenerateManifest => {
                Call::GenerateManifest(Box::new(prompt.generate_manifest()?))
            }
            Subcommand::CreateBinding => {
                let (plan, app) = (PLAN_ID, "app-guid");
                let request = PLATFORM.bind(plan, app, &prompt.parameters()?);
                Call::CreateBinding(Box::new(prompt.binding(request)?))
            }
            Subcommand::DeleteBinding => {
                Call::DeleteBinding(Box::new(prompt.binding(PLATFORM.unbind(PLAN_ID))?))
            }
            Subcommand::DashboardUrl => {
                let (manifest, _) = prompt.deployed()?;
                let id = &arguments.instance_id;
                let call = GenerateDashboardUrl::new(id, prompt.plan()?, manifest);
                Call::DashboardUrl(Box::new(call))
            }
            Subcommand::GeneratePlanSchemas => {
                Call::GeneratePlanSchemas(Box::new(GeneratePlanSchemas::new(prompt.plan()?)))
            }
        };
        Ok(if arguments.arguments {
            let list = AdapterArguments::from(&call).into_vec();
            let process = ProcessCall::arguments(subcommand, list);
            Self::of(subcommand, Form::Arguments, process, Some(&call))
        } else {
            let document = AdapterInput::from(&call).to_json();
            let process = ProcessCall::document(subcommand, document);
            Self::of(subcommand, Form::Stdin, process, Some(&call))
        })
    }

    /// Reads a document that may violate the protocol, as far as it can be understood.
    fn of_document(subcommand: Subcommand, document: &str) -> anyhow::Result<Self> {
        Ok(if document.trim_start().starts_with('[') {
            let list: Vec<String> = json::from_str(document).with_context(|| format!(
                "the document is not the input of `{subcommand}` in the argument form: a JSON list of strings"
            ))?;
            let call = Call::from_arguments(subcommand, &list).ok();
            let process = ProcessCall::arguments(subcommand, list);
            Self::of(subcommand, Form::Arguments, process, call.as_ref())
        } else {
            let call = AdapterInput::read(document, subcommand).ok();
            let process = ProcessCall::document(subcommand, document);
            Self::of(subcommand, Form::Stdin, process, call.as_ref())
        })
    }

    fn of(subcommand: Subcommand, form: Form, process: ProcessCall, call: Option<&Call>) -> Self {
        let mut request = Self {
            subcommand,
            form,
            call: process,
            deployment: None,
            previous_manifest: None,
            secrets: Vec::new(),
        };
        match call {
            Some(Call::GenerateManifest(call)) => {
                request.deployment = Some(call.service_deployment.deployment_name.clone());
                request
                    .previous_manifest
                    .clone_from(&call.previous_manifest);
                request.secrets = exposed(call.previous_secrets.as_ref());
                let client = call.uaa_client.iter();
                let secrets = client.map(|client| client.expose_secret().to_owned());
                request.secrets.extend(secrets);
            }
            Some(Call::CreateBinding(call) | Call::DeleteBinding(call)) => {
                request.secrets = exposed(call.secrets.as_ref());
            }
            Some(Call::DashboardUrl(_) | Call::GeneratePlanSchemas(_)) | None => {}
        }
        request
    }
}

fn exposed(secrets: Option<&Secrets>) -> Vec<String> {
    let secrets = secrets.into_iter();
    let values = secrets.flat_map(|secrets| {
        let references = secrets.references();
        references.filter_map(|reference| secrets.expose(reference))
    });
    values.map(str::to_owned).collect()
}

/// A manifest as it is deployed by a broker with secure manifests, and the secrets that it refers to.
pub(super) fn deployable(
    manifest: &str,
    answered: &Map<String, Value>,
    deployment: &str,
) -> (ManifestText, Secrets) {
    let folder = secrets_folder(PLATFORM.service_id, deployment);
    let (manifest, secrets) = deployed(manifest, answered, &folder, |reference| {
        let name = reference.trim_start_matches("((").trim_end_matches("))");
        format!("made-up value of {name}")
    });
    (manifest.into(), secrets)
}

struct Prompt<'a> {
    arguments: &'a RunArguments,
    inputs: &'a Inputs,
    adapter: &'a AdapterProcess,
}

impl Prompt<'_> {
    fn generate_manifest(&self) -> anyhow::Result<GenerateManifest> {
        let arguments = self.arguments;
        let previous = arguments.previous_manifest.as_deref();
        let previous = previous.map(read).transpose()?;
        let operation = arguments.operation.unwrap_or(match previous {
            Some(_) => Operation::Update,
            None => Operation::Order,
        });
        let parameters = self.parameters()?;
        let request = match operation {
            Operation::Order => PLATFORM.order(PLAN_ID, &parameters),
            Operation::Update => PLATFORM.update(PLAN_ID, "previous-plan-id", &parameters),
            Operation::Search => RequestParameters::default(),
            Operation::Upgrade => PLATFORM.upgrade(),
        };
        let deployment = self.inputs.service_deployment(&arguments.instance_id);
        let mut call = GenerateManifest::new(deployment, self.plan()?, request);
        if let Some(text) = &arguments.uaa_client {
            call.uaa_client = Some(given::<UaaClient>("the UAA client", text)?);
        }
        if let Some(text) = previous {
            let (manifest, secrets) = deployable(&text, &Map::new(), "");
            call.previous_plan = Some(match &arguments.previous_plan {
                Some(plan) => self.plan_called(plan)?,
                None => call.plan.clone(),
            });
            call.previous_configs = Some(BTreeMap::new());
            if operation != Operation::Upgrade {
                call.previous_secrets = Some(self.secrets(secrets)?);
            }
            call.previous_manifest = Some(manifest);
        }
        Ok(call)
    }

    fn binding(&self, request: RequestParameters) -> anyhow::Result<CreateBinding> {
        let (manifest, secrets) = self.deployed()?;
        let vms = match &self.arguments.bosh_vms {
            Some(text) => given("the addresses of VMs", text)?,
            None => made_up_vms(&yaml::from_str(manifest.as_str()).unwrap_or_default()),
        };
        let mut call = CreateBinding::new(&self.arguments.binding_id, vms, manifest, request);
        call.secrets = Some(self.secrets(secrets)?);
        if let Some(text) = &self.arguments.dns_addresses {
            call.dns_addresses = given("the DNS addresses", text)?;
        }
        Ok(call)
    }

    /// The manifest that was given, else the one that the adapter makes for an order of the plan.
    fn deployed(&self) -> anyhow::Result<(ManifestText, Secrets)> {
        if let Some(file) = &self.arguments.manifest {
            return Ok(deployable(&read(file)?, &Map::new(), ""));
        }
        let deployment = self.inputs.service_deployment(&self.arguments.instance_id);
        let name = deployment.deployment_name.clone();
        let request = PLATFORM.order(PLAN_ID, &Map::new());
        let order = GenerateManifest::new(deployment, self.plan()?, request);
        let subcommand = Subcommand::GenerateManifest;
        let document = AdapterInput::generate_manifest(&order).to_json();
        let call = ProcessCall::document(subcommand, document);
        let ended = self.adapter.run(&call);
        let ended = ended.context("could not ask for the manifest first")?;
        let why = if ended.is_success() {
            match Response::of(subcommand, Form::Stdin, &ended) {
                Ok(Response::Manifest { generated, .. }) => {
                    let secrets = generated.secrets.unwrap_or_default();
                    return Ok(deployable(generated.manifest.as_str(), &secrets, &name));
                }
                Ok(Response::Document(_) | Response::Nothing) => {
                    "answered something else".to_owned()
                }
                Err(error) => format!("gave an unreadable answer: {error}"),
            }
        } else {
            ended.end.to_string()
        };
        Err(anyhow!(
            "no manifest to continue with: the adapter {why}; run `generate-manifest`, or pass a manifest with --manifest"
        ))
    }

    fn plan(&self) -> anyhow::Result<Plan> {
        match &self.arguments.plan {
            Some(plan) => self.plan_called(plan),
            None => Ok(self.inputs.first_plan().plan.clone()),
        }
    }

    fn plan_called(&self, name: &str) -> anyhow::Result<Plan> {
        if let Some(named) = self.inputs.plan(name) {
            return Ok(named.plan.clone());
        }
        let file = Path::new(name);
        if file.is_file() {
            return parsed(&format!("the plan in `{name}`"), &read(file)?);
        }
        Err(anyhow!(
            "unknown plan `{name}`: no file has this name; available in the inputs: {}",
            self.inputs.plan_names()
        ))
    }

    fn parameters(&self) -> anyhow::Result<Map<String, Value>> {
        match &self.arguments.parameters {
            None => Ok(Map::new()),
            Some(text) => json::from_str(&text_or_file(text)?).with_context(|| {
                format!("the parameters are not a JSON object{}", file_hint(text))
            }),
        }
    }

    /// Those that were given, over those that were made up.
    fn secrets(&self, made_up: Secrets) -> anyhow::Result<Secrets> {
        let mut secrets = made_up;
        if let Some(file) = &self.arguments.secrets {
            let what = format!("the secrets in `{}`", file.display());
            let given: BTreeMap<String, String> = parsed(&what, &read(file)?)?;
            for (reference, value) in given {
                secrets.insert(reference, value);
            }
        }
        Ok(secrets)
    }
}

/// JSON or YAML, or the name of a file with it after an @.
fn given<T: DeserializeOwned>(what: &str, text: &str) -> anyhow::Result<T> {
    yaml::from_str(&text_or_file(text)?)
        .with_context(|| format!("{what} cannot be read{}", file_hint(text)))
}

/// How to pass a file, if the text is neither a file argument nor a JSON object. The text may be a secret unless it
/// looks like a file name.
fn file_hint(text: &str) -> String {
    if text.starts_with('@') || text.trim_start().starts_with('{') {
        return String::new();
    }
    let path = Path::new(text);
    let extension = path.extension().and_then(OsStr::to_str);
    let is_a_name = path.is_file() || matches!(extension, Some("json" | "yml" | "yaml"));
    let file = if is_a_name { text } else { "FILE" };
    format!("; a file is `@{file}`")
}

/// YAML, of which JSON is a part.
fn parsed<T: DeserializeOwned>(what: &str, text: &str) -> anyhow::Result<T> {
    yaml::from_str(text).with_context(|| format!("{what} cannot be read"))
}

fn text_or_file(text: &str) -> anyhow::Result<String> {
    match text.strip_prefix('@') {
        Some(file) => read(Path::new(file)),
        None => Ok(text.to_owned()),
    }
}

fn read(file: &Path) -> anyhow::Result<String> {
    fs::read_to_string(file).with_context(|| format!("could not read `{}`", file.display()))
}
