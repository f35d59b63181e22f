use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use super::location::{Location, name_of};

/// A location at which two documents differ. Its output omits values unless they are harmless.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Difference {
    pub(super) location: Location,
    pub(super) change: Change,
}

/// How they differ there.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Change {
    Added(Value),
    Removed(Value),
    Changed(Value, Value),
    /// The same members in another order.
    Reordered,
}

/// The differences between two manifests. Update blocks are excluded because the broker does not compare them
/// (`spec/contracts/adapter-protocol.md`, "What an author must do", rules 4 and 9).
pub(crate) fn manifest_differences(before: &Value, after: &Value) -> Vec<Difference> {
    differences(
        &without_update_blocks(before),
        &without_update_blocks(after),
    )
}

/// Where two documents differ.
pub(super) fn differences(before: &Value, after: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(&Location::default(), before, after, &mut found);
    found
}

fn without_update_blocks(manifest: &Value) -> Value {
    let mut manifest = manifest.clone();
    let remove = |value: &mut Value| {
        if let Some(members) = value.as_object_mut() {
            members.shift_remove("update");
        }
    };
    remove(&mut manifest);
    if let Some(groups) = manifest
        .get_mut("instance_groups")
        .and_then(Value::as_array_mut)
    {
        groups.iter_mut().for_each(remove);
    }
    manifest
}

fn compare(location: &Location, before: &Value, after: &Value, found: &mut Vec<Difference>) {
    let mut note = |location: Location, change| found.push(Difference { location, change });
    match (before, after) {
        (before, after) if before == after => {}
        (Value::Object(before), Value::Object(after)) => {
            for key in keys(before, after) {
                let location = location.member(key);
                match (before.get(key), after.get(key)) {
                    (Some(before), Some(after)) => compare(&location, before, after, found),
                    (Some(before), None) => {
                        found.push(Difference {
                            location,
                            change: Change::Removed(before.clone()),
                        });
                    }
                    (None, Some(after)) => {
                        found.push(Difference {
                            location,
                            change: Change::Added(after.clone()),
                        });
                    }
                    (None, None) => {}
                }
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            compare_lists(location, before, after, found);
        }
        (before, after) => note(
            location.clone(),
            Change::Changed(before.clone(), after.clone()),
        ),
    }
}

/// Members that all have names of their own are compared by name, others by number.
fn compare_lists(
    location: &Location,
    before: &[Value],
    after: &[Value],
    found: &mut Vec<Difference>,
) {
    let (names_before, names_after) = (names(before), names(after));
    let labels: Vec<String> = match (&names_before, &names_after) {
        (Some(before), Some(after)) => {
            let new = after.iter().filter(|name| !before.contains(name));
            before
                .iter()
                .chain(new)
                .map(|name| (*name).to_owned())
                .collect()
        }
        _ => (0..before.len().max(after.len()))
            .map(|nth| nth.to_string())
            .collect(),
    };
    let by_name = names_before.is_some() && names_after.is_some();
    let of = |list: &'_ [Value], label: &str| -> Option<Value> {
        let item = if by_name {
            list.iter().find(|item| name_of(item) == Some(label))
        } else {
            label.parse::<usize>().ok().and_then(|nth| list.get(nth))
        };
        item.cloned()
    };
    for label in labels {
        let location = location.item(&label);
        match (of(before, &label), of(after, &label)) {
            (Some(before), Some(after)) => compare(&location, &before, &after, found),
            (Some(before), None) => found.push(Difference {
                location,
                change: Change::Removed(before),
            }),
            (None, Some(after)) => found.push(Difference {
                location,
                change: Change::Added(after),
            }),
            (None, None) => {}
        }
    }
    let is_reordered = by_name && names_before != names_after && {
        let set = |names: &Option<Vec<&str>>| -> BTreeSet<String> {
            names
                .iter()
                .flatten()
                .map(|name| (*name).to_owned())
                .collect()
        };
        set(&names_before) == set(&names_after)
    };
    if is_reordered {
        let location = location.clone();
        found.push(Difference {
            location,
            change: Change::Reordered,
        });
    }
}

