use std::path::Path;
use std::{env, fs};

use anyhow::Context as _;
use odb_adapter_sdk::yaml;
use serde::Deserialize;

/// Names the file with the settings.
const FILE_VARIABLE: &str = "REDIS_ADAPTER_CONFIG";

/// The operator's settings for all plans.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    /// The broker has `enable_secure_manifests`, so it stores passwords.
    pub(crate) secure_manifests_enabled: bool,
}

impl Settings {
    /// Without a file the defaults apply.
    pub(crate) fn load() -> anyhow::Result<Self> {
        let Some(file) = env::var_os(FILE_VARIABLE) else {
            return Ok(Self::default());
        };
        let file = Path::new(&file);
        let text = fs::read_to_string(file)
            .with_context(|| format!("could not read `{}`", file.display()))?;
        yaml::from_str(&text).with_context(|| format!("`{}` has invalid settings", file.display()))
    }
}
