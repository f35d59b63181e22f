use odb_adapter_sdk::json;
use odb_adapter_sdk::protocol::{
    AdapterArguments, AdapterInput, Call, GeneratePlanSchemas, ManifestText, Secrets, Subcommand,
};

use super::answer::Form;
use super::command::RunArguments;
use super::given::{RequestError, read};
use super::prompt::Prompt;
use crate::inputs::Inputs;
use crate::process::{AdapterProcess, ProcessCall};

/// A request to an adapter, ready to be sent.
pub(super) struct AdapterRequest {
    subcommand: Subcommand,
    form: Form,
    call: ProcessCall,
    deployment: Option<String>,
    previous_manifest: Option<ManifestText>,
    secrets: Vec<String>,
}

impl AdapterRequest {
    /// The request of the command line. If it needs a manifest that is not given, the adapter generates one first.
    pub(super) fn new(
        arguments: &RunArguments,
        inputs: Option<&Inputs>,
        adapter: &AdapterProcess,
    ) -> Result<Self, RequestError> {
        if let Some(file) = &arguments.document {
            return Self::of_document(arguments.subcommand, &read(file)?);
        }
        let prompt = Prompt {
            arguments,
            inputs: inputs.ok_or(RequestError::NoInputs)?,
            adapter,
        };
        let call = match arguments.subcommand {
            Subcommand::GenerateManifest => {
                Call::GenerateManifest(Box::new(prompt.generate_manifest()?))
            }
            called @ Subcommand::CreateBinding => {
                Call::CreateBinding(Box::new(prompt.binding(called)?))
            }
            called @ Subcommand::DeleteBinding => {
                Call::DeleteBinding(Box::new(prompt.binding(called)?))
            }
            Subcommand::DashboardUrl => Call::DashboardUrl(Box::new(prompt.dashboard_url()?)),
            Subcommand::GeneratePlanSchemas => {
                Call::GeneratePlanSchemas(Box::new(GeneratePlanSchemas::new(prompt.plan()?)))
            }
        };
        let form = if arguments.arguments {
            Form::Arguments
        } else {
            Form::Stdin
        };
        Ok(Self::of_call(&call, form))
    }

    /// How it is put to the adapter.
    pub(super) fn call(&self) -> &ProcessCall {
        &self.call
    }

    pub(super) fn subcommand(&self) -> Subcommand {
        self.subcommand
    }

    pub(super) fn form(&self) -> Form {
        self.form
    }

    /// The required name of a generated manifest; `None` if the given document does not have it.
    pub(super) fn deployment(&self) -> Option<&str> {
        self.deployment.as_deref()
    }

    pub(super) fn previous_manifest(&self) -> Option<&ManifestText> {
        self.previous_manifest.as_ref()
    }

    /// The secrets in the request.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.secrets.iter().map(String::as_str)
    }

    fn of_call(call: &Call, form: Form) -> Self {
        let subcommand = call.subcommand();
        Self {
            subcommand,
            form,
            call: match form {
                Form::Stdin => ProcessCall::stdin(subcommand, &input(call)),
                Form::Arguments => ProcessCall::arguments(subcommand, argv(call)),
            },
            ..Self::known_of(call)
        }
    }

    /// Reads a document that may violate the protocol, as far as it can be understood.
    fn of_document(subcommand: Subcommand, document: &str) -> Result<Self, RequestError> {
        let (form, process, call) = if document.trim_start().starts_with('[') {
            let list: Vec<String> = json::from_str(document)
                .map_err(|source| RequestError::NotArguments { subcommand, source })?;
            let call = Call::from_arguments(subcommand, &list).ok();
            let argv = [subcommand.name().to_owned()].into_iter().chain(list);
            (Form::Arguments, ProcessCall::of(argv.collect()), call)
        } else {
            let call = AdapterInput::read(document, subcommand).ok();
            (
                Form::Stdin,
                ProcessCall::document(subcommand, document),
                call,
            )
        };
        let known = call.map_or_else(
            || Self::nothing_known(subcommand),
            |call| Self::known_of(&call),
        );
        Ok(Self {
            form,
            call: process,
            ..known
        })
    }

    fn known_of(call: &Call) -> Self {
        let mut known = Self::nothing_known(call.subcommand());
        match call {
            Call::GenerateManifest(call) => {
                known.deployment = Some(call.service_deployment.deployment_name.clone());
                known.previous_manifest.clone_from(&call.previous_manifest);
                known.secrets = exposed(call.previous_secrets.as_ref());
                let client = call.uaa_client.as_ref();
                known.secrets.extend(
                    client
                        .and_then(|client| serde_json::to_value(client).ok())
                        .and_then(|client| Some(client.get("client_secret")?.as_str()?.to_owned())),
                );
            }
            Call::CreateBinding(call) | Call::DeleteBinding(call) => {
                known.secrets = exposed(call.secrets.as_ref());
            }
            Call::DashboardUrl(_) | Call::GeneratePlanSchemas(_) => {}
        }
        known
    }

    fn nothing_known(subcommand: Subcommand) -> Self {
        Self {
            subcommand,
            form: Form::Stdin,
            call: ProcessCall::of(Vec::new()),
            deployment: None,
            previous_manifest: None,
            secrets: Vec::new(),
        }
    }
}

fn exposed(secrets: Option<&Secrets>) -> Vec<String> {
    let Some(secrets) = secrets else {
        return Vec::new();
    };
    secrets
        .references()
        .filter_map(|reference| secrets.expose(reference).map(str::to_owned))
        .collect()
}

fn input(call: &Call) -> AdapterInput {
    match call {
        Call::GenerateManifest(call) => AdapterInput::generate_manifest(call),
        Call::CreateBinding(call) => AdapterInput::create_binding(call),
        Call::DeleteBinding(call) => AdapterInput::delete_binding(call),
        Call::DashboardUrl(call) => AdapterInput::dashboard_url(call),
        Call::GeneratePlanSchemas(call) => AdapterInput::generate_plan_schemas(call),
    }
}

fn argv(call: &Call) -> AdapterArguments {
    match call {
        Call::GenerateManifest(call) => AdapterArguments::generate_manifest(call),
        Call::CreateBinding(call) => AdapterArguments::create_binding(call),
        Call::DeleteBinding(call) => AdapterArguments::delete_binding(call),
        Call::DashboardUrl(call) => AdapterArguments::dashboard_url(call),
        Call::GeneratePlanSchemas(call) => AdapterArguments::generate_plan_schemas(call),
    }
}
