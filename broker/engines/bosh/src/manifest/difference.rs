//! The differences that a newly generated manifest would bring, by location and by their meaning to operators.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use odb_adapter_sdk::yaml;
use odb_api_types::management::{ChangeKind, ChangeSort, Changes, PlannedChange};
use serde_json::{Map, Value};

use super::path::{Path, Segment};

/// The number of differences that are reported; the others are counted.
const REPORTED: usize = 40;

/// The paths where two manifests differ for users: complete documents are compared, except `update` blocks, which say
/// how a change is rolled out (`spec/contracts/broker-behaviour.md` §3.7, §9.21). It may be logged: values that may be
/// secrets are left out.
#[derive(Debug)]
pub(crate) struct ManifestDifference {
    differences: Vec<Difference>,
}

/// A manifest is no YAML document. Reported by line and column, because a manifest holds secrets.
#[derive(Debug, thiserror::Error)]
#[error("the {which} manifest cannot be read: {error}")]
pub(crate) struct UnreadableManifest {
    which: &'static str,
    error: String,
}

#[derive(Clone, Debug)]
pub(super) struct Manifests {
    pub(super) deployed: Value,
    pub(super) regenerated: Value,
}

impl Manifests {
    pub(super) fn read(deployed: &str, regenerated: &str) -> Result<Self, UnreadableManifest> {
        Ok(Self {
            deployed: document("deployed", deployed)?,
            regenerated: document("regenerated", regenerated)?,
        })
    }

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

#[derive(Debug)]
struct Difference {
    path: Path,
    change: PlannedChange,
}

impl ManifestDifference {
    pub(crate) fn between(deployed: &str, regenerated: &str) -> Result<Self, UnreadableManifest> {
        let manifests = Manifests::read(deployed, regenerated)?.without_update_blocks();
        Ok(Self {
            differences: manifests.differences(),
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.differences.is_empty()
    }
}

impl fmt::Display for ManifestDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reported = self.differences.iter().take(REPORTED);
        for (index, Difference { change, .. }) in reported.enumerate() {
            let separator = if index > 0 { "; " } else { "" };
            write!(f, "{separator}{change}")?;
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

fn compare(path: &Path, before: Option<&Value>, after: Option<&Value>) -> Vec<Difference> {
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
            (Some(before), None) => self.note(path, ChangeSort::Removed, path.show(before), None),
            (None, Some(after)) => self.note(path, ChangeSort::Added, None, path.show(after)),
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

    /// A change of which only one side is shown, or that looks equal after masking, is shown without values.
    fn note_change(&mut self, path: &Path, from: Option<Value>, to: Option<Value>) {
        let is_shown = from.is_some() && to.is_some() && from != to;
        let (from, to) = if is_shown { (from, to) } else { (None, None) };
        self.note(path, ChangeSort::Changed, from, to);
    }

    fn note(&mut self, path: &Path, change: ChangeSort, from: Option<Value>, to: Option<Value>) {
        let change = PlannedChange {
            path: path.to_string(),
            change,
            from,
            to,
        };
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

fn shown_order(path: &Path, list: &[Value]) -> Option<Value> {
    let is_shown = list.iter().all(|item| shows_name(path, item));
    is_shown.then(|| Value::String(order(list).join(", ")))
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

pub(super) fn grouped(manifests: &Manifests) -> Changes {
    let errands = errand_groups(manifests);
    let mut changes = Changes::default();
    for difference in manifests.differences() {
        let kind = kind_of(difference.path.segments(), &errands);
        changes.add(kind, difference.change);
    }
    changes
}

/// The differences between two contents of a BOSH config; absent if there are none.
pub(super) fn changes_of_config(
    kind: &str,
    before: Option<&str>,
    after: Option<&str>,
) -> Vec<PlannedChange> {
    let path = Path::of_config(kind);
    let read = |text: Option<&str>| text.map(yaml::from_str::<Value>).transpose();
    let differences = if let (Ok(before), Ok(after)) = (read(before), read(after)) {
        compare(&path, before.as_ref(), after.as_ref())
    } else {
        // One that is no YAML is a text, and none that is shown.
        let text = |text: Option<&str>| text.map(|text| Value::String(text.to_owned()));
        compare(&path.masked(), text(before).as_ref(), text(after).as_ref())
    };
    differences
        .into_iter()
        .map(|difference| difference.change)
        .collect()
}

fn kind_of(path: &[Segment], errands: &BTreeSet<String>) -> ChangeKind {
    use Segment::{Item, Member};
    let member = |segment: Option<&Segment>| match segment {
        Some(Member(key)) => key.clone(),
        Some(Item(_)) | None => String::new(),
    };
    let Some(Member(section)) = path.first() else {
        return ChangeKind::Other;
    };
    match (section.as_str(), path.get(1)) {
        ("releases", _) => ChangeKind::Releases,
        ("stemcells", _) => ChangeKind::Stemcells,
        ("update", _) => ChangeKind::Update,
        ("properties", _) => ChangeKind::Properties,
        ("networks" | "azs", _) => ChangeKind::Networks,
        ("instance_groups", Some(Item(group))) => match member(path.get(2)).as_str() {
            "update" => ChangeKind::Update,
            _ if errands.contains(group) => ChangeKind::Errands,
            "stemcell" => ChangeKind::Stemcells,
            "networks" | "azs" => ChangeKind::Networks,
            "properties" | "env" => ChangeKind::Properties,
            "jobs" if member(path.get(4)) == "properties" => ChangeKind::Properties,
            "jobs" => ChangeKind::Jobs,
            _ => ChangeKind::InstanceGroups,
        },
        ("instance_groups", _) => ChangeKind::InstanceGroups,
        _ => ChangeKind::Other,
    }
}

fn errand_groups(manifests: &Manifests) -> BTreeSet<String> {
    let documents = [&manifests.deployed, &manifests.regenerated];
    let groups = documents
        .into_iter()
        .filter_map(|document| document["instance_groups"].as_array())
        .flatten();
    groups
        .filter(|group| group["lifecycle"] == "errand")
        .filter_map(|group| group["name"].as_str().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, json};

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

    fn changes(deployed: &str, regenerated: &str) -> Value {
        let manifests = Manifests::read(deployed, regenerated).unwrap();
        serde_json::to_value(grouped(&manifests)).unwrap()
    }

    #[test]
    fn each_change_is_reported_under_its_kind() {
        let regenerated = DEPLOYED
            .replace("version: '7.4'", "version: '7.5'")
            .replace("version: '1.80'", "version: '1.90'")
            .replace("vm_type: small", "vm_type: large\n  azs: [z1]")
            .replace("update: {max_in_flight: 1}", "update: {max_in_flight: 2}")
            .replace("hunter2", "hunter3")
            .replace("canaries: 1", "canaries: 2")
            .replace("jobs:", "jobs:\n  - name: exporter\n    release: redis")
            + "- name: smoke\n  lifecycle: errand\nfeatures: {use_dns_addresses: true}\n";
        let regenerated = regenerated.replace(
            "update: {canaries: 2, max_in_flight: 4}\n- name: smoke\n  lifecycle: errand\n",
            "- name: smoke\n  lifecycle: errand\nupdate: {canaries: 2, max_in_flight: 4}\n",
        );
        let group = "instance_groups[redis-server]";
        assert_eq!(
            changes(DEPLOYED, &regenerated),
            json!({
                "releases": [
                    { "path": "releases[redis].version", "change": "changed", "from": "7.4", "to": "7.5" }
                ],
                "stemcells": [
                    { "path": "stemcells[default].version", "change": "changed", "from": "1.80", "to": "1.90" }
                ],
                "instance_groups": [
                    { "path": format!("{group}.vm_type"), "change": "changed", "from": "small", "to": "large" }
                ],
                "networks": [{ "path": format!("{group}.azs"), "change": "added" }],
                "jobs": [{ "path": format!("{group}.jobs[exporter]"), "change": "added" }],
                "properties": [
                    {
                        "path": format!("{group}.jobs[redis-server].properties[0][0]"),
                        "change": "changed"
                    }
                ],
                "update": [
                    { "path": format!("{group}.update.max_in_flight"), "change": "changed", "from": 1, "to": 2 },
                    { "path": "update.canaries", "change": "changed", "from": 1, "to": 2 }
                ],
                "errands": [{ "path": "instance_groups[smoke]", "change": "added" }],
                "other": [{ "path": "features", "change": "added" }]
            })
        );
    }

    #[test]
    fn of_configs_the_locations_are_reported_and_no_value_that_may_be_a_secret() {
        let before = "vm_types: [{name: small, cloud_properties: {key: hunter2}, x: hunter1}]\n\
                      disk_types: [{name: large, disk_size: 1}]";
        let after = before.replace("hunter", "hunter3");
        let after = after.replace("disk_size: 1", "disk_size: 2");
        let reported = changes_of_config("cloud", Some(before), Some(&after));
        let reported = serde_json::to_value(reported).unwrap();
        let location = "configs[cloud].vm_types[small]";
        assert_eq!(
            reported,
            json!([
                {
                    "path": "configs[cloud].disk_types[large].disk_size",
                    "change": "changed", "from": 1, "to": 2
                },
                { "path": format!("{location}.cloud_properties[0]"), "change": "changed" },
                { "path": format!("{location}.x"), "change": "changed" }
            ])
        );
        for (kind, before, after, change) in [
            ("cpi", Some("key: hunter2"), Some("key: hunter3"), "changed"),
            ("cloud", Some("[hunter2"), Some("[hunter3"), "changed"),
            ("cloud", None, Some("[hunter3"), "added"),
            ("runtime", Some("addons: [hunter2]"), None, "removed"),
        ] {
            let reported = serde_json::to_value(changes_of_config(kind, before, after)).unwrap();
            assert_eq!(reported[0]["change"], change, "{reported}");
            assert!(!reported.to_string().contains("hunter"), "{reported}");
        }
        assert!(changes_of_config("cpi", Some("a: 1"), Some("a:   1")).is_empty());
    }

    /// The locations whose values may be shown, without indices and names in lists.
    const SHOWN: &[&str] = &[
        "name",
        "releases.name",
        "releases.version",
        "stemcells.alias",
        "stemcells.name",
        "stemcells.os",
        "stemcells.version",
        "update.canaries",
        "update.serial",
        "instance_groups.name",
        "instance_groups.instances",
        "instance_groups.azs",
        "instance_groups.vm_type",
        "instance_groups.update.canaries",
        "instance_groups.networks.name",
        "instance_groups.jobs.name",
        "instance_groups.jobs.release",
        "variables.name",
        "variables.type",
    ];

    const KEYS: &str = "name|alias|version|type|os|canaries|serial|instances|azs|vm_type|release|releases|stemcells|\
                        update|instance_groups|networks|jobs|variables|properties|env|options|x-users|hunter-key";

    /// Documents in which every value is a secret, except at paths that may be shown.
    fn secret_documents() -> impl Strategy<Value = Value> {
        let leaf = (0..4_u8).prop_map(|number| json!(format!("hunter{number}")));
        let nested = leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(KEYS, inner, 0..5).prop_map(map),
            ]
        });
        proptest::collection::btree_map(KEYS, nested, 0..6).prop_map(|members| {
            let mut document = map(members);
            make_harmless("", &mut document);
            document
        })
    }

    fn map(members: std::collections::BTreeMap<String, Value>) -> Value {
        Value::Object(members.into_iter().collect())
    }

    fn make_harmless(location: &str, value: &mut Value) {
        match value {
            Value::Object(members) => {
                let is_open = location.is_empty()
                    || SHOWN.iter().any(|shown| {
                        let below = shown.strip_prefix(location);
                        below.is_some_and(|below| below.starts_with('.'))
                    });
                if is_open {
                    // Keys of values that are not masked are no secrets.
                    members.shift_remove("hunter-key");
                }
                for (key, member) in members {
                    let location = if location.is_empty() {
                        key.clone()
                    } else {
                        format!("{location}.{key}")
                    };
                    make_harmless(&location, member);
                }
            }
            Value::Array(items) => {
                for item in items {
                    make_harmless(location, item);
                }
            }
            Value::String(text) if SHOWN.contains(&location) => {
                *text = text.replace("hunter", "harmless");
            }
            _ => {}
        }
    }

    proptest! {
        #[test]
        fn grouped_changes_are_the_plain_difference_and_the_update_blocks_each_once(
            before in documents(), after in documents(),
        ) {
            let manifests = Manifests::read(&before.to_string(), &after.to_string()).unwrap();
            let changes = grouped(&manifests);
            let mut without_updates: Vec<String> = changes
                .kinds()
                .filter(|(kind, _)| *kind != ChangeKind::Update)
                .flat_map(|(_, changes)| changes.iter().map(|change| format!("{change:?}")))
                .collect();
            let all_differences = manifests.differences().len();
            let plain = manifests.without_update_blocks().differences();
            let mut plain: Vec<String> = plain
                .into_iter()
                .map(|difference| format!("{:?}", difference.change))
                .collect();
            without_updates.sort();
            plain.sort();
            prop_assert_eq!(without_updates, plain);
            let all = changes.kinds().map(|(_, changes)| changes.len()).sum::<usize>();
            prop_assert_eq!(all, all_differences);
        }

        #[test]
        fn nothing_appears_but_what_is_listed_as_harmless(before in secret_documents(), after in secret_documents()) {
            let (before, after) = (before.to_string(), after.to_string());
            let reported = changes(&before, &after).to_string();
            prop_assert!(!reported.contains("hunter"), "{}", reported);
            let text = ManifestDifference::between(&before, &after).unwrap().to_string();
            prop_assert!(!text.contains("hunter"), "{}", text);
        }
    }
}
