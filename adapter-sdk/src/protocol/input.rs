use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::calls::{Texts, Wire};
use super::parts::InputError;
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

shows_only!(AdapterInput {});
