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

    /// The name of its section on stdin.
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
