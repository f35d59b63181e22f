use odb_adapter_sdk::protocol::RequestParameters;
use odb_adapter_sdk::yaml;
use serde::Deserialize;
use serde_json::Value;

/// What a user may choose at create and update.
#[derive(Debug, Default)]
pub(crate) struct Parameters {
    /// How many clients may be connected at once.
    pub(crate) maxclients: Option<u64>,
    /// Value of the ODB-managed secret.
    pub(crate) odb_managed_secret: Option<String>,
    /// Path of a secret that is in CredHub already.
    pub(crate) credhub_secret_path: Option<String>,
    /// Cloud config of this instance with VM extensions for it.
    pub(crate) vm_extensions_config: Option<VmExtensionsConfig>,
}

/// A cloud config as text, and the VM extensions that it names.
#[derive(Debug)]
pub(crate) struct VmExtensionsConfig {
    pub(crate) text: String,
    pub(crate) names: Vec<String>,
}

/// Faults of the user's; their texts are for that user.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParametersError {
    #[error("unsupported parameter(s) for this service plan: {}", names.join(", "))]
    Unsupported { names: Vec<String> },
    #[error("parameter `{name}` must be {expected}")]
    WrongType {
        name: &'static str,
        expected: &'static str,
    },
}

impl Parameters {
    pub(crate) fn of(request: &RequestParameters) -> Result<Self, ParametersError> {
        let mut parameters = Self::default();
        let mut unsupported = Vec::new();
        for (name, value) in request.arbitrary() {
            match name.as_str() {
                "maxclients" => parameters.maxclients = Some(maxclients(&value)?),
                "odb_managed_secret" => {
                    parameters.odb_managed_secret = Some(text("odb_managed_secret", value)?);
                }
                "credhub_secret_path" => {
                    parameters.credhub_secret_path = Some(text("credhub_secret_path", value)?);
                }
                "vm_extensions_config" => {
                    parameters.vm_extensions_config = Some(VmExtensionsConfig::read(value)?);
                }
                _ => unsupported.push(name),
            }
        }
        if unsupported.is_empty() {
            return Ok(parameters);
        }
        unsupported.sort_unstable();
        Err(ParametersError::Unsupported { names: unsupported })
    }
}

fn maxclients(value: &Value) -> Result<u64, ParametersError> {
    value
        .as_u64()
        .filter(|&number| number > 0)
        .ok_or(ParametersError::WrongType {
            name: "maxclients",
            expected: "a whole number of at least 1",
        })
}

fn text(name: &'static str, value: Value) -> Result<String, ParametersError> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(ParametersError::WrongType {
            name,
            expected: "a string",
        }),
    }
}

impl VmExtensionsConfig {
    fn read(value: Value) -> Result<Self, ParametersError> {
        #[derive(Deserialize)]
        struct CloudConfig {
            #[serde(default)]
            vm_extensions: Vec<VmExtension>,
        }
        #[derive(Deserialize)]
        struct VmExtension {
            name: String,
        }
        const NAME: &str = "vm_extensions_config";
        let text = text(NAME, value)?;
        let config: CloudConfig =
            yaml::from_str(&text).map_err(|_| ParametersError::WrongType {
                name: NAME,
                expected: "a cloud config in YAML",
            })?;
        let names = config
            .vm_extensions
            .into_iter()
            .map(|extension| extension.name)
            .collect();
        Ok(Self { text, names })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parameters(arbitrary: &Value) -> Result<Parameters, ParametersError> {
        let request = json!({ "parameters": arbitrary }).to_string();
        Parameters::of(&RequestParameters::from_json(&request).unwrap())
    }

    #[test]
    fn parameters_that_no_plan_has_are_listed_in_order() {
        let error = parameters(&json!({"zeta": 1, "maxclients": 1, "alpha": 2})).unwrap_err();
        assert_eq!(
            error.to_string(),
            "unsupported parameter(s) for this service plan: alpha, zeta"
        );
    }

    #[test]
    fn a_parameter_of_the_wrong_type_is_named() {
        for (arbitrary, message) in [
            (
                json!({"maxclients": "5"}),
                "parameter `maxclients` must be a whole number of at least 1",
            ),
            (
                json!({"maxclients": 1.5}),
                "parameter `maxclients` must be a whole number of at least 1",
            ),
            (
                json!({"maxclients": 0}),
                "parameter `maxclients` must be a whole number of at least 1",
            ),
            (
                json!({"odb_managed_secret": 1}),
                "parameter `odb_managed_secret` must be a string",
            ),
            (
                json!({"credhub_secret_path": null}),
                "parameter `credhub_secret_path` must be a string",
            ),
            (
                json!({"vm_extensions_config": "a: [b"}),
                "parameter `vm_extensions_config` must be a cloud config in YAML",
            ),
            (
                json!({"vm_extensions_config": "[]"}),
                "parameter `vm_extensions_config` must be a cloud config in YAML",
            ),
        ] {
            assert_eq!(parameters(&arbitrary).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn vm_extensions_are_known_by_name() {
        let parameters =
            parameters(&json!({"vm_extensions_config": "vm_extensions: [{name: a}, {name: b, cloud_properties: {}}]"}))
                .unwrap();
        assert_eq!(parameters.vm_extensions_config.unwrap().names, ["a", "b"]);
    }
}
