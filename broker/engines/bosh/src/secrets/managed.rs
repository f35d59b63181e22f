//! The secrets of an adapter's answer: what to write where, and the manifest that refers to it.

use std::collections::{BTreeMap, BTreeSet};

use odb_adapter_sdk::{protocol::ManifestText, secrets::Reference};
use odb_api_types::ids::InstanceId;
use odb_clients::{
    InvalidText,
    credhub::{CredentialId, CredentialName, CredentialValue, SecretJson},
    http::Call,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{InstanceSecrets, reference::used_in};
use crate::error::Error;

/// A secret that is to be written.
#[derive(Debug)]
pub(crate) struct NewSecret {
    pub(super) name: CredentialName,
    pub(super) value: CredentialValue,
    previous: Option<CredentialId>,
}

/// The previous state of a secret. Operation records hold it: no secret, only its path and id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PreviousSecret {
    pub(super) name: CredentialName,
    /// The version that was the latest; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<CredentialId>,
}

/// Why an adapter's secrets cannot be kept.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The Director would refuse the placeholder, late and without saying why.
    #[error(
        "the adapter's manifest has `((odb_secret:{name}))`, but no secret of that name came with it"
    )]
    Missing {
        /// The name in the placeholder.
        name: String,
    },
    /// Only texts and objects can be kept.
    #[error(
        "the adapter's secret `{name}` is {found}; it must be a text that is not empty, or an object"
    )]
    Kind {
        /// The name in the placeholder.
        name: String,
        found: &'static str,
    },
    /// CredHub takes both for the same.
    #[error(
        "the adapter's secrets `{one}` and `{other}` differ in case only, which CredHub ignores: give one of them another name"
    )]
    SameButForCase {
        /// The name in a placeholder.
        one: String,
        /// The name in another one.
        other: String,
    },
    /// It could be written, and no manifest could refer to it.
    #[error(
        "the adapter's secret would be `{path}`, to which no manifest can refer: the Director takes letters, digits, `-`, `_` \
         and slashes; change its name, or the id of offering or instance"
    )]
    Unreferable {
        /// The path.
        path: String,
    },
    /// CredHub cannot have a credential of this name.
    #[error("cannot store the adapter's secret")]
    Name(#[from] InvalidText),
}

impl InstanceSecrets {
    /// Determines which secrets of an answer to store, and their previous versions. Nothing is written yet.
    ///
    /// A secret without a placeholder is left out, and one with the stored value is not written again. Without secure
    /// manifests the manifest is unchanged.
    pub(crate) async fn prepare(
        &self,
        call: &Call,
        instance: &InstanceId,
        manifest: ManifestText,
        secrets: Option<&Map<String, Value>>,
    ) -> Result<(ManifestText, Vec<NewSecret>), Error> {
        let Some(credhub) = &self.credhub else {
            return Ok((manifest, Vec::new()));
        };
        let wanted = self.wanted(instance, manifest.as_str(), secrets)?;
        if wanted.is_empty() {
            return Ok((manifest, Vec::new()));
        }
        let mut text = manifest.into_string();
        let mut new = Vec::new();
        for (placeholder, name, value) in wanted {
            text = text.replace(&placeholder, &format!("(({name}))"));
            let previous = credhub
                .latest(call, &name)
                .await
                .map_err(Error::credhub("look up a secret of the adapter"))?;
            if previous
                .as_ref()
                .is_some_and(|previous| previous.value.is_known_to_equal(&value))
            {
                continue;
            }
            new.push(NewSecret {
                name,
                value,
                previous: previous.map(|previous| previous.id),
            });
        }
        Ok((text.into(), new))
    }

    /// The placeholders of a manifest, each with its path and its value.
    pub(crate) fn wanted(
        &self,
        instance: &InstanceId,
        manifest: &str,
        secrets: Option<&Map<String, Value>>,
    ) -> Result<Vec<(String, CredentialName, CredentialValue)>, SecretError> {
        let placeholders: BTreeSet<_> = Reference::all_in(manifest)
            .filter_map(|reference| Some((reference.placeholder()?, reference.text())))
            .collect();
        let mut names = BTreeMap::new();
        for &(name, _) in &placeholders {
            let other = names.insert(name.to_ascii_lowercase(), name);
            if let Some(other) = other.filter(|other| *other != name) {
                return Err(SecretError::SameButForCase {
                    one: other.to_owned(),
                    other: name.to_owned(),
                });
            }
        }
        placeholders
            .into_iter()
            .map(|(name, placeholder)| {
                let missing = || SecretError::Missing {
                    name: name.to_owned(),
                };
                let value = secrets.and_then(|all| all.get(name)).ok_or_else(missing)?;
                let path = self.path(instance, name)?;
                let value = credential(name, value)?;
                Ok((placeholder.to_owned(), path, value))
            })
            .collect()
    }

