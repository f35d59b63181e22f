use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

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

#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigurationError {
    #[error("could not read `{}`", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` is not a valid configuration", path.display())]
    NotValid {
        path: PathBuf,
        #[source]
        source: yaml::Error,
    },
}

impl Configuration {
    /// Reads the file that the environment names, which must be there, or the one of the BOSH job,
    /// without which the defaults hold: a broker hands hardly any environment on, and the defaults
    /// are all that many need.
    pub(crate) fn load() -> Result<Self, ConfigurationError> {
        match named_path() {
            Some(path) => Self::read(path.as_ref()),
            None => match Self::read(Path::new(DEFAULT_PATH)) {
                Err(ConfigurationError::Unreadable { source, .. })
                    if source.kind() == io::ErrorKind::NotFound =>
                {
                    Ok(Self::default())
                }
                outcome => outcome,
            },
        }
    }

    fn read(path: &Path) -> Result<Self, ConfigurationError> {
        let text = fs::read_to_string(path).map_err(|source| ConfigurationError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let configuration: Option<Self> =
            yaml::from_str(&text).map_err(|source| ConfigurationError::NotValid {
                path: path.to_owned(),
                source,
            })?;
        Ok(configuration.unwrap_or_default())
    }
}

fn named_path() -> Option<OsString> {
    env::var_os(PATH_VARIABLE)
}
