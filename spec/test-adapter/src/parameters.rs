//! What operators and users may choose.

use std::collections::BTreeSet;

use odb_adapter_sdk::manifest::FreeMap;
use odb_adapter_sdk::parameters::ParametersError;
use odb_adapter_sdk::schemars::{self, JsonSchema};
use odb_adapter_sdk::yaml;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

/// The parameters of create and update.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameters {
    /// How many clients may be connected at once.
    #[schemars(range(min = 1))]
    pub(crate) maxclients: Option<u64>,
    /// Value of the secret that the broker keeps for the instance.
    pub(crate) odb_managed_secret: Option<String>,
    /// Path of a secret that is in the Director's CredHub already, as the Director reads it.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_./-]+$"))]
    pub(crate) credhub_secret_path: Option<String>,
    /// Cloud config in YAML, with VM extensions for this instance.
    pub(crate) vm_extensions_config: Option<String>,
}

/// The parameters of a binding: anything, which is ignored.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct BindingParameters {}

/// A cloud config of nothing but VM extensions, written anew, and the names of these.
#[derive(Debug)]
pub(crate) struct VmExtensionsConfig {
    pub(crate) text: String,
    pub(crate) names: Vec<String>,
}

impl Parameters {
    /// Rejects paths of other brokers' instances. CredHub ignores case.
    pub(crate) fn check_secret_path(&self) -> Result<(), ParametersError> {
        let path = self.credhub_secret_path.as_deref().unwrap_or_default();
        let path = path.trim_start_matches('/').to_ascii_lowercase();
        if path.starts_with("odb/") {
            let expected = "a path that is not under `/odb/`, where brokers keep their secrets";
            return Err(ParametersError::must_be("credhub_secret_path", expected));
        }
        Ok(())
    }

    /// The cloud config, of which nothing is passed on that was not read.
    pub(crate) fn vm_extensions(&self) -> Result<Option<VmExtensionsConfig>, ParametersError> {
        let config = self.vm_extensions_config.as_deref();
        config.map(VmExtensionsConfig::read).transpose()
    }
}

impl VmExtensionsConfig {
    fn read(text: &str) -> Result<Self, ParametersError> {
        #[derive(Deserialize, Serialize)]
        #[serde(deny_unknown_fields)]
        struct CloudConfig {
            vm_extensions: Vec<VmExtension>,
        }
        #[derive(Deserialize, Serialize)]
        #[serde(deny_unknown_fields)]
        struct VmExtension {
            name: String,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            cloud_properties: Option<FreeMap>,
        }
        let refused = || {
            let expected = "a cloud config in YAML with VM extensions and nothing else";
            ParametersError::must_be("vm_extensions_config", expected)
        };
        let config: CloudConfig = yaml::from_str(text).map_err(|_| refused())?;
        let text = yaml::to_string(&config).map_err(|_| refused())?;
        let extensions = config.vm_extensions.into_iter();
        let names: Vec<_> = extensions.map(|extension| extension.name).collect();
        let different: BTreeSet<_> = names.iter().collect();
        let are_names = !names.is_empty()
            && different.len() == names.len()
            && names.iter().all(|name| !name.is_empty());
        // The Director would put secrets of others in the place of references.
        if !are_names || text.contains("((") {
            return Err(refused());
        }
        Ok(Self { text, names })
    }
}

/// The properties of a plan. Unknown properties are ignored.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct PlanProperties {
    /// Whether Redis writes to its disk.
    pub(crate) persistence: bool,
    /// Put errands that have instances onto the instances of Redis.
    pub(crate) colocated_errand: Option<bool>,
    /// Value of a secret that the broker keeps for the instance.
    pub(crate) plan_secret: Option<String>,
    /// Feature of the same name.
    pub(crate) use_short_dns_addresses: Option<bool>,
    /// A feature that no Director knows, to show that features are free.
    pub(crate) something_completely_different: Option<Value>,
    /// The errand that is to fail, for tests of a platform.
    pub(crate) systest_errand_failure_override: Option<String>,
    /// Seconds that errands take, for tests of a platform.
    pub(crate) systest_errand_sleep: Option<Number>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vm_extensions_are_known_by_name() {
        let text =
            "vm_extensions: [{name: a}, {name: b, cloud_properties: {size: !!str 5, size: &s 6}}]";
        let config = VmExtensionsConfig::read(text).unwrap();
        assert_eq!(config.names, ["a", "b"]);
        assert_eq!(
            yaml::from_str::<yaml::Value>(&config.text).unwrap(),
            serde_json::json!({"vm_extensions": [{"name": "a"}, {"name": "b", "cloud_properties": {"size": 6}}]})
        );
        assert!(!config.text.contains(['!', '&']), "{}", config.text);
    }

    #[test]
    fn what_is_no_cloud_config_is_the_users_mistake() {
        for text in [
            "a: [b",
            "[]",
            "{}",
            "vm_extensions: []",
            "vm_extensions: [{}]",
            "vm_extensions: [{name: \"\"}]",
            "vm_extensions: [{name: a}, {name: a}]",
            "vm_extensions: [{name: a, cloud_property: {}}]",
            "{vm_extensions: [{name: a}], networks: []}",
            "vm_extensions: [{name: a, cloud_properties: {b: \"\\x28(/c/d))\"}}]",
        ] {
            let error = VmExtensionsConfig::read(text).unwrap_err();
            let reported = "parameter `vm_extensions_config` must be a cloud config in YAML with VM extensions and nothing else";
            assert_eq!(error.to_string(), reported, "{text}");
        }
    }
}
