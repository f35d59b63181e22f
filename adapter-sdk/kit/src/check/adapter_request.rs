use odb_adapter_sdk::protocol::Subcommand;
use serde_json::{Map, Value, json};

use super::deployed::Deployed;
use super::requests::{self, INSTANCE_ID};
use crate::inputs::{Inputs, NamedPlan};
use crate::process::ProcessCall;

/// More than a pipe holds, so that a document with it has to be read to its end.
const PADDING: usize = 72 * 1024;

/// One request to an adapter, ready for both forms.
#[derive(Clone)]
pub(super) struct AdapterRequest {
    subcommand: Subcommand,
    /// The members of the subcommand's section, in the order of the protocol.
    members: Vec<(&'static str, String)>,
    arguments: Vec<String>,
}

/// The contents of the document on stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// All sections, as the Go broker sends them: empty but for the one of the subcommand.
    AllSections,
    /// The subcommand's section and no other.
    OwnSection,
    /// Fields that no adapter knows, on every level, and more than a pipe holds.
    UnknownFields,
    /// Nothing that may be absent and has nothing to say.
    WithoutOptionals,
}

/// The input of `generate-manifest`.
#[derive(Clone)]
pub(super) struct Generate {
    pub(super) service_deployment: Value,
    pub(super) plan: Value,
    pub(super) previous_plan: Value,
    pub(super) previous_manifest: String,
    pub(super) request: Value,
    pub(super) previous_secrets: Value,
    pub(super) previous_configs: Value,
    pub(super) uaa_client: Value,
}

/// The input of `create-binding` and `delete-binding`.
#[derive(Clone)]
pub(super) struct Bind {
    pub(super) binding_id: String,
    pub(super) bosh_vms: Value,
    pub(super) manifest: String,
    pub(super) request: Value,
    pub(super) secrets: Value,
    pub(super) dns_addresses: Value,
}

/// All sections with their members (`spec/contracts/adapter-protocol.md`, "stdin form").
const SECTIONS: [(Subcommand, &str, &[&str]); 5] = [
    (
        Subcommand::GenerateManifest,
        "generate_manifest",
        &[
            "service_deployment",
            "plan",
            "previous_plan",
            "previous_manifest",
            "request_parameters",
            "previous_secrets",
            "previous_configs",
            "uaa_client",
        ],
    ),
    (
        Subcommand::DashboardUrl,
        "dashboard_url",
        &["instance_id", "plan", "manifest"],
    ),
    (Subcommand::CreateBinding, "create_binding", BINDING),
    (Subcommand::DeleteBinding, "delete_binding", BINDING),
    (
        Subcommand::GeneratePlanSchemas,
        "generate_plan_schemas",
        &["plan"],
    ),
];

const BINDING: &[&str] = &[
    "binding_id",
    "bosh_vms",
    "manifest",
    "request_parameters",
    "secrets",
    "dns_addresses",
];

/// Members that the Go SDK treats as optional.
const OPTIONAL: [&str; 6] = [
    "previous_manifest",
    "previous_secrets",
    "previous_configs",
    "uaa_client",
    "secrets",
    "dns_addresses",
];

/// Members that hold objects of a fixed shape, which may grow.
const GROWING: [&str; 3] = ["service_deployment", "plan", "request_parameters"];

impl Generate {
    /// The request of an order.
    pub(super) fn order(
        inputs: &Inputs,
        plan: &NamedPlan,
        parameters: &Map<String, Value>,
        uaa_client: Value,
    ) -> Self {
        let mut all = inputs.required_parameters.clone();
        all.extend(parameters.clone());
        Self {
            service_deployment: inputs.service_deployment(INSTANCE_ID),
            plan: plan.document.clone(),
            previous_plan: Value::Null,
            previous_manifest: String::new(),
            request: requests::order(&plan.name, &all),
            previous_secrets: Value::Null,
            previous_configs: Value::Null,
            uaa_client,
        }
    }

    /// The request of an update, with the deployed state.
    pub(super) fn update(
        inputs: &Inputs,
        plan: &NamedPlan,
        previous: &NamedPlan,
        deployed: &Deployed,
        parameters: &Map<String, Value>,
    ) -> Self {
        Self {
            service_deployment: inputs.service_deployment(INSTANCE_ID),
            plan: plan.document.clone(),
            previous_plan: previous.document.clone(),
            previous_manifest: deployed.text.clone(),
            request: requests::update(&plan.name, &previous.name, parameters),
            previous_secrets: deployed.secrets(),
            previous_configs: deployed.configs(),
            uaa_client: Value::Null,
        }
    }
}

impl AdapterRequest {
    pub(super) fn generate(asked: &Generate) -> Self {
        let plan = asked.plan.to_string();
        let deployment = asked.service_deployment.to_string();
        let request = asked.request.to_string();
        let previous_plan = asked.previous_plan.to_string();
        Self {
            subcommand: Subcommand::GenerateManifest,
            members: vec![
                ("service_deployment", deployment.clone()),
                ("plan", plan.clone()),
                ("previous_plan", previous_plan.clone()),
                ("previous_manifest", asked.previous_manifest.clone()),
                ("request_parameters", request.clone()),
                ("previous_secrets", asked.previous_secrets.to_string()),
                ("previous_configs", asked.previous_configs.to_string()),
                ("uaa_client", asked.uaa_client.to_string()),
            ],
            arguments: vec![
                deployment,
                plan,
                request,
                asked.previous_manifest.clone(),
                previous_plan,
            ],
        }
    }

