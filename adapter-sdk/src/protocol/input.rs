use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::wire::{Argument, InputError, Texts, Wire};
use super::{
    Call, CreateBinding, DeleteBinding, GenerateDashboardUrl, GenerateManifest,
    GeneratePlanSchemas, Subcommand,
};
use crate::json;
use crate::redaction::shows_only;

/// The document on an adapter's stdin (`spec/contracts/adapter-protocol.md`, "stdin form").
///
/// It has a section per subcommand, of which the called one is filled. Every member is a string: objects as JSON text,
/// manifests as YAML text. The complete document is secret; formatting does not show it.
#[derive(Clone, Serialize)]
#[serde(transparent)]
pub struct AdapterInput(Map<String, Value>);

/// The form of that document.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "described only")]
#[schemars(
    description = "The document on an adapter's stdin. It has a section per subcommand, of which the one called is filled \
                   and the others hold empty strings or are absent: which one to read follows from the subcommand. Every \
                   member is a string: objects as JSON text, manifests as YAML text."
)]
pub(crate) struct Sections {
    /// The input of `generate-manifest`.
    generate_manifest: Option<GenerateManifest>,
    /// The input of `dashboard-url`.
    dashboard_url: Option<GenerateDashboardUrl>,
    /// The input of `create-binding`.
    create_binding: Option<CreateBinding>,
    /// The input of `delete-binding`.
    delete_binding: Option<DeleteBinding>,
    /// The input of `generate-plan-schemas`.
    generate_plan_schemas: Option<GeneratePlanSchemas>,
}

impl AdapterInput {
    /// The input of `generate-manifest`.
    pub fn generate_manifest(call: &GenerateManifest) -> Self {
        Self::of(Subcommand::GenerateManifest, call)
    }

    /// The input of `create-binding`.
    pub fn create_binding(call: &CreateBinding) -> Self {
        Self::of(Subcommand::CreateBinding, call)
    }

    /// The input of `delete-binding`.
    pub fn delete_binding(call: &DeleteBinding) -> Self {
        Self::of(Subcommand::DeleteBinding, call)
    }

    /// The input of `dashboard-url`.
    pub fn dashboard_url(call: &GenerateDashboardUrl) -> Self {
        Self::of(Subcommand::DashboardUrl, call)
    }

    /// The input of `generate-plan-schemas`.
    pub fn generate_plan_schemas(call: &GeneratePlanSchemas) -> Self {
        Self::of(Subcommand::GeneratePlanSchemas, call)
    }

    fn of(called: Subcommand, call: &impl Wire) -> Self {
        let sections = [
            (Subcommand::GenerateManifest, GenerateManifest::MEMBERS),
            (Subcommand::DashboardUrl, GenerateDashboardUrl::MEMBERS),
            (Subcommand::CreateBinding, CreateBinding::MEMBERS),
            (Subcommand::DeleteBinding, DeleteBinding::MEMBERS),
            (
                Subcommand::GeneratePlanSchemas,
                GeneratePlanSchemas::MEMBERS,
            ),
        ];
        let section = |(subcommand, members): (Subcommand, &[&str])| {
            let members = members.iter().map(|&member| {
                let text = (subcommand == called).then(|| call.text(member));
                (member.to_owned(), text.unwrap_or_default().into())
            });
            (subcommand.section(), Value::Object(members.collect()))
        };
        Self(sections.into_iter().map(section).collect())
    }

    /// The document for stdin, newline included.
    pub fn to_json(&self) -> String {
        let document = serde_json::to_string(&self.0);
        document.expect("its keys are text and it writes to memory") + "\n"
    }

    /// Reads the section of that subcommand from a document. The other sections may be absent, and unknown members are
    /// ignored.
    ///
    /// A member may be empty or absent where the Go SDK requires at least `null`.
    pub fn read(document: &str, subcommand: Subcommand) -> Result<Call, InputError> {
        let document: Map<String, Value> =
            json::from_str(document).map_err(InputError::Document)?;
        let name = subcommand.section();
        let members = match document.get(&name) {
            None | Some(Value::Null) => None,
            Some(Value::Object(members)) => Some(members),
            Some(_) => return Err(InputError::NotAnObject { path: name }),
        };
        Call::read(subcommand, &Texts::Section { name, members })
    }
}

