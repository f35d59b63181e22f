//! Secrets as a UAA keeps them.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use subtle::ConstantTimeEq;

/// The secret of a client, the password of a user, or the private part of a key.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(transparent)]
pub(in crate::uaa) struct StoredSecret(#[serde(serialize_with = "for_the_store")] SecretString);

impl StoredSecret {
    /// Whether this is the secret. Takes the same time for every wrong one of the same length.
    pub(in crate::uaa) fn is(&self, given: &str) -> bool {
        let kept = self.0.expose_secret().as_bytes();
        kept.ct_eq(given.as_bytes()).into()
    }

    /// The secret in the open.
    pub(in crate::uaa) fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// The secret, to be handed on.
    pub(in crate::uaa) fn handed_on(&self) -> SecretString {
        self.0.clone()
    }
}

impl From<SecretString> for StoredSecret {
    fn from(secret: SecretString) -> Self {
        Self(secret)
    }
}

/// The store's folder and file are for the owner alone, and a sandbox that starts again must know its secrets.
fn for_the_store<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
}
