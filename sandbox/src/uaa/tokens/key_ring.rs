//! All keys of a UAA: the one that signs, and those whose tokens are still good.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
};

use rand::{RngExt, distr::Alphanumeric};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    signer::{FIRST_KEY, SharedSecret, Signer, SignerError},
    verifier::VerifyingKey,
};
use crate::{
    store::{Rows, Store, StoreError},
    uaa::{
        TableNames,
        directory::{StoredSecret, now},
    },
};

const SHARED_SECRET_LENGTH: usize = 48;

/// How tokens are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SigningAlgorithm {
    /// With a private key; the public key is public.
    Rs256,
    /// With a secret, which only clients with the authority `uaa.resource` get to see.
    Hs256,
}

/// Why a key cannot be withdrawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RevokeKeyError {
    #[error("there is no key `{0}`")]
    Unknown(String),
    #[error("`{0}` is the key that signs")]
    Active(String),
}

/// Why the keys of a UAA are of no use.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    #[error("could not read the saved keys")]
    Saved(#[source] StoreError),
    #[error("could not make or read a signing key")]
    Signer(#[source] SignerError),
    #[error("could not use a key to check tokens")]
    Verifier(#[source] super::InvalidKey),
}

pub(in crate::uaa) struct KeyRing {
    uaa_url: String,
    keys: RwLock<Keys>,
}

struct Keys {
    saved: Rows<String, SavedKey>,
    /// When the keys changed last, in milliseconds since 1970.
    changed: Rows<(), i64>,
    ready: BTreeMap<String, Arc<Key>>,
    active: Arc<Key>,
}

#[derive(Serialize, Deserialize)]
struct SavedKey {
    algorithm: SigningAlgorithm,
    /// A private key in PEM form, or the shared secret.
    secret: StoredSecret,
    number: u64,
}

pub(in crate::uaa) struct Key {
    signing: SigningKey,
    verifying: VerifyingKey,
}

enum SigningKey {
    Rsa(Box<Signer>),
    Shared(SharedSecret),
}

impl KeyRing {
    /// The keys that were saved, or a new one.
    pub(in crate::uaa) fn open(
        store: &Store,
        tables: &TableNames,
        uaa_url: &str,
    ) -> Result<Self, KeysError> {
        let mut saved: Rows<String, SavedKey> =
            Rows::open(store, tables.keys).map_err(KeysError::Saved)?;
        let mut changed = Rows::open(store, tables.keys_changed).map_err(KeysError::Saved)?;
        let mut ready = BTreeMap::new();
        let mut newest = None;
        for (id, row) in saved.iter() {
            let key = Arc::new(Key::kept(uaa_url, id, row)?);
            ready.insert(id.clone(), Arc::clone(&key));
            newest = newest
                .filter(|(number, _)| *number > row.number)
                .or(Some((row.number, key)));
        }
        let active = if let Some((_, key)) = newest {
            key
        } else {
            let key = Key::made(uaa_url, FIRST_KEY, SigningAlgorithm::Rs256)?;
            saved.insert(FIRST_KEY.to_owned(), key.to_be_saved(1));
            saved.save();
            changed.insert((), now());
            changed.save();
            let key = Arc::new(key);
            ready.insert(FIRST_KEY.to_owned(), Arc::clone(&key));
            key
        };
        Ok(Self {
            uaa_url: uaa_url.to_owned(),
            keys: RwLock::new(Keys {
                saved,
                changed,
                ready,
                active,
            }),
        })
    }

    pub(in crate::uaa) fn sign(&self, claims: &impl Serialize) -> Result<String, SignerError> {
        let key = Arc::clone(&self.read().active);
        match &key.signing {
            SigningKey::Rsa(signer) => signer.sign(claims),
            SigningKey::Shared(secret) => secret.sign(claims),
        }
    }

    pub(in crate::uaa) fn active(&self) -> Arc<Key> {
        Arc::clone(&self.read().active)
    }

    pub(super) fn key(&self, id: &str) -> Option<Arc<Key>> {
        self.read().ready.get(id).cloned()
    }

    /// All keys.
    pub(in crate::uaa) fn all(&self) -> Vec<Arc<Key>> {
        self.read().ready.values().cloned().collect()
    }

    /// When the keys changed last, in milliseconds since 1970.
    pub(in crate::uaa) fn changed(&self) -> i64 {
        self.read().changed.get(&()).copied().unwrap_or_default()
    }

    /// Makes a new key, which signs from now on. Returns its id.
    pub(in crate::uaa) fn rotate(&self, algorithm: SigningAlgorithm) -> Result<String, KeysError> {
        let number = 1 + self.last_number();
        let id = format!("key-{number}");
        let key = Key::made(&self.uaa_url, &id, algorithm)?;
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        keys.saved.insert(id.clone(), key.to_be_saved(number));
        keys.active = Arc::new(key);
        let active = Arc::clone(&keys.active);
        keys.ready.insert(id.clone(), active);
        keys.note_change();
        Ok(id)
    }

    /// Forgets a key: its tokens are good no more.
    pub(in crate::uaa) fn revoke(&self, id: &str) -> Result<(), RevokeKeyError> {
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        let id = id.to_owned();
        let Some(key) = keys.ready.get(&id) else {
            return Err(RevokeKeyError::Unknown(id));
        };
        if Arc::ptr_eq(key, &keys.active) {
            return Err(RevokeKeyError::Active(id));
        }
        keys.ready.remove(&id);
        keys.saved.remove(&id);
        keys.note_change();
        Ok(())
    }

    fn last_number(&self) -> u64 {
        let keys = self.read();
        keys.saved
            .values()
            .map(|key| key.number)
            .max()
            .unwrap_or_default()
    }

    fn read(&self) -> RwLockReadGuard<'_, Keys> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keys {
    fn note_change(&mut self) {
        // Later than the last time even when the clock has not moved: the number is also an ETag.
        let last = self.changed.get(&()).copied().unwrap_or_default();
        self.changed.insert((), now().max(last + 1));
        self.saved.save();
        self.changed.save();
    }
}

impl Key {
    fn made(uaa_url: &str, id: &str, algorithm: SigningAlgorithm) -> Result<Self, KeysError> {
        match algorithm {
            SigningAlgorithm::Rs256 => {
                let signer = Signer::generate_with_id(uaa_url, id.to_owned());
                Self::rsa(signer.map_err(KeysError::Signer)?)
            }
            SigningAlgorithm::Hs256 => Ok(Self::shared(uaa_url, id, shared_secret())),
        }
    }

    fn kept(uaa_url: &str, id: &str, saved: &SavedKey) -> Result<Self, KeysError> {
        let secret = saved.secret.handed_on();
        match saved.algorithm {
            SigningAlgorithm::Rs256 => {
                let signer = Signer::kept(uaa_url, id.to_owned(), secret);
                Self::rsa(signer.map_err(KeysError::Signer)?)
            }
            SigningAlgorithm::Hs256 => Ok(Self::shared(uaa_url, id, secret)),
        }
    }

    fn rsa(signer: Signer) -> Result<Self, KeysError> {
        let verifying =
            VerifyingKey::from_rsa_public_pem(signer.public_pem()).map_err(KeysError::Verifier)?;
        Ok(Self {
            signing: SigningKey::Rsa(Box::new(signer)),
            verifying,
        })
    }

    fn shared(uaa_url: &str, id: &str, secret: SecretString) -> Self {
        Self {
            verifying: VerifyingKey::from_shared_secret(secret.expose_secret()),
            signing: SigningKey::Shared(SharedSecret::new(uaa_url, id.to_owned(), secret)),
        }
    }

    fn to_be_saved(&self, number: u64) -> SavedKey {
        let (algorithm, secret) = match &self.signing {
            SigningKey::Rsa(signer) => (SigningAlgorithm::Rs256, signer.private_pem().clone()),
            SigningKey::Shared(shared) => (SigningAlgorithm::Hs256, shared.secret().clone()),
        };
        SavedKey {
            algorithm,
            secret: secret.into(),
            number,
        }
    }

    pub(in crate::uaa) fn verifying(&self) -> &VerifyingKey {
        &self.verifying
    }

    /// Whether the key is a secret, which is not public.
    pub(in crate::uaa) fn is_secret(&self) -> bool {
        matches!(self.signing, SigningKey::Shared(_))
    }

    pub(in crate::uaa) fn jwk(&self) -> Value {
        match &self.signing {
            SigningKey::Rsa(signer) => signer.jwk(),
            SigningKey::Shared(secret) => secret.jwk(),
        }
    }
}

fn shared_secret() -> SecretString {
    let letters = rand::rng()
        .sample_iter(Alphanumeric)
        .take(SHARED_SECRET_LENGTH);
    letters.map(char::from).collect::<String>().into()
}
