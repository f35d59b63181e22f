use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use odb_adapter_sdk::yaml;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::DESCRIPTION;
use crate::near::NearNames;

/// `adapter.yml`: what the folder declares about the service besides its templates (`docs/authors/templates.md`).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Description {
    /// Settings that operators may override, with their defaults.
    pub(crate) settings: Map<String, Value>,
    /// Where operators override them, unless the environment names another file.
    pub(crate) settings_file: Option<PathBuf>,
    /// The message for platform users when plan, releases or stemcells do not fit.
    pub(crate) user_message: Option<String>,
    pub(crate) plan: PlanNeeds,
    pub(crate) parameters: ParametersPolicy,
    pub(crate) releases: Vec<ReleaseNeed>,
    /// Operating systems that there must be a stemcell of.
    pub(crate) stemcells: Vec<String>,
    pub(crate) values: BTreeMap<String, KeptValue>,
    pub(crate) secrets: BTreeMap<String, SecretDescription>,
    /// Labels of the service instance; texts are templates.
    pub(crate) labels: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PlanNeeds {
    /// Instance groups, as templates.
    pub(crate) instance_groups: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ParametersPolicy {
    /// Whether platforms get the schemas.
    pub(crate) publish_schemas: bool,
    /// Parameters that may bring references, `((…))`, into the manifest.
    pub(crate) may_hold_references: BTreeSet<String>,
}

impl Default for ParametersPolicy {
    fn default() -> Self {
        Self {
            publish_schemas: true,
            may_hold_references: BTreeSet::new(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReleaseNeed {
    /// The job that one release must provide.
    pub(crate) job: String,
    #[serde(default)]
    pub(crate) minimum_version: Option<String>,
    /// Whether an instance must stay with the release and not move to a lower version.
    #[serde(default)]
    pub(crate) no_downgrade: bool,
}

/// A value that is chosen once and found again.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct KeptValue {
    pub(crate) parameter: Option<String>,
    pub(crate) kept_at: Locations,
    pub(crate) plan_property: Option<String>,
    pub(crate) default: Option<Value>,
    pub(crate) may_change: bool,
}

impl Default for KeptValue {
    fn default() -> Self {
        Self {
            parameter: None,
            kept_at: Locations::default(),
            plan_property: None,
            default: None,
            may_change: true,
        }
    }
}

/// A secret that is made once, or given, and found again.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SecretDescription {
    pub(crate) kept_at: Locations,
    #[serde(default)]
    pub(crate) stored: Storage,
    #[serde(default)]
    pub(crate) generate: Option<Generation>,
    /// Expression: whether there is such a secret.
    #[serde(default)]
    pub(crate) when: Option<String>,
    /// Expression: the value that it is to have.
    #[serde(default)]
    pub(crate) value: Option<String>,
    /// Expression: the value if there is nothing to keep.
    #[serde(default)]
    pub(crate) initial: Option<String>,
    /// Expression: whether it is to be made anew.
    #[serde(default)]
    pub(crate) renew: Option<String>,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default = "yes")]
    pub(crate) new_names: bool,
    #[serde(default)]
    pub(crate) always_returned: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Storage {
    /// In the credential store of BOSH, through the broker.
    #[default]
    OdbManaged,
    /// In the manifest, as plain text.
    InManifest,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "GenerationText")]
pub(crate) enum Generation {
    /// Letters and digits.
    Characters(usize),
    /// Random bytes in an encoding.
    Bytes(usize, Encoding),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Encoding {
    Base64,
    Base64url,
    Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GenerationText {
    characters: Option<usize>,
    bytes: Option<usize>,
    r#as: Option<Encoding>,
}

impl TryFrom<GenerationText> for Generation {
    type Error = &'static str;

    fn try_from(text: GenerationText) -> Result<Self, Self::Error> {
        match (text.characters, text.bytes, text.r#as) {
            (Some(count @ 8..=4096), None, None) => Ok(Self::Characters(count)),
            (None, Some(count @ 8..=4096), encoding) => {
                Ok(Self::Bytes(count, encoding.unwrap_or(Encoding::Base64)))
            }
            _ => Err("either characters, or bytes and perhaps as, from 8 to 4096"),
        }
    }
}

/// Paths in the manifest, as templates; the first that is there counts.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "OneOrMany")]
pub(crate) struct Locations(pub(crate) Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Locations {
    fn from(locations: OneOrMany) -> Self {
        Self(match locations {
            OneOrMany::One(location) => vec![location],
            OneOrMany::Many(locations) => locations,
        })
    }
}

impl Description {
    pub(crate) fn read(text: &str) -> anyhow::Result<Self> {
        let description: Option<Self> = yaml::from_str(text).map_err(|error| wrong(&error))?;
        Ok(description.unwrap_or_default())
    }

    /// Two secrets whose values the broker would store under the same fixed name.
    pub(crate) fn equal_secret_names(&self) -> Option<(&str, &str)> {
        let mut names = BTreeMap::new();
        self.secrets.iter().find_map(|(key, secret)| {
            let is_fixed = !secret.new_names || secret.always_returned;
            if secret.stored != Storage::OdbManaged || !is_fixed {
                return None;
            }
            let first = names.insert(secret.name.as_ref().unwrap_or(key), key.as_str());
            first.map(|first| (first, key.as_str()))
        })
    }
}

/// The error of an unknown key names the most similar key first.
fn wrong(error: &yaml::Error) -> anyhow::Error {
    let message = error
        .message()
        .strip_prefix("unknown field `")
        .and_then(|rest| rest.split_once("`, expected "))
        .map(|(key, expected)| {
            let known = expected.split('`').skip(1).step_by(2);
            format!("unknown key `{key}`; {}", NearNames::to(key, known))
        });
    let location = match (error.line(), error.column()) {
        (Some(line), Some(column)) => format!("{DESCRIPTION}:{line}:{column}"),
        _ => DESCRIPTION.to_owned(),
    };
    let message = message.as_deref().unwrap_or(error.message());
    anyhow::anyhow!("{location}: {message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_reported_with_its_line_and_the_nearest_one() {
        let error = Description::read("plan: {}\nsecrets:\n  a:\n    keptat: /a\n").unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("adapter.yml:4:")
                && text.contains("unknown key `keptat`; there are `kept_at`, "),
            "{text}"
        );
    }

    #[test]
    fn a_secret_is_generated_in_one_way() {
        for generate in [
            "{}",
            "{characters: 3}",
            "{characters: 9, bytes: 9}",
            "{characters: 9, as: hex}",
        ] {
            let text = format!("secrets: {{a: {{kept_at: /a, generate: {generate}}}}}");
            let error = Description::read(&text).unwrap_err();
            assert!(error.to_string().contains("either characters"), "{error}");
        }
    }
}
