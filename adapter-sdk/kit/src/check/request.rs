use odb_adapter_sdk::protocol::{
    AdapterArguments, AdapterInput, Call, CreateBinding, GenerateManifest, Subcommand, UaaClient,
};
use serde_json::{Map, Value, json};

use super::answers::Deployed;
use crate::broker::Platform;
use crate::inputs::{Inputs, NamedPlan};
use crate::process::ProcessCall;

/// The one instance that is ordered, changed and bound.
pub(super) const INSTANCE_ID: &str = "0db0c4ec-0000-4000-8000-000000000001";

pub(super) const PLATFORM: Platform = Platform {
    service_id: "odb-adapter-check-offering",
    organization: "0db0c4ec-0000-4000-8000-00000000000a",
    organization_name: "check",
    space: "0db0c4ec-0000-4000-8000-00000000000b",
    space_name: "check",
    instance_name: "checked <&> instance",
};

/// More than a pipe holds, so that a document with it has to be read to its end.
const PADDING: usize = 72 * 1024;

/// A member that no adapter knows.
const UNKNOWN: &str = "x_odb_adapter_check";

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

/// One request to an adapter, ready for both forms.
pub(super) struct AdapterRequest(pub(super) Call);

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

pub(super) fn deployment_name() -> String {
    format!("service-instance_{INSTANCE_ID}")
}

pub(super) fn plan_id(plan: &str) -> String {
    format!("odb-adapter-check-{plan}")
}

pub(super) fn order(
    inputs: &Inputs,
    plan: &NamedPlan,
    parameters: &Map<String, Value>,
) -> GenerateManifest {
    let mut all = inputs.required_parameters.clone();
    all.extend(parameters.clone());
    GenerateManifest::new(
        inputs.service_deployment(INSTANCE_ID),
        plan.plan.clone(),
        PLATFORM.order(&plan_id(&plan.name), &all),
    )
}

/// The request of an update, with the deployed state.
pub(super) fn update(
    inputs: &Inputs,
    plan: &NamedPlan,
    previous: &NamedPlan,
    deployed: &Deployed,
    parameters: &Map<String, Value>,
) -> GenerateManifest {
    let mut call = order(inputs, plan, parameters);
    let previous_id = plan_id(&previous.name);
    call.request_parameters = PLATFORM.update(&plan_id(&plan.name), &previous_id, parameters);
    call.previous_plan = Some(previous.plan.clone());
    call.previous_manifest = Some(deployed.text.clone());
    call.previous_secrets = deployed.secrets();
    call.previous_configs = Some(deployed.configs.clone());
    call
}

/// A UAA client of the instance. Its secret comes only when it is new.
pub(super) fn uaa_client(secret: &str) -> UaaClient {
    let mut client = UaaClient::new(INSTANCE_ID);
    client.client_secret = secret.into();
    "odb-adapter-check".clone_into(&mut client.name);
    "openid".clone_into(&mut client.scopes);
    "uaa.resource".clone_into(&mut client.authorities);
    "client_credentials".clone_into(&mut client.authorized_grant_types);
    client
}

impl AdapterRequest {
    pub(super) fn generate(call: GenerateManifest) -> Self {
        Self(Call::GenerateManifest(Box::new(call)))
    }

    pub(super) fn create_binding(call: &CreateBinding) -> Self {
        Self(Call::CreateBinding(Box::new(call.clone())))
    }

    pub(super) fn delete_binding(call: &CreateBinding) -> Self {
        Self(Call::DeleteBinding(Box::new(call.clone())))
    }

    pub(super) fn subcommand(&self) -> Subcommand {
        self.0.subcommand()
    }

    pub(super) fn on_stdin(&self, shape: Shape) -> ProcessCall {
        ProcessCall::document(self.subcommand(), text(&self.document(shape)))
    }

    /// The request on stdin, with another text or type for a member.
    pub(super) fn on_stdin_with(&self, member: &str, value: Value) -> ProcessCall {
        let mut document = self.document(Shape::OwnSection);
        document[self.section()][member] = value;
        ProcessCall::document(self.subcommand(), text(&document))
    }

    pub(super) fn in_arguments(&self) -> ProcessCall {
        let arguments = AdapterArguments::from(&self.0).into_vec();
        ProcessCall::arguments(self.subcommand(), arguments)
    }

    fn section(&self) -> String {
        self.subcommand().name().replace('-', "_")
    }

    fn document(&self, shape: Shape) -> Value {
        let all = json!(AdapterInput::from(&self.0));
        if shape == Shape::AllSections {
            return all;
        }
        let mut document = json!({});
        let mut own = all[self.section()].clone();
        if shape == Shape::UnknownFields {
            for name in GROWING {
                if let Some(Value::String(text)) = own.get_mut(name) {
                    *text = grown(text);
                }
            }
            own[UNKNOWN] = "{}".into();
            document[UNKNOWN] = json!({"padding": " ".repeat(PADDING)});
        }
        if let (Shape::WithoutOptionals, Some(members)) = (shape, own.as_object_mut()) {
            members.retain(|name, text| !may_be_absent(name, text));
        }
        document[self.section()] = own;
        document
    }
}

/// An adapter may require the secrets that the manifest or the previous manifest refers to.
fn may_be_absent(member: &str, text: &Value) -> bool {
    OPTIONAL.contains(&member) && matches!(text.as_str(), Some("" | "null" | "{}"))
}

/// An object with an unknown field. Other values are unchanged.
fn grown(text: &str) -> String {
    match serde_json::from_str(text) {
        Ok(Value::Object(mut members)) => {
            members.insert(UNKNOWN.to_owned(), json!({"since": "tomorrow"}));
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
