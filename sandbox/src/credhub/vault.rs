//! All versions of all credentials.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use super::{
    credential::{Secret, Version},
    name::{CredentialName, rooted},
};
use crate::store::{Rows, Store, StoreError};

/// The versions by id, and the ids by name.
pub(super) struct Vault {
    versions: Rows<Uuid, Version>,
    /// Key of a name ⇒ its versions, the oldest first.
    names: BTreeMap<String, Vec<Uuid>>,
    last_sequence: u64,
}

pub(super) struct Found {
    pub(super) name: CredentialName,
    pub(super) created_at: Timestamp,
}

impl Vault {
    /// The versions as they were saved.
    pub(super) fn open(store: &Store, table: &'static str) -> Result<Self, StoreError> {
        let versions: Rows<Uuid, Version> = Rows::open(store, table)?;
        let mut by_age: Vec<(u64, Uuid, String)> = versions
            .iter()
            .map(|(id, version)| (version.sequence, *id, version.name.key()))
            .collect();
        by_age.sort_unstable();
        let last_sequence = by_age.last().map_or(0, |(sequence, ..)| *sequence);
        let mut names: BTreeMap<String, Vec<Uuid>> = BTreeMap::new();
        for (_, id, key) in by_age {
            names.entry(key).or_default().push(id);
        }
        Ok(Self {
            versions,
            names,
            last_sequence,
        })
    }

    pub(super) fn version(&self, id: Uuid) -> Option<&Version> {
        self.versions.get(&id)
    }

    /// All versions of a credential, the newest first.
    pub(super) fn all(&self, name: &CredentialName) -> Vec<(Uuid, &Version)> {
        let ids = self.names.get(&name.key()).map_or(&[][..], Vec::as_slice);
        ids.iter()
            .rev()
            .filter_map(|id| Some((*id, self.versions.get(id)?)))
            .collect()
    }

    pub(super) fn latest(&self, name: &CredentialName) -> Option<(Uuid, &Version)> {
        let id = *self.names.get(&name.key())?.last()?;
        Some((id, self.versions.get(&id)?))
    }

    /// The credentials whose names begin with this path.
    pub(super) fn below(&self, path: &str) -> Vec<Found> {
        let mut start = rooted(path).to_lowercase();
        if !start.ends_with('/') {
            start.push('/');
        }
        let range = self.names.range(start.clone()..);
        let within = range.take_while(|(key, _)| key.starts_with(&start));
        self.found(within.map(|(_, ids)| ids))
    }

    /// The credentials whose names hold this text.
    pub(super) fn containing(&self, text: &str) -> Vec<Found> {
        let text = text.to_lowercase();
        let holding = self.names.iter().filter(|(key, _)| key.contains(&text));
        self.found(holding.map(|(_, ids)| ids))
    }

    pub(super) fn add(
        &mut self,
        name: &CredentialName,
        secret: Secret,
        metadata: Option<Value>,
    ) -> (Uuid, Version) {
        self.last_sequence += 1;
        let first = self.latest(name);
        let version = Version {
            credential: first.map_or_else(Uuid::new_v4, |(_, version)| version.credential),
            name: first.map_or_else(|| name.clone(), |(_, version)| version.name.clone()),
            sequence: self.last_sequence,
            created_at: Timestamp::now(),
            metadata,
            secret,
        };
        let id = Uuid::new_v4();
        self.names.entry(name.key()).or_default().push(id);
        self.versions.insert(id, version.clone());
        self.versions.save();
        (id, version)
    }

    /// Removes a credential with all its versions. Returns whether there was one.
    pub(super) fn remove(&mut self, name: &CredentialName) -> bool {
        let Some(ids) = self.names.remove(&name.key()) else {
            return false;
        };
        for id in ids {
            self.versions.remove(&id);
        }
        self.versions.save();
        true
    }

    /// The newest first.
    fn found<'a>(&self, credentials: impl Iterator<Item = &'a Vec<Uuid>>) -> Vec<Found> {
        let latest = |ids: &Vec<Uuid>| self.versions.get(ids.last()?);
        let mut found: Vec<&Version> = credentials.filter_map(latest).collect();
        found.sort_unstable_by_key(|version| std::cmp::Reverse(version.sequence));
        found
            .into_iter()
            .map(|version| Found {
                name: version.name.clone(),
                created_at: version.created_at,
            })
            .collect()
    }
}
