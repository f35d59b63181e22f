//! Compares two documents, location by location.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::path::{Path, Shown};

/// A location at which two documents differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) path: Path,
    pub(super) change: Change,
}

/// How they differ there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Added(Shown),
    Removed(Shown),
    Changed { from: Shown, to: Shown },
}

/// The differences between two values at a path.
pub(super) fn compare(
    path: &Path,
    before: Option<&Value>,
    after: Option<&Value>,
) -> Vec<Difference> {
    let mut found = Comparison(Vec::new());
    found.compare(path, before, after);
    found.0
}

struct Comparison(Vec<Difference>);

impl Comparison {
    fn compare(&mut self, path: &Path, before: Option<&Value>, after: Option<&Value>) {
        match (before, after) {
            (None, None) => {}
            (Some(before), Some(after)) if before == after => {}
            (Some(Value::Object(before)), Some(Value::Object(after))) => {
                self.compare_maps(path, before, after);
            }
            (Some(Value::Array(before)), Some(Value::Array(after))) => {
                self.compare_lists(path, before, after);
            }
            (Some(before), Some(after)) => {
                self.note_change(path, path.show(before), path.show(after));
            }
            (Some(before), None) => self.note(path, Change::Removed(path.show(before))),
            (None, Some(after)) => self.note(path, Change::Added(path.show(after))),
        }
    }

    fn compare_maps(
        &mut self,
        path: &Path,
        before: &Map<String, Value>,
        after: &Map<String, Value>,
    ) {
        let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for (number, key) in keys.into_iter().enumerate() {
            let location = path.member(key, number);
            self.compare(&location, before.get(key), after.get(key));
        }
    }

    /// Members with names are compared by name, others by index. The order of named members counts, too.
    fn compare_lists(&mut self, path: &Path, before: &[Value], after: &[Value]) {
        if let (Some(named_before), Some(named_after)) = (by_name(before), by_name(after)) {
            let names: BTreeSet<&str> = named_before
                .keys()
                .chain(named_after.keys())
                .copied()
                .collect();
            for (number, wanted) in names.into_iter().enumerate() {
                let (before, after) = (named_before.get(wanted), named_after.get(wanted));
                // A name is a value, too.
                let both = before.into_iter().chain(after);
                let location = if both.copied().all(|item| shows_name(path, item)) {
                    path.item(wanted)
                } else {
                    path.item(&number.to_string())
                };
                self.compare(&location, before.copied(), after.copied());
            }
            if named_before.len() == named_after.len()
                && named_before.keys().eq(named_after.keys())
                && order(before) != order(after)
            {
                self.note_change(path, shown_order(path, before), shown_order(path, after));
            }
            return;
        }
        for index in 0..before.len().max(after.len()) {
            let location = path.item(&index.to_string());
            self.compare(&location, before.get(index), after.get(index));
        }
    }

    /// A change that looks equal after masking would read as no change.
    fn note_change(&mut self, path: &Path, from: Shown, to: Shown) {
        let change = if from == to {
            Change::Changed {
                from: Shown::Masked,
                to: Shown::Masked,
            }
        } else {
            Change::Changed { from, to }
        };
        self.note(path, change);
    }

    fn note(&mut self, path: &Path, change: Change) {
        self.0.push(Difference {
            path: path.clone(),
            change,
        });
    }
}

/// The members by their names, if all have one of their own.
pub(super) fn by_name(list: &[Value]) -> Option<BTreeMap<&str, &Value>> {
    let named: BTreeMap<&str, &Value> = list
        .iter()
        .map(|item| Some((name(item)?, item)))
        .collect::<Option<_>>()?;
    (named.len() == list.len()).then_some(named)
}

fn order(list: &[Value]) -> Vec<&str> {
    list.iter().filter_map(name).collect()
}

fn shown_order(path: &Path, list: &[Value]) -> Shown {
    if list.iter().all(|item| shows_name(path, item)) {
        Shown::Value(Value::String(order(list).join(", ")))
    } else {
        Shown::Masked
    }
}

fn shows_name(path: &Path, item: &Value) -> bool {
    named(item).is_some_and(|(key, name)| path.shows_name(key, name))
}

fn name(item: &Value) -> Option<&str> {
    named(item).map(|(_, name)| name)
}

/// The name of a list's member, and the key that holds it.
fn named(item: &Value) -> Option<(&'static str, &str)> {
    let (key, name) = ["name", "alias"]
        .into_iter()
        .find_map(|key| Some((key, item.get(key)?)))?;
    Some((key, name.as_str()?))
}
