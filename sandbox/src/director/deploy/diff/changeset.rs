//! Compares two documents. Equal parts are left out; a changed hash or named list item is shown with the lines above
//! the change.

use serde_json::{Map, Value, json};

use super::{
    lines::{Change, DiffLine},
    psych::yaml_lines,
};

/// A hash, and what of it is shown. Both have the same keys.
type Shown<'a> = (&'a Map<String, Value>, &'a Map<String, Value>);
/// An item of a list, and what of it is shown.
type Item<'a> = (&'a Value, &'a Value);

/// The lines in which two documents differ, each given with what of it is shown.
pub(super) fn compare(before: Shown<'_>, after: Shown<'_>) -> Vec<DiffLine> {
    hashes(before, after, 0)
}

fn hashes(before: Shown<'_>, after: Shown<'_>, depth: usize) -> Vec<DiffLine> {
    let mut lines = Vec::new();
    let added = after.0.keys().filter(|key| !before.0.contains_key(*key));
    for key in before.0.keys().chain(added) {
        let (old, new) = (value(before, key), value(after, key));
        match (old, new) {
            (None, None) => {}
            (Some((old, _)), Some((new, _))) if old == new => {}
            (None, Some((_, new))) => lines.extend(whole(key, new, depth, Change::Added)),
            (Some((_, old)), None) => lines.extend(whole(key, old, depth, Change::Removed)),
            (Some(old), Some(new)) => lines.extend(values(key, old, new, depth)),
        }
    }
    lines
}

/// A key's value, and what of it is shown; `null` is none.
fn value<'a>(hash: Shown<'a>, key: &str) -> Option<Item<'a>> {
    let of = |map: &'a Map<String, Value>| map.get(key).filter(|value| !value.is_null());
    Some((of(hash.0)?, of(hash.1)?))
}

fn values(key: &str, old: Item<'_>, new: Item<'_>, depth: usize) -> Vec<DiffLine> {
    let below = match (old, new) {
        (
            (Value::Array(old), Value::Array(old_shown)),
            (Value::Array(new), Value::Array(new_shown)),
        ) => lists((old, old_shown), (new, new_shown), depth),
        (
            (Value::Object(old), Value::Object(old_shown)),
            (Value::Object(new), Value::Object(new_shown)),
        ) => hashes((old, old_shown), (new, new_shown), depth + 1),
        ((_, old), (_, new)) => {
            let mut lines = whole(key, old, depth, Change::Removed);
            lines.extend(whole(key, new, depth, Change::Added));
            return lines;
        }
    };
    headed(DiffLine::new(depth, format!("{key}:"), Change::None), below)
}

fn lists(old: (&[Value], &[Value]), new: (&[Value], &[Value]), depth: usize) -> Vec<DiffLine> {
    let old: Vec<Item<'_>> = old.0.iter().zip(old.1).collect();
    let new: Vec<Item<'_>> = new.0.iter().zip(new.1).collect();
    let added: Vec<Item<'_>> = new
        .iter()
        .filter(|item| !old.contains(item))
        .copied()
        .collect();
    let mut removed: Vec<Item<'_>> = old
        .iter()
        .filter(|item| !new.contains(item))
        .copied()
        .collect();
    let known_by = known_by(added.iter().chain(&removed));
    let mut lines = Vec::new();
    for item in added {
        let namesake = known_by.and_then(|key| {
            let name = item.0.get(key);
            let location = removed
                .iter()
                .position(|(other, _)| other.get(key) == name)?;
            Some((key, removed.remove(location)))
        });
        match namesake {
            Some((key, previous)) => lines.extend(items(key, previous, item, depth)),
            None => lines.extend(yaml_lines(&json!([item.1]), depth, Change::Added)),
        }
    }
    if !removed.is_empty() {
        let removed: Vec<&Value> = removed.into_iter().map(|(_, shown)| shown).collect();
        lines.extend(yaml_lines(&json!(removed), depth, Change::Removed));
    }
    lines
}

fn known_by<'a>(mut items: impl Iterator<Item = &'a Item<'a>> + Clone) -> Option<&'static str> {
    let has = |key: &'static str| {
        move |item: &Item<'_>| {
            item.0
                .get(key)
                .is_some_and(|value| !value.is_null() && *value != Value::Bool(false))
        }
    };
    let mut again = items.clone();
    if items.all(has("name")) {
        Some("name")
    } else if again.all(has("range")) {
        Some("range")
    } else {
        None
    }
}

fn items(key: &str, previous: Item<'_>, item: Item<'_>, depth: usize) -> Vec<DiffLine> {
    let below = match (previous, item) {
        (
            (Value::Object(old), Value::Object(old_shown)),
            (Value::Object(new), Value::Object(new_shown)),
        ) => hashes((old, old_shown), (new, new_shown), depth + 1),
        _ => Vec::new(),
    };
    let mut head = Map::new();
    head.insert(key.to_owned(), item.1.get(key).cloned().unwrap_or_default());
    let head = yaml_lines(&json!([head]), depth, Change::None);
    match head.into_iter().next() {
        Some(head) => headed(head, below),
        None => below,
    }
}

fn whole(key: &str, value: &Value, depth: usize, change: Change) -> Vec<DiffLine> {
    let mut hash = Map::new();
    hash.insert(key.to_owned(), value.clone());
    yaml_lines(&Value::Object(hash), depth, change)
}

/// Lines below the heading line, if there are any.
fn headed(head: DiffLine, mut below: Vec<DiffLine>) -> Vec<DiffLine> {
    if !below.is_empty() {
        below.insert(0, head);
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(before: &Value, after: &Value) -> Vec<String> {
        let (before, after) = (before.as_object().unwrap(), after.as_object().unwrap());
        compare((before, before), (after, after))
            .iter()
            .map(|line| line.view().to_string())
            .collect()
    }

    #[test]
    fn a_changed_property_is_shown_with_its_way_down() {
        let manifest = |port: u16| {
            json!({
                "name": "d",
                "instance_groups": [
                    {"name": "srv", "azs": ["z1"], "jobs": [{"name": "tiny", "properties": {"port": port}}]},
                    {"name": "other"},
                ],
            })
        };
        assert_eq!(
            diff(&manifest(5000), &manifest(5001)),
            [
                r#"["instance_groups:",null]"#,
                r#"["- name: srv",null]"#,
                r#"["  jobs:",null]"#,
                r#"["  - name: tiny",null]"#,
                r#"["    properties:",null]"#,
                r#"["      port: 5000","removed"]"#,
                r#"["      port: 5001","added"]"#,
            ]
        );
        assert!(diff(&manifest(1), &manifest(1)).is_empty());
    }

    #[test]
    fn items_without_names_are_added_and_removed_whole() {
        assert_eq!(
            diff(
                &json!({"azs": ["z1", "z2"]}),
                &json!({"azs": ["z2", "z3"], "x": {"list": []}})
            ),
            [
                r#"["azs:",null]"#,
                r#"["- z3","added"]"#,
                r#"["- z1","removed"]"#,
                r#"["x:","added"]"#,
                r#"["  list: []","added"]"#,
            ]
        );
    }
}
