use std::path::{Path, PathBuf};
use std::{env, fs, io};

use anyhow::{Context as _, bail, ensure};
use odb_adapter_sdk::yaml;
use serde_json::{Map, Value};

use crate::near::NearNames;
use crate::template::kind;

/// Names the file in which an operator overrides settings.
const FILE_VARIABLE: &str = "SERVICE_ADAPTER_SETTINGS";

/// The defaults of `adapter.yml`, overridden by an operator's file. The file that the environment names must exist; the
/// file that the folder names is optional.
pub(super) fn load(
    defaults: &Map<String, Value>,
    file: Option<&Path>,
) -> anyhow::Result<Map<String, Value>> {
    let named = env::var_os(FILE_VARIABLE).map(PathBuf::from);
    let Some(path) = named.as_deref().or(file) else {
        return Ok(defaults.clone());
    };
    match fs::read_to_string(path) {
        Ok(text) => overridden(defaults, path, &text),
        Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => {
            Ok(defaults.clone())
        }
        Err(error) => {
            Err(error).with_context(|| format!("could not read the settings `{}`", path.display()))
        }
    }
}

fn overridden(
    defaults: &Map<String, Value>,
    path: &Path,
    text: &str,
) -> anyhow::Result<Map<String, Value>> {
    let invalid = format!("`{}` is not a valid configuration", path.display());
    let chosen: Option<Map<String, Value>> =
        yaml::from_str(text).with_context(|| format!("{invalid}: it must be a map of settings"))?;
    let mut settings = defaults.clone();
    for (name, value) in chosen.unwrap_or_default() {
        let Some(default) = settings.get_mut(&name) else {
            let near = NearNames::to(&name, defaults.keys());
            bail!("{invalid}: unknown setting `{name}`; {near}");
        };
        // A default of null says nothing of the type.
        ensure!(
            default.is_null() || kind(default) == kind(&value),
            "{invalid}: setting `{name}` must be {}",
            kind(default)
        );
        *default = value;
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_override_has_the_name_and_the_type_of_its_default() {
        let Value::Object(defaults) = json!({"group": "redis", "secure": false}) else {
            unreachable!("an object was written");
        };
        let read = |text: &str| overridden(&defaults, Path::new("s.yml"), text);
        assert_eq!(read("secure: true").unwrap()["secure"], true);
        assert_eq!(read("").unwrap(), defaults);
        for (text, message) in [
            (
                "secured: true",
                "unknown setting `secured`; there are `secure`, `group`",
            ),
            ("secure: hunter2", "setting `secure` must be a boolean"),
            ("group: [hunter2]", "setting `group` must be a string"),
            ("- a", "it must be a map of settings"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.ends_with(message), "{error}");
        }
    }
}
