use std::fmt;

use serde_json::Value;

use super::GeneratedManifest;

/// The kinds of BOSH config that an adapter may bring for its instance
/// (`spec/contracts/adapter-protocol.md`, "Configs").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ConfigType {
    /// `cloud`
    Cloud,
    /// `cpi`
    Cpi,
    /// `runtime`
    Runtime,
}

impl ConfigType {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cloud => "cloud",
            Self::Cpi => "cpi",
            Self::Runtime => "runtime",
        }
    }
}

impl fmt::Display for ConfigType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl GeneratedManifest {
    /// The same answer with a BOSH config of that type, as YAML text, replacing an earlier one. Types that are not set
    /// stay unchanged.
    ///
    /// Other deployments of the team use the config too, so names inside should contain the instance's name.
    #[must_use]
    pub fn with_config(mut self, config_type: ConfigType, yaml: impl Into<String>) -> Self {
        self.configs
            .get_or_insert_default()
            .insert(config_type.name().to_owned(), yaml.into());
        self
    }

    /// The same answer with a label that the platform shows with the service instance.
    #[must_use]
    pub fn with_label(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }
}
