use std::path::{Path, PathBuf};
use std::{env, fs, io};

use anyhow::Context as _;
use odb_adapter_sdk::yaml;
use serde::Deserialize;

/// Where the BOSH job of the adapter puts its file.
const DEFAULT_PATH: &str = "/var/vcap/jobs/service-adapter/config/service-adapter.conf";

/// Names another file.
const PATH_VARIABLE: &str = "REDIS_ADAPTER_CONFIG";

/// The adapter's own settings; keys that it does not know are passed over.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Configuration {
    /// The plan's instance group that Redis runs in.
    pub(crate) redis_instance_group_name: String,
    /// Write the placeholder of the ODB-managed secret again on each update.
    pub(crate) ignore_odb_managed_secret_on_update: bool,
    /// The broker resolves secrets in manifests.
    pub(crate) secure_manifests_enabled: bool,
}

impl Default for Configuration {
    fn default() -> Self {
        Self {
            redis_instance_group_name: "redis-server".to_owned(),
            ignore_odb_managed_secret_on_update: false,
            secure_manifests_enabled: false,
        }
    }
}

impl Configuration {
    /// Reads the file that the environment names, which must be there, or the one of the BOSH job,
    /// without which the defaults hold: a broker hands hardly any environment on, and the defaults
    /// are all that many need.
    pub(crate) fn load() -> anyhow::Result<Self> {
        let named = env::var_os(PATH_VARIABLE).map(PathBuf::from);
        let path = named.as_deref().unwrap_or(Path::new(DEFAULT_PATH));
        let text = match fs::read_to_string(path) {
            Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            read => read.with_context(|| format!("could not read `{}`", path.display()))?,
        };
        let configuration: Option<Self> = yaml::from_str(&text)
            .with_context(|| format!("`{}` is not a valid configuration", path.display()))?;
        Ok(configuration.unwrap_or_default())
    }
}
