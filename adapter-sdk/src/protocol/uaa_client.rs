use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::UnknownKeys;
use crate::redaction::shows_only;

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