    fn path(&self, instance: &InstanceId, name: &str) -> Result<CredentialName, SecretError> {
        let path: CredentialName = format!("{}/{name}", self.folder(instance)?).parse()?;
        let may_be_referred_to =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/');
        if !path.as_str().bytes().all(may_be_referred_to) {
            return Err(SecretError::Unreferable { path: path.into() });
        }
        Ok(path)
    }
}

impl PreviousSecret {
    /// The secrets that a deployed manifest does not refer to, or that existed before: secrets in use are never
    /// deleted.
    pub(crate) fn not_in_use(all: &[Self], manifest: &str) -> Vec<Self> {
        let used = used_in(manifest);
        let in_use = |name: &CredentialName| used.contains(&name.as_str().to_ascii_lowercase());
        let kept = all
            .iter()
            .filter(|previous| previous.version.is_some() || !in_use(&previous.name));
        kept.cloned().collect()
    }
}

impl NewSecret {
    /// Where it is kept.
    pub(crate) fn path(&self) -> &str {
        self.name.as_str()
    }

    /// No secret of its name existed before.
    pub(crate) fn is_first(&self) -> bool {
        self.previous.is_none()
    }

    pub(crate) fn previous(&self) -> PreviousSecret {
        PreviousSecret {
            name: self.name.clone(),
            version: self.previous.clone(),
        }
    }
}

fn credential(name: &str, value: &Value) -> Result<CredentialValue, SecretError> {
    let found = match value {
        Value::String(text) if !text.is_empty() => {
            return Ok(CredentialValue::Text(text.as_str().into()));
        }
        Value::Object(object) => {
            return Ok(CredentialValue::Json(SecretJson::from(object.clone())));
        }
        Value::String(_) => "empty",
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::Array(_) => "a list",
    };
    Err(SecretError::Kind {
        name: name.to_owned(),
        found,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wanted(manifest: &str, secrets: Value) -> Result<Vec<String>, SecretError> {
        let kept = InstanceSecrets::new(None, "offering".to_owned().into());
        let instance = InstanceId::try_from("i".to_owned()).unwrap();
        let Value::Object(secrets) = secrets else {
            panic!("secrets are an object");
        };
        let wanted = kept.wanted(&instance, manifest, Some(&secrets))?;
        Ok(wanted
            .into_iter()
            .map(|(_, path, value)| format!("{path} {value:?}"))
            .collect())
    }

    #[test]
    fn what_the_manifest_asks_for_is_kept_in_the_instances_folder_and_nothing_else() {
        let manifest = "a: ((odb_secret:token))\nb: ((odb_secret:db/login))\nc: ((odb_secret:token))\nd: ((other))\n";
        let secrets = json!({"token": "hunter2", "db/login": {"user": "u"}, "unused": 1});
        assert_eq!(
            wanted(manifest, secrets).unwrap(),
            [
                "/odb/offering/service-instance_i/db/login Json([REDACTED])",
                "/odb/offering/service-instance_i/token Text([REDACTED])",
            ]
        );
    }

    #[test]
    fn ids_that_differ_in_case_keep_their_secrets_apart() {
        let kept = InstanceSecrets::new(None, "offering".to_owned().into());
        let path = |instance: &str| {
            let instance = InstanceId::try_from(instance.to_owned()).unwrap();
            kept.path(&instance, "Token").unwrap()
        };
        let (small, large) = (path("case-x"), path("CASE-X"));
        assert_eq!(
            small.as_str(),
            "/odb/offering/service-instance_case-x/Token"
        );
        assert_eq!(
            large.as_str(),
            "/odb/offering/service-instance-f4_CASE-X/Token"
        );
        assert!(!large.as_str().eq_ignore_ascii_case(path("CAsE-X").as_str()));
    }

    #[test]
    fn a_secret_that_cannot_be_kept_is_reported_by_its_name_and_never_by_its_value() {
        for (manifest, secrets, reported) in [
            (
                "((odb_secret:a))",
                json!({"b": "hunter2"}),
                "no secret of that name",
            ),
            (
                "((odb_secret:Key)) ((odb_secret:key))",
                json!({"Key": "hunter2", "key": "hunter3"}),
                "`Key` and `key` differ in case only",
            ),
            ("((odb_secret:a))", json!({"a": ["hunter2"]}), "is a list"),
            ("((odb_secret:a))", json!({"a": ""}), "is empty"),
            (
                "((odb_secret:a.b))",
                json!({"a.b": "hunter2"}),
                "no manifest can refer",
            ),
            (
                "((odb_secret:../x))",
                json!({"../x": "hunter2"}),
                "cannot store the adapter's secret",
            ),
            (
                "((odb_secret:))",
                json!({"": "hunter2"}),
                "cannot store the adapter's secret",
            ),
        ] {
            let error = wanted(manifest, secrets).unwrap_err();
            let text = format!("{error} {error:?}");
            assert!(text.contains(reported), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }
}