    pub(super) fn create_binding(asked: &Bind) -> Self {
        Self::binding(Subcommand::CreateBinding, asked)
    }

    pub(super) fn delete_binding(asked: &Bind) -> Self {
        Self::binding(Subcommand::DeleteBinding, asked)
    }

    pub(super) fn dashboard_url(instance_id: &str, plan: &Value, manifest: &str) -> Self {
        let plan = plan.to_string();
        Self {
            subcommand: Subcommand::DashboardUrl,
            members: vec![
                ("instance_id", instance_id.to_owned()),
                ("plan", plan.clone()),
                ("manifest", manifest.to_owned()),
            ],
            arguments: vec![instance_id.to_owned(), plan, manifest.to_owned()],
        }
    }

    pub(super) fn generate_plan_schemas(plan: &Value) -> Self {
        let plan = plan.to_string();
        Self {
            subcommand: Subcommand::GeneratePlanSchemas,
            members: vec![("plan", plan.clone())],
            arguments: vec!["--plan-json".to_owned(), plan],
        }
    }

    fn binding(subcommand: Subcommand, asked: &Bind) -> Self {
        let (vms, request) = (asked.bosh_vms.to_string(), asked.request.to_string());
        Self {
            subcommand,
            members: vec![
                ("binding_id", asked.binding_id.clone()),
                ("bosh_vms", vms.clone()),
                ("manifest", asked.manifest.clone()),
                ("request_parameters", request.clone()),
                ("secrets", asked.secrets.to_string()),
                ("dns_addresses", asked.dns_addresses.to_string()),
            ],
            arguments: vec![
                asked.binding_id.clone(),
                vms,
                asked.manifest.clone(),
                request,
            ],
        }
    }

    pub(super) fn subcommand(&self) -> Subcommand {
        self.subcommand
    }

    /// The request on stdin.
    pub(super) fn on_stdin(&self, shape: Shape) -> ProcessCall {
        ProcessCall::document(self.subcommand, text(&self.document(shape)))
    }

    /// The request on stdin, with another text or type for a member.
    pub(super) fn on_stdin_with(&self, member: &str, value: Value) -> ProcessCall {
        let mut document = self.document(Shape::OwnSection);
        document[self.section()][member] = value;
        ProcessCall::document(self.subcommand, text(&document))
    }

    /// The request in arguments.
    pub(super) fn in_arguments(&self) -> ProcessCall {
        let mut arguments = vec![self.subcommand.name().to_owned()];
        arguments.extend(self.arguments.iter().cloned());
        ProcessCall::of(arguments)
    }

    fn section(&self) -> &'static str {
        let section = SECTIONS
            .iter()
            .find(|(subcommand, ..)| *subcommand == self.subcommand);
        section
            .map(|(_, name, _)| *name)
            .expect("every subcommand has a section")
    }

    fn document(&self, shape: Shape) -> Value {
        let mut own: Map<String, Value> = self
            .members
            .iter()
            .filter(|(name, text)| shape != Shape::WithoutOptionals || !may_be_absent(name, text))
            .map(|(name, text)| ((*name).to_owned(), text.as_str().into()))
            .collect();
        let mut document = Map::new();
        if shape == Shape::AllSections {
            for (_, name, members) in SECTIONS {
                let empty = members
                    .iter()
                    .map(|member| ((*member).to_owned(), "".into()));
                document.insert(name.to_owned(), Value::Object(empty.collect()));
            }
        }
        if shape == Shape::UnknownFields {
            for name in GROWING {
                if let Some(Value::String(text)) = own.get_mut(name) {
                    *text = grown(text);
                }
            }
            own.insert("x_odb_adapter_check".to_owned(), "{}".into());
            document.insert(
                "x_odb_adapter_check".to_owned(),
                json!({"padding": " ".repeat(PADDING)}),
            );
        }
        document.insert(self.section().to_owned(), own.into());
        document.into()
    }
}

/// An adapter may require the secrets that the manifest or the previous manifest refers to.
fn may_be_absent(member: &str, text: &str) -> bool {
    OPTIONAL.contains(&member) && matches!(text, "" | "null" | "{}")
}

/// An object with an unknown field. Other values are unchanged.
fn grown(text: &str) -> String {
    match serde_json::from_str(text) {
        Ok(Value::Object(mut members)) => {
            members.insert(
                "x_odb_adapter_check".to_owned(),
                json!({"since": "tomorrow"}),
            );
            Value::from(members).to_string()
        }
        _ => text.to_owned(),
    }
}

/// A document as the Go broker writes it: with HTML characters escaped and a newline at the end.
fn text(document: &Value) -> String {
    let text = document.to_string();
    let text = text.replace('<', "\\u003c").replace('>', "\\u003e");
    text.replace('&', "\\u0026") + "\n"
}
