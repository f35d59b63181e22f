//! Changes of a client's secrets. It has two at most, so that they can be rotated without an outage.

use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use super::ClientId;

/// A change of the secrets of a client (`spec/contracts/platform-apis.md` §1.5).
#[derive(Clone, Debug)]
pub enum SecretChange {
    /// Another secret beside the one there is.
    Add(SecretString),
    /// One secret that replaces all others.
    Replace(SecretString),
    /// Deletes the older one of two.
    DeleteOlder,
}

impl SecretChange {
    /// The body of the request, the secret included.
    pub(super) fn body(&self, id: &ClientId) -> Vec<u8> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Body<'a> {
            client_id: &'a ClientId,
            #[serde(skip_serializing_if = "Option::is_none")]
            secret: Option<&'a str>,
            change_mode: &'static str,
        }
        let (secret, change_mode) = match self {
            Self::Add(secret) => (Some(secret.expose_secret()), "ADD"),
            Self::Replace(secret) => (Some(secret.expose_secret()), "UPDATE"),
            Self::DeleteOlder => (None, "DELETE"),
        };
        let body = Body {
            client_id: id,
            secret,
            change_mode,
        };
        serde_json::to_vec(&body).expect("it is made of texts")
    }
}
