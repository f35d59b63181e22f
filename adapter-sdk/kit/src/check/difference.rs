use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde_json::Value;

/// A location in a document. Prints as `instance_groups[cache].jobs[redis].properties.port`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Location(Vec<Segment>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Segment {
    /// The member of a map.
    Member(String),
    /// The member of a list, by its name or else its number.
    Item(String),
}

/// Why a text is not a location.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a location in a manifest; write it as `instance_groups[NAME].jobs[NAME].properties.KEY`"
)]
pub(super) struct NoLocation {
    text: String,
}

impl Location {
    pub(super) fn member(&self, key: &str) -> Self {
        self.then(Segment::Member(key.to_owned()))
    }

    pub(super) fn item(&self, name: &str) -> Self {
        self.then(Segment::Item(name.to_owned()))
    }

    /// Whether the other location is this one or below it.
    pub(super) fn holds(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// Whether only names, versions, sizes and the like can be at this location.
    pub(super) fn is_harmless(&self) -> bool {
        const TOP: [&str; 4] = ["name", "releases", "stemcells", "update"];
        const GROUP: [&str; 10] = [
            "name",
            "instances",
            "vm_type",
            "vm_extensions",
            "azs",
            "lifecycle",
            "stemcell",
            "networks",
            "persistent_disk_type",
            "release",
        ];
        let mut members = self.0.iter().filter_map(|segment| match segment {
            Segment::Member(key) => Some(key.as_str()),
            Segment::Item(_) => None,
        });
        match members.next() {
            Some("instance_groups") => {
                let rest: Vec<_> = members.filter(|key| *key != "jobs").collect();
                rest.iter().all(|key| GROUP.contains(key))
            }
            first => first.is_some_and(|key| TOP.contains(&key)),
        }
    }

    /// The key of the map member at this location, or of the list around it.
    pub(super) fn key(&self) -> Option<&str> {
        self.0.iter().rev().find_map(|segment| match segment {
            Segment::Member(key) => Some(key.as_str()),
            Segment::Item(_) => None,
        })
    }

    pub(super) fn look_up<'d>(&self, document: &'d Value) -> Option<&'d Value> {
        self.0
            .iter()
            .try_fold(document, |value, segment| match segment {
                Segment::Member(key) => value.get(key),
                Segment::Item(name) => item(value.as_array()?, name),
            })
    }

    fn then(&self, segment: Segment) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment);
        Self(segments)
    }
}

fn item<'d>(list: &'d [Value], name: &str) -> Option<&'d Value> {
    list.iter()
        .find(|item| name_of(item) == Some(name))
        .or_else(|| list.get(name.parse::<usize>().ok()?))
}

pub(super) fn name_of(item: &Value) -> Option<&str> {
    item.get("name").or_else(|| item.get("alias"))?.as_str()
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Member(key) if nth == 0 => f.write_str(key)?,
                Segment::Member(key) => write!(f, ".{key}")?,
                Segment::Item(name) => write!(f, "[{name}]")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Location {
    type Err = NoLocation;

    fn from_str(text: &str) -> Result<Self, NoLocation> {
        let no_location = || NoLocation {
            text: text.to_owned(),
        };
        let mut location = Self::default();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix('[') {
                let (name, after) = inner.split_once(']').ok_or_else(no_location)?;
                location = location.item(name);
                rest = after;
                continue;
            }
            let is_first = location.0.is_empty();
            let key = rest.strip_prefix('.').filter(|_| !is_first);
            let key = key
                .or(Some(rest).filter(|_| is_first))
                .ok_or_else(no_location)?;
            let end = key.find(['.', '[']).unwrap_or(key.len());
            if end == 0 {
                return Err(no_location());
            }
            location = location.member(&key[..end]);
            rest = &key[end..];
        }
        if location.0.is_empty() {
            Err(no_location())
        } else {
            Ok(location)
        }
    }
}

/// A location at which two documents differ. Its output omits values unless they are harmless.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Difference {
    pub(super) location: Location,
    pub(super) change: Change,
}

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
    match (before, after) {
        (before, after) if before == after => {}
        (Value::Object(before), Value::Object(after)) => {
            let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            for key in keys {
                let location = location.member(key);
                compare_members(location, before.get(key), after.get(key), found);
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            compare_lists(location, before, after, found);
        }
        (before, after) => found.push(Difference {
            location: location.clone(),
            change: Change::Changed(before.clone(), after.clone()),
        }),
    }
}

fn compare_members(
    location: Location,
    before: Option<&Value>,
    after: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    let change = match (before, after) {
        (Some(before), Some(after)) => return compare(&location, before, after, found),
        (Some(before), None) => Change::Removed(before.clone()),
        (None, Some(after)) => Change::Added(after.clone()),
        (None, None) => return,
    };
    found.push(Difference { location, change });
}

/// Members that all have names of their own are compared by name, others by number.
fn compare_lists(
    location: &Location,
    before: &[Value],
    after: &[Value],
    found: &mut Vec<Difference>,
) {
    let (Some(names_before), Some(names_after)) = (names(before), names(after)) else {
        for nth in 0..before.len().max(after.len()) {
            let location = location.item(&nth.to_string());
            compare_members(location, before.get(nth), after.get(nth), found);
        }
        return;
    };
    let new = names_after
        .iter()
        .filter(|name| !names_before.contains(name));
    for name in names_before.iter().chain(new) {
        let of = |list: &'_ [Value]| list.iter().position(|item| name_of(item) == Some(name));
        let (before, after) = (
            of(before).map(|nth| &before[nth]),
            of(after).map(|nth| &after[nth]),
        );
        compare_members(location.item(name), before, after, found);
    }
    let are_the_same = names_before.len() == names_after.len()
        && names_before.iter().all(|name| names_after.contains(name));
    if are_the_same && names_before != names_after {
        found.push(Difference {
            location: location.clone(),
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
                let (from, to) = (kind(from), kind(to));
                write!(f, "`{location}` changes from {from} to {to}")
            }
            Change::Changed(..) => write!(f, "`{location}` changes"),
            Change::Reordered => write!(f, "the members of `{location}` change their order"),
        }
    }
}

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
    use serde_json::{Map, json};

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

    #[test]
    fn a_location_is_read_as_it_is_printed_and_found() {
        let document = json!({"groups": [{"name": "a.b", "jobs": [{"port": 1}, {"port": 2}]}]});
        let text = "groups[a.b].jobs[1].port";
        let location: Location = text.parse().unwrap();
        assert_eq!(location.to_string(), text);
        assert_eq!(location.look_up(&document), Some(&json!(2)));
        assert_eq!(
            "groups[c]".parse::<Location>().unwrap().look_up(&document),
            None
        );
    }

    #[test]
    fn what_is_no_location_is_refused() {
        for text in ["", ".a", "a..b", "a[b", "a[b]c"] {
            assert!(text.parse::<Location>().is_err(), "{text}");
        }
    }

    #[test]
    fn properties_are_never_harmless() {
        for text in [
            "instance_groups[a].jobs[b].properties.c",
            "tags.x",
            "instance_groups[a].env",
        ] {
            assert!(!text.parse::<Location>().unwrap().is_harmless(), "{text}");
        }
        for text in ["instance_groups[a].vm_type", "releases[r].version"] {
            assert!(text.parse::<Location>().unwrap().is_harmless(), "{text}");
        }
    }
}
