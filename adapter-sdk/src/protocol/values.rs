//! Parts of a call that are more than JSON: manifests, secrets, the UAA client.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::UnknownKeys;
use crate::manifest::Manifest;
use crate::redaction::shows_only;
use crate::schemas::texts;
use crate::yaml;

/// A BOSH manifest as YAML text, kept to the letter. Formatting does not show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(
    schema_with = "texts::generated_manifest",
    description = "A BOSH manifest as YAML text."
)]
pub struct ManifestText(String);

impl ManifestText {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, given up.
    pub fn into_string(self) -> String {
        self.0
    }

    /// The text read into the manifest model.
    pub fn parse(&self) -> Result<Manifest, yaml::Error> {
        yaml::from_str(&self.0)
    }
}

impl From<String> for ManifestText {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for ManifestText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl TryFrom<&Manifest> for ManifestText {
    type Error = yaml::Error;

    fn try_from(manifest: &Manifest) -> Result<Self, yaml::Error> {
        yaml::to_string(manifest).map(Self)
    }
}

impl fmt::Debug for ManifestText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ManifestText({} bytes)", self.0.len())
    }
}

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

/// The UAA client of a service instance; lists are comma-separated
/// (`spec/contracts/adapter-protocol.md`, "UAA client, VMs, DNS addresses").
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct UaaClient {
    /// Id of the client, which is the id of the service instance.
    pub client_id: String,
    /// Secret of the client; empty unless the client is new, as UAA does not give secrets back.
    #[serde(serialize_with = "exposed", deserialize_with = "kept_secret")]
    #[schemars(with = "String")]
    pub client_secret: SecretString,
    /// Name of the client.
    pub name: String,
    /// Scopes.
    pub scopes: String,
    /// Resource ids.
    pub resource_ids: String,
    /// Authorities.
    pub authorities: String,
    /// Authorized grant types.
    pub authorized_grant_types: String,
    /// Redirect addresses, from newer brokers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect_uri: Option<String>,
    /// `true` or `false`: whether the client may be used without its secret, from newer brokers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowpublic: Option<String>,
    /// Keys that the protocol does not know yet, kept.
    #[serde(flatten)]
    pub other: UnknownKeys,
}

impl UaaClient {
    /// A client of that id, everything else empty.
    pub fn new(client_id: impl Into<String>) -> Self {
        Self {
            client_id: client_id.into(),
            ..Self::default()
        }
    }

    /// The secret, to be written into a manifest.
    pub fn expose_secret(&self) -> &str {
        self.client_secret.expose_secret()
    }

    /// The secret, if the client is new: there is none later, and the deployed one is to be kept.
    pub fn new_secret(&self) -> Option<&SecretString> {
        Some(&self.client_secret).filter(|secret| !secret.expose_secret().is_empty())
    }

    /// The client as a block of job properties, for a broker that sends its secret only once
    /// (`spec/contracts/adapter-protocol.md`, "Determinism").
    ///
    /// Without a client: the deployed block. For a client with a blank secret: its block, with the deployed secret if
    /// that is of the same client. `deployed` is the block in the previous manifest. The block holds the secret.
    pub fn block(client: Option<&Self>, deployed: Option<&Value>) -> Option<Value> {
        let Some(client) = client else {
            return deployed.cloned();
        };
        let mut block =
            serde_json::to_value(client).expect("its keys are text and it holds no raw JSON");
        if client.new_secret().is_none()
            && let Some(secret) = deployed
                .filter(|deployed| {
                    deployed.get("client_id").and_then(Value::as_str)
                        == Some(client.client_id.as_str())
                })
                .and_then(|deployed| deployed.get("client_secret"))
        {
            block["client_secret"] = secret.clone();
        }
        Some(block)
    }
}

// Shows neither the secret nor unknown members.
shows_only!(UaaClient { client_id, name });

/// The broker writes the secret for the adapter, which cannot do without it.
fn exposed<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
}

fn kept_secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SecretString, D::Error> {
    String::deserialize(deserializer).map(SecretString::from)
}
