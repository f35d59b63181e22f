//! What would change if a manifest were generated anew: whole documents are compared, but for `update` blocks
//! (`spec/contracts/broker-behaviour.md` §3.7, §9.21).

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use odb_adapter_sdk::yaml;
use serde_json::{Map, Value};

/// So many differences are told; the rest are counted.
const TOLD: usize = 40;
/// Values below these keys may be secrets.
const MASKED: [&str; 4] = ["properties", "env", "options", "tags"];

/// The places where two manifests differ. It can be logged: values that may be secrets are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestDifference {
    differences: Vec<Difference>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Difference {
    path: String,
    change: Change,
}

/// Values are shown as JSON, or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    Added(Shown),
    Removed(Shown),
    Changed { from: Shown, to: Shown },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shown {
    Value(String),
    Masked,
}

/// A manifest is no YAML document. What is wrong is told by line and column, for a manifest is full of secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {which} manifest cannot be read: {fault}")]
pub struct UnreadableManifest {
    which: &'static str,
    fault: String,
}

impl ManifestDifference {
    /// Compares the deployed manifest with one that was generated anew.
    pub fn between(deployed: &str, regenerated: &str) -> Result<Self, UnreadableManifest> {
        let before = document("deployed", deployed)?;
        let after = document("regenerated", regenerated)?;
        let mut found = Self::default();
        found.compare(&Path::default(), Some(&before), Some(&after));
        Ok(found)
    }

    /// The manifests say the same.
    pub fn is_empty(&self) -> bool {
        self.differences.is_empty()
    }

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
            (Some(before), Some(after)) => self.note(
                path,
                Change::Changed {
                    from: path.show(before),
                    to: path.show(after),
                },
            ),
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
        for key in keys {
            self.compare(&path.member(key), before.get(key), after.get(key));
        }
    }

    /// Members that have names are compared by name, others by place. The order of named members counts too.
    fn compare_lists(&mut self, path: &Path, before: &[Value], after: &[Value]) {
        if let (Some(named_before), Some(named_after)) = (by_name(before), by_name(after)) {
            let names: BTreeSet<&str> = named_before
                .keys()
                .chain(named_after.keys())
                .copied()
                .collect();
            for name in names {
                let (before, after) = (named_before.get(name), named_after.get(name));
                self.compare(&path.item(name), before.copied(), after.copied());
            }
            if named_before.len() == named_after.len()
                && named_before.keys().eq(named_after.keys())
                && order(before) != order(after)
            {
                let told = |list| path.show(&Value::String(order(list).join(", ")));
                let change = Change::Changed {
                    from: told(before),
                    to: told(after),
                };
                self.note(path, change);
            }
            return;
        }
        for index in 0..before.len().max(after.len()) {
            let place = path.item(&index.to_string());
            self.compare(&place, before.get(index), after.get(index));
        }
    }

    fn note(&mut self, path: &Path, change: Change) {
        self.differences.push(Difference {
            path: path.text.clone(),
            change,
        });
    }
}

impl fmt::Display for ManifestDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Difference { path, change }) in self.differences.iter().take(TOLD).enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            match change {
                Change::Added(value) => write!(f, "{path} is new{value}")?,
                Change::Removed(value) => write!(f, "{path} is gone{value}")?,
                Change::Changed {
                    from: Shown::Value(from),
                    to: Shown::Value(to),
                } => write!(f, "{path} changes from {from} to {to}")?,
                Change::Changed { .. } => write!(f, "{path} changes")?,
            }
        }
        match self.differences.len().saturating_sub(TOLD) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => write!(f, ": {value}"),
            Self::Masked => Ok(()),
        }
    }
}

/// A place in a manifest.
#[derive(Clone, Default)]
struct Path {
    text: String,
    is_masked: bool,
}

impl Path {
    fn member(&self, key: &str) -> Self {
        let text = if self.text.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.text)
        };
        Self {
            text,
            is_masked: self.is_masked || MASKED.contains(&key),
        }
    }

    fn item(&self, name: &str) -> Self {
        Self {
            text: format!("{}[{name}]", self.text),
            is_masked: self.is_masked,
        }
    }

    /// A part of the document that holds other parts may hold secrets too.
    fn show(&self, value: &Value) -> Shown {
        match value {
            Value::Object(_) | Value::Array(_) => Shown::Masked,
            _ if self.is_masked => Shown::Masked,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Shown::Value(value.to_string())
            }
        }
    }
}

/// A manifest without its `update` blocks: they say how a change is rolled out, not what it is.
fn document(which: &'static str, text: &str) -> Result<Value, UnreadableManifest> {
    let mut document: Value = yaml::from_str(text).map_err(|error| UnreadableManifest {
        which,
        fault: error.to_string(),
    })?;
    if let Value::Object(manifest) = &mut document {
        manifest.shift_remove("update");
        if let Some(Value::Array(groups)) = manifest.get_mut("instance_groups") {
            for group in groups.iter_mut().filter_map(Value::as_object_mut) {
                group.shift_remove("update");
            }
        }
    }
    Ok(document)
}

