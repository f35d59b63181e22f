use std::fmt;
use std::str::FromStr;

/// A subcommand; the first argument of an adapter's process (`spec/contracts/adapter-protocol.md`, "Subcommands").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subcommand {
    /// Make a service binding.
    CreateBinding,
    /// Name the dashboard of a service instance.
    DashboardUrl,
    /// Remove a service binding.
    DeleteBinding,
    /// Write the BOSH manifest of a service instance.
    GenerateManifest,
    /// Describe the parameters that a plan accepts.
    GeneratePlanSchemas,
}

/// An argument that names no subcommand of the protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown subcommand `{name}`")]
pub struct UnknownSubcommand {
    name: String,
}

impl Subcommand {
    /// Every subcommand, sorted by name.
    pub const ALL: &'static [Self] = &[
        Self::CreateBinding,
        Self::DashboardUrl,
        Self::DeleteBinding,
        Self::GenerateManifest,
        Self::GeneratePlanSchemas,
    ];

    /// The word on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CreateBinding => "create-binding",
            Self::DashboardUrl => "dashboard-url",
            Self::DeleteBinding => "delete-binding",
            Self::GenerateManifest => "generate-manifest",
            Self::GeneratePlanSchemas => "generate-plan-schemas",
        }
    }

    pub(crate) fn section(self) -> String {
        self.name().replace('-', "_")
    }
}

impl fmt::Display for Subcommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Subcommand {
    type Err = UnknownSubcommand;

    fn from_str(name: &str) -> Result<Self, UnknownSubcommand> {
        Self::ALL
            .iter()
            .copied()
            .find(|subcommand| subcommand.name() == name)
            .ok_or_else(|| UnknownSubcommand {
                name: name.to_owned(),
            })
    }
}

/// The meaning of an adapter's exit code (`spec/contracts/adapter-protocol.md`, "Exit codes").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExitCode {
    /// 0: the answer is on stdout.
    Success,
    /// 1: stdout holds a message for the platform user, or nothing.
    Failure,
    /// 10: the adapter does not implement the subcommand.
    NotImplemented,
    /// 41: the binding to delete does not exist.
    BindingNotFound,
    /// 42: the binding needs an application GUID and the request has none.
    AppGuidRequired,
    /// 49: the binding to create exists already.
    BindingExists,
    /// Any other code: a failure that the protocol does not know.
    Other(i32),
}

impl ExitCode {
    /// The number that the process ends with.
    pub const fn code(self) -> i32 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::NotImplemented => 10,
            Self::BindingNotFound => 41,
            Self::AppGuidRequired => 42,
            Self::BindingExists => 49,
            Self::Other(code) => code,
        }
    }
}

impl From<i32> for ExitCode {
    fn from(code: i32) -> Self {
        match code {
            0 => Self::Success,
            1 => Self::Failure,
            10 => Self::NotImplemented,
            41 => Self::BindingNotFound,
            42 => Self::AppGuidRequired,
            49 => Self::BindingExists,
            other => Self::Other(other),
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    /// A code that does not fit into a byte becomes 1, as processes on Unix end with a byte.
    fn from(code: ExitCode) -> Self {
        u8::try_from(code.code()).map_or(Self::FAILURE, Self::from)
    }
}