/// The names of all members, if every member has a unique name.
fn names(list: &[Value]) -> Option<Vec<&str>> {
    let names: Vec<&str> = list.iter().map(name_of).collect::<Option<_>>()?;
    let unique: BTreeSet<&str> = names.iter().copied().collect();
    (unique.len() == names.len()).then_some(names)
}

fn keys<'d>(before: &'d Map<String, Value>, after: &'d Map<String, Value>) -> BTreeSet<&'d str> {
    before
        .keys()
        .chain(after.keys())
        .map(String::as_str)
        .collect()
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let location = &self.location;
        let is_shown =
            |value: &Value| location.is_harmless() && !value.is_object() && !value.is_array();
        match &self.change {
            Change::Added(value) if is_shown(value) => write!(f, "`{location}` is new: {value}"),
            Change::Added(_) => write!(f, "`{location}` is new"),
            Change::Removed(value) if is_shown(value) => write!(f, "`{location}` is gone: {value}"),
            Change::Removed(_) => write!(f, "`{location}` is gone"),
            Change::Changed(from, to) if is_shown(from) && is_shown(to) => {
                write!(f, "`{location}` changes from {from} to {to}")
            }
            Change::Changed(from, to) if kind(from) != kind(to) => {
                write!(
                    f,
                    "`{location}` changes from {} to {}",
                    kind(from),
                    kind(to)
                )
            }
            Change::Changed(..) => write!(f, "`{location}` changes"),
            Change::Reordered => write!(f, "the members of `{location}` change their order"),
        }
    }
}

/// The type of a value.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(text) if text.starts_with("((odb_secret:") => "a placeholder",
        Value::String(text) if text.starts_with("((") => "a reference",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn reported(before: &Value, after: &Value) -> Vec<String> {
        let found = manifest_differences(before, after);
        found.iter().map(Difference::to_string).collect()
    }

    #[test]
    fn differences_are_reported_by_location_and_without_what_may_be_secret() {
        let before = json!({
            "releases": [{"name": "r", "version": "1"}],
            "instance_groups": [{"name": "a", "azs": ["z1"], "jobs": [{"name": "j", "properties": {"p": "hunter2"}}]}],
        });
        let after = json!({
            "releases": [{"name": "r", "version": "2"}],
            "instance_groups": [{"name": "a", "azs": ["z1", "z2"], "jobs": [{"name": "j", "properties": {"p": 3, "q": 1}}]}],
        });
        assert_eq!(
            reported(&before, &after),
            [
                "`instance_groups[a].azs[1]` is new: \"z2\"",
                "`instance_groups[a].jobs[j].properties.p` changes from a text to a number",
                "`instance_groups[a].jobs[j].properties.q` is new",
                "`releases[r].version` changes from \"1\" to \"2\"",
            ]
        );
    }

    #[test]
    fn update_blocks_are_not_compared_and_order_is() {
        let before =
            json!({"update": 1, "instance_groups": [{"name": "a", "update": 1}, {"name": "b"}]});
        let after = json!({"update": 2, "instance_groups": [{"name": "b"}, {"name": "a"}]});
        assert_eq!(
            reported(&before, &after),
            ["the members of `instance_groups` change their order"]
        );
        assert!(reported(&before, &before).is_empty());
    }

    fn documents() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..3_i64).prop_map(Value::from),
            "[a-c]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("name|alias|[a-c]", inner, 0..4)
                    .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn there_is_a_difference_exactly_where_documents_differ(before in documents(), after in documents()) {
            prop_assert_eq!(differences(&before, &after).is_empty(), before == after);
            prop_assert!(differences(&before, &before.clone()).is_empty());
        }
    }
}