/// The members by their names, if all have one of their own.
fn by_name(list: &[Value]) -> Option<BTreeMap<&str, &Value>> {
    let named: BTreeMap<&str, &Value> = list
        .iter()
        .map(|item| Some((name(item)?, item)))
        .collect::<Option<_>>()?;
    (named.len() == list.len()).then_some(named)
}

fn order(list: &[Value]) -> Vec<&str> {
    list.iter().filter_map(name).collect()
}

fn name(item: &Value) -> Option<&str> {
    item.get("name").or_else(|| item.get("alias"))?.as_str()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const DEPLOYED: &str = "
name: service-instance_i1
releases: [{name: redis, version: '7.4'}]
stemcells: [{alias: default, os: ubuntu-jammy, version: '1.80'}]
instance_groups:
- name: redis-server
  instances: 1
  vm_type: small
  update: {max_in_flight: 1}
  jobs:
  - name: redis-server
    properties: {redis: {password: hunter2, persistence: true}}
update: {canaries: 1, max_in_flight: 4}
";

    fn difference(deployed: &str, regenerated: &str) -> String {
        ManifestDifference::between(deployed, regenerated)
            .unwrap()
            .to_string()
    }

    #[test]
    fn layout_and_update_blocks_do_not_count() {
        let regenerated = DEPLOYED
            .replace("update: {max_in_flight: 1}", "update: {max_in_flight: 50%}")
            .replace(
                "update: {canaries: 1, max_in_flight: 4}",
                "update: {serial: false}",
            )
            .replace("'7.4'", "\"7.4\"");
        assert_eq!(difference(DEPLOYED, &regenerated), "");
        assert_eq!(
            difference(
                DEPLOYED,
                &regenerated.replace("\nupdate: {serial: false}", "")
            ),
            ""
        );
    }

    #[test]
    fn every_difference_is_told_by_its_place() {
        let regenerated = DEPLOYED
            .replace(
                "version: '7.4'",
                "version: '7.5', url: https://example.com/redis.tgz",
            )
            .replace("  vm_type: small\n", "")
            .replace("instances: 1", "instances: 3");
        assert_eq!(
            difference(DEPLOYED, &regenerated),
            "instance_groups[redis-server].instances changes from 1 to 3; \
             instance_groups[redis-server].vm_type is gone: \"small\"; \
             releases[redis].url is new: \"https://example.com/redis.tgz\"; \
             releases[redis].version changes from \"7.4\" to \"7.5\""
        );
    }

    #[test]
    fn values_that_may_be_secret_are_not_told() {
        let regenerated = DEPLOYED.replace("hunter2", "hunter3").replace(
            "persistence: true",
            "persistence: true, admin_password: hunter4",
        );
        let told = difference(DEPLOYED, &regenerated);
        assert_eq!(
            told,
            "instance_groups[redis-server].jobs[redis-server].properties.redis.admin_password is new; \
             instance_groups[redis-server].jobs[redis-server].properties.redis.password changes"
        );
    }

    #[test]
    fn groups_in_another_order_are_a_difference() {
        let (one, two) = (
            "instance_groups: [{name: a}, {name: b}]",
            "instance_groups: [{name: b}, {name: a}]",
        );
        assert_eq!(
            difference(one, two),
            "instance_groups changes from \"a, b\" to \"b, a\""
        );
    }

    #[test]
    fn a_manifest_that_is_no_yaml_is_told_without_its_content() {
        let fault = ManifestDifference::between(DEPLOYED, "name: [hunter2\n").unwrap_err();
        let text = fault.to_string();
        assert!(
            text.starts_with("the regenerated manifest cannot be read"),
            "{text}"
        );
        assert!(!text.contains("hunter2"), "{text}");
    }

    fn documents() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..4_i64).prop_map(Value::from),
            "[a-z]{0,3}".prop_map(Value::from),
        ];
        let nested = leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("name|update|properties|[a-c]", inner, 0..4)
                    .prop_map(|map| map.into_iter().collect::<Map<_, _>>().into()),
            ]
        });
        proptest::collection::btree_map("name|instance_groups|[a-c]", nested, 0..4)
            .prop_map(|map| map.into_iter().collect::<Map<_, _>>().into())
    }

    proptest! {
        #[test]
        fn there_is_a_difference_exactly_where_the_documents_differ(before in documents(), after in documents()) {
            let found = ManifestDifference::between(&before.to_string(), &after.to_string()).unwrap();
            let same = document("", &before.to_string()).unwrap() == document("", &after.to_string()).unwrap();
            prop_assert_eq!(found.is_empty(), same);
            let itself = ManifestDifference::between(&before.to_string(), &before.to_string()).unwrap();
            prop_assert!(itself.is_empty());
        }
    }

    #[test]
    fn a_long_list_of_differences_is_cut() {
        let many: Map<String, Value> = (0..60).map(|n| (format!("key{n:02}"), json!(n))).collect();
        let told = difference("{}", &Value::from(many).to_string());
        assert!(told.ends_with("; and 20 more"), "{told}");
    }
}
