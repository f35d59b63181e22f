//! A table of a component.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
};

use serde::{Serialize, de::DeserializeOwned};

use super::{Store, StoreError};

/// A map that knows which of its rows changed and saves them. Reading is by dereference to the map. A single value is a
/// table with one row, keyed `()`.
///
/// Rows of a store in memory are a map and nothing more.
pub struct Rows<K, V> {
    all: BTreeMap<K, V>,
    changed: BTreeSet<K>,
    store: Store,
    table: &'static str,
}

impl<K, V> Rows<K, V>
where
    K: Ord + Clone + Serialize + DeserializeOwned,
    V: Serialize + DeserializeOwned,
{
    /// The rows of this table, as they were saved last. A table is opened once.
    pub fn open(store: &Store, table: &'static str) -> Result<Self, StoreError> {
        let mut rows = BTreeMap::new();
        for (key, value) in store.take_saved(table) {
            let unreadable = |source| StoreError::Row {
                table,
                key: String::from_utf8_lossy(&key).into_owned(),
                source,
            };
            rows.insert(
                serde_json::from_slice(&key).map_err(unreadable)?,
                serde_json::from_slice(&value).map_err(unreadable)?,
            );
        }
        Ok(Self {
            all: rows,
            changed: BTreeSet::new(),
            store: store.clone(),
            table,
        })
    }

    /// No rows, and nowhere to save them.
    pub fn in_memory() -> Self {
        Self {
            all: BTreeMap::new(),
            changed: BTreeSet::new(),
            store: Store::in_memory(),
            table: "",
        }
    }

    /// Adds or replaces a row. Returns the one that was there.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.mark(&key);
        self.all.insert(key, value)
    }

    /// A row, to be changed.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        if self.all.contains_key(key) {
            self.mark(key);
        }
        self.all.get_mut(key)
    }

    /// A row, to be changed; a new one when there is none.
    pub fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        self.mark(&key);
        self.all.entry(key).or_insert_with(make)
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        let removed = self.all.remove(key);
        if removed.is_some() {
            self.mark(key);
        }
        removed
    }

    /// Keeps only the rows of which this is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &V) -> bool) {
        let is_kept = self.store.is_kept();
        let changed = &mut self.changed;
        self.all.retain(|key, value| {
            let kept = keep(key, value);
            if !kept && is_kept {
                changed.insert(key.clone());
            }
            kept
        });
    }

    /// Has the rows written that changed since the last call. Does not wait for that.
    pub fn save(&mut self) {
        let Some(writer) = self.store.writer() else {
            return;
        };
        for key in std::mem::take(&mut self.changed) {
            let row = self.all.get(&key).map(serde_json::to_vec).transpose();
            match serde_json::to_vec(&key).and_then(|key| Ok((key, row?))) {
                Ok((key, row)) => writer.put(self.table, key, row),
                Err(error) => {
                    tracing::error!(%error, table = self.table, "a row cannot be saved");
                }
            }
        }
    }

    fn mark(&mut self, key: &K) {
        if self.store.is_kept() {
            self.changed.insert(key.clone());
        }
    }
}

impl<K, V> Deref for Rows<K, V> {
    type Target = BTreeMap<K, V>;

    fn deref(&self) -> &Self::Target {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn opened(folder: &std::path::Path) -> (Store, Rows<u8, String>) {
        let store = Store::open(folder).unwrap();
        let rows = Rows::open(&store, "words").unwrap();
        (store, rows)
    }

    #[derive(Clone, Debug)]
    enum Change {
        Insert(u8, String),
        Append(u8, String),
        Remove(u8),
        KeepBelow(u8),
        Save,
        Reopen,
    }

    fn changes() -> impl Strategy<Value = Vec<Change>> {
        let (key, word) = (0_u8..6, "[a-z]{0,3}");
        proptest::collection::vec(
            prop_oneof![
                4 => (key.clone(), word).prop_map(|(key, word)| Change::Insert(key, word)),
                3 => (key.clone(), word).prop_map(|(key, word)| Change::Append(key, word)),
                2 => key.clone().prop_map(Change::Remove),
                1 => key.prop_map(Change::KeepBelow),
                2 => Just(Change::Save),
                1 => Just(Change::Reopen),
            ],
            0..30,
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn a_table_is_read_as_it_was_saved(changes in changes()) {
            let folder = tempfile::tempdir().unwrap();
            let (mut store, mut rows) = opened(folder.path());
            let mut model = BTreeMap::new();
            for change in changes {
                match change {
                    Change::Insert(key, word) => {
                        prop_assert_eq!(rows.insert(key, word.clone()), model.insert(key, word));
                    }
                    Change::Append(key, word) => {
                        rows.get_or_insert_with(key, String::new).push_str(&word);
                        model.entry(key).or_default().push_str(&word);
                    }
                    Change::Remove(key) => prop_assert_eq!(rows.remove(&key), model.remove(&key)),
                    Change::KeepBelow(limit) => {
                        rows.retain(|key, _| *key < limit);
                        model.retain(|key, _| *key < limit);
                    }
                    Change::Save => rows.save(),
                    Change::Reopen => {
                        rows.save();
                        store.close();
                        (store, rows) = opened(folder.path());
                    }
                }
                prop_assert_eq!(&*rows, &model);
            }
        }
    }

    #[test]
    fn what_is_saved_together_is_in_the_state_together() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let mut counter: Rows<(), u64> = Rows::open(&store, "counter").unwrap();
        let mut words: Rows<String, u64> = Rows::open(&store, "words").unwrap();
        store.together(|| {
            counter.insert((), 1);
            counter.save();
            words.insert("one".to_owned(), 1);
            words.save();
        });
        // Dropped, not closed: as when the owner forgets.
        drop((counter, words, store));

        let store = Store::open(folder.path()).unwrap();
        let counter: Rows<(), u64> = Rows::open(&store, "counter").unwrap();
        let words: Rows<String, u64> = Rows::open(&store, "words").unwrap();
        assert_eq!((counter.get(&()), words.get("one")), (Some(&1), Some(&1)));
    }

    #[test]
    fn rows_of_another_kind_are_refused_by_table_and_key() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let mut words: Rows<String, String> = Rows::open(&store, "words").unwrap();
        words.insert("one".to_owned(), "not a number".to_owned());
        words.save();
        store.close();

        let store = Store::open(folder.path()).unwrap();
        let refused = Rows::<String, u64>::open(&store, "words").err().unwrap();

        let text = refused.to_string();
        assert!(text.contains("words") && text.contains("one"), "{text}");
    }

    #[test]
    fn a_state_that_is_in_use_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let _mine = Store::open(folder.path()).unwrap();

        let refused = Store::open(folder.path()).err();

        assert!(
            matches!(refused, Some(StoreError::InUse { .. })),
            "{refused:?}"
        );
    }
}
