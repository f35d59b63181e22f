//! The differences that a newly generated manifest would bring.
//!
//! | file | contents |
//! | --- | --- |
//! | `comparison` | compares two documents, path by path |
//! | `path` | a path, with what may be shown of it |
//! | `allowed` | the list of what may be shown |
//! | `grouping` | differences by their meaning to operators |
//! | `risks` | the effect of their deployment on VMs |

mod allowed;
mod comparison;
mod grouping;
mod path;
mod risks;

use std::fmt;

use odb_adapter_sdk::yaml;
use serde_json::Value;

use comparison::{Change, Difference, compare};
use path::{Path, Shown};

pub(super) use grouping::{changes_of_config, grouped};
pub(super) use risks::{OtherEffects, risks};

/// The number of differences that are reported; the others are counted.
const REPORTED: usize = 40;

/// The paths where two manifests differ for users: complete documents are compared, except `update` blocks, which say
/// how a change is rolled out (`spec/contracts/broker-behaviour.md` §3.7, §9.21). It may be logged: values that may be
/// secrets are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestDifference {
    differences: Vec<Difference>,
}

/// A manifest is no YAML document. Reported by line and column, because a manifest holds secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {which} manifest cannot be read: {error}")]
pub struct UnreadableManifest {
    which: &'static str,
    error: String,
}

/// The deployed manifest and one that was generated anew, understood.
#[derive(Clone, Debug)]
pub(super) struct Manifests {
    pub(super) deployed: Value,
    pub(super) regenerated: Value,
}

impl Manifests {
    /// Reads both.
    pub(super) fn read(deployed: &str, regenerated: &str) -> Result<Self, UnreadableManifest> {
        Ok(Self {
            deployed: document("deployed", deployed)?,
            regenerated: document("regenerated", regenerated)?,
        })
    }

    /// The same without `update` blocks.
    fn without_update_blocks(mut self) -> Self {
        remove_update_blocks(&mut self.deployed);
        remove_update_blocks(&mut self.regenerated);
        self
    }

    fn differences(&self) -> Vec<Difference> {
        let (before, after) = (Some(&self.deployed), Some(&self.regenerated));
        compare(&Path::of_manifest(), before, after)
    }
}

impl ManifestDifference {
    /// Compares the deployed manifest with one that was generated anew.
    pub fn between(deployed: &str, regenerated: &str) -> Result<Self, UnreadableManifest> {
        let manifests = Manifests::read(deployed, regenerated)?.without_update_blocks();
        Ok(Self {
            differences: manifests.differences(),
        })
    }

    /// The manifests say the same.
    pub fn is_empty(&self) -> bool {
        self.differences.is_empty()
    }
}

impl fmt::Display for ManifestDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Difference { path, change }) in
            self.differences.iter().take(REPORTED).enumerate()
        {
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
        match self.differences.len().saturating_sub(REPORTED) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

fn document(which: &'static str, text: &str) -> Result<Value, UnreadableManifest> {
    yaml::from_str(text).map_err(|error| UnreadableManifest {
        which,
        error: error.to_string(),
    })
}

fn remove_update_blocks(document: &mut Value) {
    if let Value::Object(manifest) = document {
        manifest.shift_remove("update");
        if let Some(Value::Array(groups)) = manifest.get_mut("instance_groups") {
            for group in groups.iter_mut().filter_map(Value::as_object_mut) {
                group.shift_remove("update");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, json};

    use super::*;

    pub(super) const DEPLOYED: &str = "
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
    fn every_difference_is_reported_by_its_location() {
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
    fn values_that_may_be_secret_are_not_reported() {
        let regenerated = DEPLOYED.replace("hunter2", "hunter3").replace(
            "persistence: true",
            "persistence: true, admin_password: hunter4",
        );
        let reported = difference(DEPLOYED, &regenerated);
        assert_eq!(
            reported,
            "instance_groups[redis-server].jobs[redis-server].properties[0][0] is new; \
             instance_groups[redis-server].jobs[redis-server].properties[0][1] changes"
        );
    }

    #[test]
    fn only_values_listed_as_harmless_are_reported() {
        let regenerated = DEPLOYED.to_owned()
            + "x-users: {admin_password: hunter3}\npassword: hunter4\n"
            + "addons: [{name: hunter5, jobs: []}]\n";
        let regenerated = regenerated.replace(
            "version: '7.4'",
            "version: '7.4', sha1: hunter6, url: 'https://example.com/r.tgz?sig=hunter7#hunter8'",
        );
        assert_eq!(
            difference(DEPLOYED, &regenerated),
            "addons is new; password is new; releases[redis].sha1 is new; \
             releases[redis].url is new: \"https://example.com/r.tgz\"; x-users is new"
        );
        let signed_anew = regenerated.replace("hunter7", "hunter9");
        let other_user = signed_anew.replace("admin_password", "hunter10");
        assert_eq!(
            difference(&regenerated, &other_user),
            "releases[redis].url changes; x-users[0] is gone; x-users[1] is new"
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
    fn a_manifest_that_is_no_yaml_is_reported_without_its_content() {
        let error = ManifestDifference::between(DEPLOYED, "name: [hunter2\n").unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("the regenerated manifest cannot be read"),
            "{text}"
        );
        assert!(!text.contains("hunter2"), "{text}");
    }

    pub(super) fn documents() -> impl Strategy<Value = Value> {
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
            let read = Manifests::read(&before.to_string(), &after.to_string()).unwrap().without_update_blocks();
            let same = read.deployed == read.regenerated;
            prop_assert_eq!(found.is_empty(), same);
            let itself = ManifestDifference::between(&before.to_string(), &before.to_string()).unwrap();
            prop_assert!(itself.is_empty());
        }
    }

    #[test]
    fn a_long_list_of_differences_is_cut() {
        let many: Map<String, Value> = (0..60).map(|n| (format!("key{n:02}"), json!(n))).collect();
        let reported = difference("{}", &Value::from(many).to_string());
        assert!(reported.ends_with("; and 20 more"), "{reported}");
    }
}
