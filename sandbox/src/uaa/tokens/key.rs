//! The key of a UAA.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    signer::{FIRST_KEY, Signer, SignerError},
    verifier::VerifyingKey,
};
use crate::{
    store::{Rows, Store, StoreError},
    uaa::directory::StoredSecret,
};

/// Why the key of a UAA is of no use.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    #[error("could not read the saved keys")]
    Saved(#[source] StoreError),
    #[error("could not make or read a signing key")]
    Signer(#[source] SignerError),
    #[error("could not use a key to check tokens")]
    Verifier(#[source] super::InvalidKey),
}

#[derive(Serialize, Deserialize)]
struct SavedKey {
    /// A private key in PEM form.
    secret: StoredSecret,
}

pub(in crate::uaa) struct Key {
    signer: Signer,
    verifying: VerifyingKey,
}

impl Key {
    /// The saved key, or a new one.
    pub(in crate::uaa) fn open(
        store: &Store,
        table: &'static str,
        uaa_url: &str,
    ) -> Result<Self, KeysError> {
        let mut saved: Rows<String, SavedKey> =
            Rows::open(store, table).map_err(KeysError::Saved)?;
        let signer = match saved.get(FIRST_KEY) {
            Some(row) => Signer::kept(uaa_url, FIRST_KEY.to_owned(), row.secret.handed_on()),
            None => Signer::generate(uaa_url),
        };
        let signer = signer.map_err(KeysError::Signer)?;
        if saved.is_empty() {
            let secret = signer.private_pem().clone().into();
            saved.insert(FIRST_KEY.to_owned(), SavedKey { secret });
            saved.save();
        }
        let verifying =
            VerifyingKey::from_rsa_public_pem(signer.public_pem()).map_err(KeysError::Verifier)?;
        Ok(Self { signer, verifying })
    }

    pub(in crate::uaa) fn sign(&self, claims: &impl Serialize) -> Result<String, SignerError> {
        self.signer.sign(claims)
    }

    pub(in crate::uaa) fn verifying(&self) -> &VerifyingKey {
        &self.verifying
    }

    pub(in crate::uaa) fn jwk(&self) -> Value {
        self.signer.jwk()
    }
}
