use std::fmt;

use super::calls::{Argument, Texts, Wire};
use super::parts::InputError;
use super::{
    Call, CreateBinding, DeleteBinding, GenerateDashboardUrl, GenerateManifest,
    GeneratePlanSchemas, Subcommand,
};

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

impl fmt::Debug for AdapterArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AdapterArguments({} arguments)", self.0.len())
    }
}

/// Errors of an argument list.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentsError {
    /// Too few arguments, or flags that the subcommand does not have.
    #[error("usage: {subcommand} {usage}")]
    Usage {
        /// The subcommand that was called.
        subcommand: Subcommand,
        /// The usage of the subcommand.
        usage: &'static str,
    },
    /// An argument with unexpected content.
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
