//! Tables that are also looked up by what their rows belong to.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
};

use serde::{Serialize, de::DeserializeOwned};

use crate::store::{Rows, Store, StoreError};

/// A row that is found by more than its guid.
pub(crate) trait Keyed {
    type Key: Ord + Clone;

    /// All that this row is found by.
    fn keys(&self) -> Vec<Self::Key>;
}

/// A table with an index. Reading by guid is by dereference to the map.
pub(crate) struct Indexed<K, V: Keyed> {
    rows: Rows<K, V>,
    index: BTreeMap<V::Key, BTreeSet<K>>,
    /// Rows that are being changed. They are not in the index until the change ends.
    loose: BTreeSet<K>,
}

impl<K, V> Indexed<K, V>
where
    K: Ord + Clone + Serialize + DeserializeOwned,
    V: Keyed + Serialize + DeserializeOwned,
{
    pub(crate) fn open(store: &Store, table: &'static str) -> Result<Self, StoreError> {
        let mut opened = Self {
            rows: Rows::open(store, table)?,
            index: BTreeMap::new(),
            loose: BTreeSet::new(),
        };
        let keys = opened
            .rows
            .iter()
            .map(|(guid, row)| (guid.clone(), row.keys()));
        for (guid, keys) in keys.collect::<Vec<_>>() {
            opened.enter(&guid, keys);
        }
        Ok(opened)
    }

    pub(crate) fn with(&self, key: V::Key) -> impl Iterator<Item = &V> {
        let settled = self.index.get(&key).into_iter().flatten();
        let settled = settled.filter_map(|guid| self.rows.get(guid));
        let loose = self.loose.iter().filter_map(|guid| self.rows.get(guid));
        settled.chain(loose.filter(move |row| row.keys().contains(&key)))
    }

    /// Whether any row is found by this key.
    pub(crate) fn has(&self, key: V::Key) -> bool {
        self.with(key).next().is_some()
    }

    /// The guids of the rows that are found by this key.
    pub(crate) fn guids_with(&self, key: &V::Key) -> Vec<K> {
        let settled = self.index.get(key).into_iter().flatten();
        let is_found = |guid: &&K| {
            self.rows
                .get(guid)
                .is_some_and(|row| row.keys().contains(key))
        };
        settled
            .chain(self.loose.iter().filter(is_found))
            .cloned()
            .collect()
    }

    pub(crate) fn remove_with(&mut self, key: &V::Key) {
        for guid in self.guids_with(key) {
            self.remove(&guid);
        }
    }

    /// The guids of the rows whose keys are not above this one.
    pub(crate) fn up_to(&self, key: &V::Key) -> Vec<K> {
        let found = self.index.range(..=key.clone());
        found.flat_map(|(_, guids)| guids.iter().cloned()).collect()
    }

    pub(crate) fn insert(&mut self, guid: K, row: V) -> Option<V> {
        let before = self.remove(&guid);
        self.enter(&guid, row.keys());
        self.rows.insert(guid, row);
        before
    }

    /// A row, to be changed.
    pub(crate) fn get_mut(&mut self, guid: &K) -> Option<&mut V> {
        if !self.loose.contains(guid) {
            let keys = self.rows.get(guid)?.keys();
            self.leave(guid, keys);
            self.loose.insert(guid.clone());
        }
        self.rows.get_mut(guid)
    }

    pub(crate) fn remove(&mut self, guid: &K) -> Option<V> {
        let row = self.rows.remove(guid)?;
        if !self.loose.remove(guid) {
            self.leave(guid, row.keys());
        }
        Some(row)
    }

    /// Ends a change: what was given out goes back into the index, what changed is saved.
    pub(crate) fn save(&mut self) {
        for guid in std::mem::take(&mut self.loose) {
            if let Some(keys) = self.rows.get(&guid).map(Keyed::keys) {
                self.enter(&guid, keys);
            }
        }
        self.rows.save();
    }

    fn enter(&mut self, guid: &K, keys: Vec<V::Key>) {
        for key in keys {
            self.index.entry(key).or_default().insert(guid.clone());
        }
    }

    fn leave(&mut self, guid: &K, keys: Vec<V::Key>) {
        for key in keys {
            if let Some(guids) = self.index.get_mut(&key) {
                guids.remove(guid);
                if guids.is_empty() {
                    self.index.remove(&key);
                }
            }
        }
    }
}

impl<K, V: Keyed> Deref for Indexed<K, V>
where
    K: Ord + Clone + Serialize + DeserializeOwned,
    V: Serialize + DeserializeOwned,
{
    type Target = BTreeMap<K, V>;

    fn deref(&self) -> &Self::Target {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Word(String);

    impl Keyed for Word {
        type Key = usize;

        fn keys(&self) -> Vec<usize> {
            vec![self.0.len()]
        }
    }

    fn found(words: &Indexed<u8, Word>, length: usize) -> Vec<&str> {
        words.with(length).map(|word| word.0.as_str()).collect()
    }

    #[test]
    fn a_row_is_found_by_what_it_is_while_and_after_it_changes() {
        let mut words = Indexed::open(&Store::in_memory(), "words").unwrap();
        words.insert(1, Word("one".to_owned()));
        words.insert(2, Word("two".to_owned()));

        words.get_mut(&1).unwrap().0.push_str("self");

        let during = (found(&words, 3), found(&words, 7));
        assert_eq!(during, (vec!["two"], vec!["oneself"]));
        words.save();
        assert_eq!(
            (found(&words, 3), found(&words, 7)),
            (vec!["two"], vec!["oneself"])
        );
        words.insert(2, Word("three".to_owned()));
        words.remove(&1);
        assert_eq!((found(&words, 5), words.has(3)), (vec!["three"], false));
        assert_eq!(words.up_to(&5), [2]);
    }

    #[test]
    fn a_table_that_is_read_again_is_indexed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let mut words = Indexed::open(&store, "words").unwrap();
        words.insert(1, Word("one".to_owned()));
        words.save();
        store.close();

        let store = Store::open(folder.path()).unwrap();

        let words: Indexed<u8, Word> = Indexed::open(&store, "words").unwrap();
        assert_eq!(found(&words, 3), ["one"]);
    }
}
