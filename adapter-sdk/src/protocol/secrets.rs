use std::collections::BTreeMap;

use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Secrets of a service instance by their reference as in the manifest, double
/// parentheses included (`spec/contracts/adapter-protocol.md`, "Secrets going in").
///
/// Formatting shows the references only.
#[derive(Debug, Clone, Default, JsonSchema)]
#[schemars(with = "BTreeMap<String, String>")]
pub struct Secrets(BTreeMap<String, SecretString>);

impl Secrets {
    /// The value behind a reference such as `((admin_password))`.
    pub fn expose(&self, reference: &str) -> Option<&str> {
        self.0.get(reference).map(ExposeSecret::expose_secret)
    }

    /// Adds a value under its reference, replacing an earlier one.
    pub fn insert(&mut self, reference: impl Into<String>, value: impl Into<SecretString>) {
        self.0.insert(reference.into(), value.into());
    }

    /// The references, sorted.
    pub fn references(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether there is no secret at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<R: Into<String>, V: Into<SecretString>> FromIterator<(R, V)> for Secrets {
    fn from_iter<I: IntoIterator<Item = (R, V)>>(secrets: I) -> Self {
        Self(
            secrets
                .into_iter()
                .map(|(reference, value)| (reference.into(), value.into()))
                .collect(),
        )
    }
}

impl Serialize for Secrets {
    /// Writes the values: this is how the broker hands them to an adapter.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            self.0
                .iter()
                .map(|(reference, value)| (reference, value.expose_secret())),
        )
    }
}

impl<'de> Deserialize<'de> for Secrets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BTreeMap::<String, String>::deserialize(deserializer).map(Self::from_iter)
    }
}
