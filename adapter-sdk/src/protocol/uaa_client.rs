use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The UAA client of a service instance; lists are comma-separated
/// (`spec/contracts/adapter-protocol.md`, "UAA client, VMs, DNS addresses").
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct UaaClient {
    /// Id of the client, which is the id of the service instance.
    pub client_id: String,
    /// Secret of the client; empty unless the client is new, as UAA does not give secrets back.
    #[serde(serialize_with = "exposed", deserialize_with = "kept_secret")]
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
}

/// The broker writes the secret for the adapter, which cannot do without it.
fn exposed<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
}

fn kept_secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SecretString, D::Error> {
    String::deserialize(deserializer).map(SecretString::from)
}
