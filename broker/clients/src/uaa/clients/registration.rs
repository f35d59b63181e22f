//! The registration of a client.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::text_id::text_ids;

text_ids! {
    /// Names a client of a UAA.
    ClientId = "client id";
}

/// The registration of a client without its secret, which a UAA does not return.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientRegistration {
    /// The client's id.
    pub client_id: ClientId,
    /// Its display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its scopes for users; `uaa.none` without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
    /// The audience of its tokens; a UAA keeps `none` in every case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_ids: Vec<String>,
    /// Its own authorities; `uaa.none` without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authorities: Vec<String>,
    /// How it may ask for tokens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authorized_grant_types: Vec<String>,
    /// Where browsers may be sent with a code or a token.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirect_uri: Vec<String>,
    /// Whether it may do without its secret (PKCE).
    #[serde(default, rename = "allowpublic", deserialize_with = "flag")]
    pub allow_public: bool,
    /// Everything else. A UAA keeps members that it does not know.
    #[serde(flatten)]
    pub additional: Map<String, Value>,
}

/// A client that is to be registered.
#[derive(Clone, Debug)]
pub struct NewClient {
    /// The registration.
    pub registration: ClientRegistration,
    /// Its secret; a client of the grant `implicit` has none.
    pub secret: Option<SecretString>,
}

impl NewClient {
    /// The body of the request, the secret included.
    pub(super) fn body(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Body<'a> {
            #[serde(flatten)]
            registration: &'a ClientRegistration,
            #[serde(skip_serializing_if = "Option::is_none")]
            client_secret: Option<&'a str>,
        }
        let body = Body {
            registration: &self.registration,
            client_secret: self.secret.as_ref().map(SecretString::expose_secret),
        };
        serde_json::to_vec(&body).expect("it is made of texts, lists and maps with text keys")
    }
}

/// A flag that some write as text.
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Bool(value) => value,
        Value::String(text) => text == "true",
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
    })
}
