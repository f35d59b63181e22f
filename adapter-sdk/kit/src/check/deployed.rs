use std::collections::BTreeMap;

use odb_adapter_sdk::secrets::{SecretReference, references_in};
use odb_adapter_sdk::yaml;
use rand::RngExt as _;
use rand::distr::Alphanumeric;
use serde_json::{Map, Value};

use super::answers::Generated;
use super::requests::{OFFERING_ID, deployment_name};

/// A deployed instance: what the broker made of an answer (`spec/contracts/adapter-protocol.md`, "Secrets going in",
/// "Secrets going out (ODB-managed)").
#[derive(Clone)]
pub(super) struct Deployed {
    /// The manifest as text, with the paths of stored secrets in it.
    pub(super) text: String,
    pub(super) manifest: Value,
    secrets: BTreeMap<String, String>,
    configs: Map<String, Value>,
    has_secure_manifests: bool,
}

impl Deployed {
    /// The deployed state after that answer, over the previous one.
    pub(super) fn after(
        answer: &Generated,
        previous: Option<&Self>,
        has_secure_manifests: bool,
    ) -> Self {
        let text = if has_secure_manifests {
            answer
                .secrets
                .keys()
                .fold(answer.text.clone(), |text, name| {
                    text.replace(SecretReference::placeholder(name).as_str(), &stored(name))
                })
        } else {
            answer.text.clone()
        };
        let manifest = yaml::from_str(&text).unwrap_or_else(|_| answer.manifest.clone());
        let mut secrets = BTreeMap::new();
        for reference in references_in(&text) {
            let returned = answer
                .secrets
                .iter()
                .find(|(name, _)| stored(name) == reference);
            let known = previous.and_then(|previous| previous.secrets.get(reference));
            let value = match (returned, known) {
                (Some((_, Value::String(value))), _) => value.clone(),
                (Some((_, value)), _) => value.to_string(),
                (None, Some(known)) => known.clone(),
                // The Director has generated it, or an operator has stored it in CredHub.
                (None, None) => generated(),
            };
            secrets.insert(reference.to_owned(), value);
        }
        let mut configs = previous
            .map(|previous| previous.configs.clone())
            .unwrap_or_default();
        configs.extend(answer.configs.clone());
        Self {
            text,
            manifest,
            secrets,
            configs,
            has_secure_manifests,
        }
    }

    /// The secrets by reference, as the broker passes them.
    pub(super) fn secrets(&self) -> Value {
        if !self.has_secure_manifests {
            return Value::Null;
        }
        let pairs = self.secrets.iter();
        pairs
            .map(|(reference, value)| (reference.clone(), Value::from(value.as_str())))
            .collect::<Map<_, _>>()
            .into()
    }

    /// The values of all secrets.
    pub(super) fn secret_values(&self) -> impl Iterator<Item = &str> {
        self.secrets.values().map(String::as_str)
    }

    /// The value that is stored under the name of an ODB-managed secret.
    pub(super) fn stored_value(&self, name: &str) -> Option<&str> {
        self.secrets.get(&stored(name)).map(String::as_str)
    }

    /// Whether the manifest refers to secrets.
    pub(super) fn has_references(&self) -> bool {
        !self.secrets.is_empty()
    }

    /// The configs of the instance, as the broker passes them.
    pub(super) fn configs(&self) -> Value {
        self.configs.clone().into()
    }

    /// Addresses as the Director returns them: one for each instance of every group that is not an errand.
    pub(super) fn bosh_vms(&self) -> Value {
        let groups = self.manifest["instance_groups"].as_array();
        let groups = groups.into_iter().flatten().enumerate();
        groups
            .filter(|(_, group)| group["lifecycle"] != "errand")
            .filter_map(|(nth, group)| {
                let instances = group["instances"].as_u64().unwrap_or(1).min(200);
                let addresses: Vec<Value> = (1..=instances)
                    .map(|instance| format!("10.0.{}.{instance}", nth % 256).into())
                    .collect();
                Some((group["name"].as_str()?.to_owned(), Value::from(addresses)))
            })
            .collect::<Map<_, _>>()
            .into()
    }
}

/// The form of an ODB-managed secret in the deployed manifest.
fn stored(name: &str) -> String {
    format!("((/odb/{OFFERING_ID}/{}/{name}))", deployment_name())
}

/// A value that occurs nowhere else.
pub(super) fn generated() -> String {
    let random = rand::rng()
        .sample_iter(Alphanumeric)
        .take(24)
        .map(char::from);
    format!("odbcheck{}", random.collect::<String>())
}