impl From<&Call> for AdapterInput {
    fn from(call: &Call) -> Self {
        match call {
            Call::GenerateManifest(call) => Self::generate_manifest(call),
            Call::CreateBinding(call) => Self::create_binding(call),
            Call::DeleteBinding(call) => Self::delete_binding(call),
            Call::DashboardUrl(call) => Self::dashboard_url(call),
            Call::GeneratePlanSchemas(call) => Self::generate_plan_schemas(call),
        }
    }
}

shows_only!(AdapterInput {});

/// The arguments after the subcommand in the form of old brokers (`spec/contracts/adapter-protocol.md`, "argv form").
///
/// This form has no secrets, configs, UAA client and DNS addresses. While the process runs, every user of the machine
/// can read it; formatting does not show it.
#[derive(Clone)]
pub struct AdapterArguments(Vec<String>);

impl AdapterArguments {
    /// The arguments of `generate-manifest`.
    pub fn generate_manifest(call: &GenerateManifest) -> Self {
        Self::of(call)
    }

    /// The arguments of `create-binding`.
    pub fn create_binding(call: &CreateBinding) -> Self {
        Self::of(call)
    }

    /// The arguments of `delete-binding`.
    pub fn delete_binding(call: &DeleteBinding) -> Self {
        Self::of(call)
    }

    /// The arguments of `dashboard-url`.
    pub fn dashboard_url(call: &GenerateDashboardUrl) -> Self {
        Self::of(call)
    }

    /// The arguments of `generate-plan-schemas`.
    pub fn generate_plan_schemas(call: &GeneratePlanSchemas) -> Self {
        let Self(plan) = Self::of(call);
        Self(["--plan-json".to_owned()].into_iter().chain(plan).collect())
    }

    fn of<C: Wire>(call: &C) -> Self {
        let members = C::ORDER.iter().map(|argument| argument.member);
        Self(members.map(|member| call.text(member)).collect())
    }

    /// In their order, the subcommand not among them.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// The same, given up.
    pub fn into_vec(self) -> Vec<String> {
        self.0
    }
}

impl From<&Call> for AdapterArguments {
    fn from(call: &Call) -> Self {
        match call {
            Call::GenerateManifest(call) => Self::generate_manifest(call),
            Call::CreateBinding(call) | Call::DeleteBinding(call) => Self::create_binding(call),
            Call::DashboardUrl(call) => Self::dashboard_url(call),
            Call::GeneratePlanSchemas(call) => Self::generate_plan_schemas(call),
        }
    }
}

impl fmt::Debug for AdapterArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AdapterArguments({} arguments)", self.0.len())
    }
}

/// Errors of an argument list.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the texts say what each error is")]
pub enum ArgumentsError {
    #[error("usage: {subcommand} {usage}")]
    Usage {
        subcommand: Subcommand,
        usage: &'static str,
    },
    #[error(transparent)]
    Value(#[from] InputError),
}

impl Call {
    /// Reads the arguments after the subcommand in the form of old brokers and ignores surplus arguments
    /// (`spec/contracts/adapter-protocol.md`, "argv form").
    pub fn from_arguments(
        subcommand: Subcommand,
        arguments: &[String],
    ) -> Result<Self, ArgumentsError> {
        let (order, usage): (&[Argument], _) = match subcommand {
            Subcommand::GenerateManifest => (
                GenerateManifest::ORDER,
                "<service-deployment-JSON> <plan-JSON> <request-params-JSON> <previous-manifest-YAML> <previous-plan-JSON>",
            ),
            Subcommand::CreateBinding | Subcommand::DeleteBinding => (
                CreateBinding::ORDER,
                "<binding-ID> <bosh-VMs-JSON> <manifest-YAML> <request-params-JSON>",
            ),
            Subcommand::DashboardUrl => (
                GenerateDashboardUrl::ORDER,
                "<instance-ID> <plan-JSON> <manifest-YAML>",
            ),
            Subcommand::GeneratePlanSchemas => {
                (GeneratePlanSchemas::ORDER, "--plan-json <plan-JSON>")
            }
        };
        let values: Vec<&str> = match subcommand {
            Subcommand::GeneratePlanSchemas => plan_flag(arguments).into_iter().collect(),
            _ => arguments.iter().map(String::as_str).collect(),
        };
        if values.len() < order.len() {
            return Err(ArgumentsError::Usage { subcommand, usage });
        }
        Ok(Self::read(subcommand, &Texts::List { order, values })?)
    }
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
