//! All keys of a UAA: the one that signs, and those whose tokens are still good.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    signer::{FIRST_KEY, Signer, SignerError},
    verifier::VerifyingKey,
};
use crate::{
    store::{Rows, Store, StoreError},
    uaa::{
        TableNames,
        directory::{StoredSecret, now},
    },
};

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
    /// A private key in PEM form.
    secret: StoredSecret,
    number: u64,
}

pub(in crate::uaa) struct Key {
    signer: Signer,
    verifying: VerifyingKey,
}

impl KeyRing {
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
            let key = Key::made(uaa_url, FIRST_KEY)?;
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
        self.active().signer.sign(claims)
    }

    pub(in crate::uaa) fn active(&self) -> Arc<Key> {
        Arc::clone(&self.read().active)
    }

    pub(super) fn key(&self, id: &str) -> Option<Arc<Key>> {
        self.read().ready.get(id).cloned()
    }

    pub(in crate::uaa) fn all(&self) -> Vec<Arc<Key>> {
        self.read().ready.values().cloned().collect()
    }

    /// When the keys changed last, in milliseconds since 1970.
    pub(in crate::uaa) fn changed(&self) -> i64 {
        self.read().changed.get(&()).copied().unwrap_or_default()
    }

    /// Makes a new key, which signs from now on. Returns its id.
    pub(in crate::uaa) fn rotate(&self) -> Result<String, KeysError> {
        let number = 1 + self.last_number();
        let id = format!("key-{number}");
        let key = Key::made(&self.uaa_url, &id)?;
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        keys.saved.insert(id.clone(), key.to_be_saved(number));
        keys.active = Arc::new(key);
        let active = Arc::clone(&keys.active);
        keys.ready.insert(id.clone(), active);
        keys.note_change();
        Ok(id)
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
    fn made(uaa_url: &str, id: &str) -> Result<Self, KeysError> {
        let signer = Signer::generate_with_id(uaa_url, id.to_owned());
        Self::of(signer.map_err(KeysError::Signer)?)
    }

    fn kept(uaa_url: &str, id: &str, saved: &SavedKey) -> Result<Self, KeysError> {
        let signer = Signer::kept(uaa_url, id.to_owned(), saved.secret.handed_on());
        Self::of(signer.map_err(KeysError::Signer)?)
    }

    fn of(signer: Signer) -> Result<Self, KeysError> {
        let verifying =
            VerifyingKey::from_rsa_public_pem(signer.public_pem()).map_err(KeysError::Verifier)?;
        Ok(Self { signer, verifying })
    }

    fn to_be_saved(&self, number: u64) -> SavedKey {
        SavedKey {
            secret: self.signer.private_pem().clone().into(),
            number,
        }
    }

    pub(in crate::uaa) fn verifying(&self) -> &VerifyingKey {
        &self.verifying
    }

    pub(in crate::uaa) fn jwk(&self) -> Value {
        self.signer.jwk()
    }
}
