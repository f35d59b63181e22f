//! Differences by their meaning to operators: each has one kind.

use std::collections::BTreeSet;

use odb_adapter_sdk::yaml;
use odb_api_types::management::{ChangeKind, ChangeSort, Changes, PlannedChange};
use serde_json::Value;

use super::{
    Manifests,
    comparison::{Change, Difference, compare},
    path::{Path, Segment, Shown},
};

/// All differences between two manifests, `update` blocks included.
pub(crate) fn grouped(manifests: &Manifests) -> Changes {
    let errands = errand_groups(manifests);
    let mut changes = Changes::default();
    for difference in manifests.differences() {
        let kind = kind_of(difference.path.segments(), &errands);
        changes.add(kind, planned(difference));
    }
    changes
}

/// The differences between two contents of a BOSH config; absent if there are none.
pub(crate) fn changes_of_config(
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
    differences.into_iter().map(planned).collect()
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

/// The groups whose instances only run an errand, before or after.
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

fn planned(difference: Difference) -> PlannedChange {
    let shown = |shown| match shown {
        Shown::Value(value) => Some(value),
        Shown::Masked => None,
    };
    let (change, from, to) = match difference.change {
        Change::Added(to) => (ChangeSort::Added, None, shown(to)),
        Change::Removed(from) => (ChangeSort::Removed, shown(from), None),
        Change::Changed { from, to } => match (shown(from), shown(to)) {
            (Some(from), Some(to)) => (ChangeSort::Changed, Some(from), Some(to)),
            _ => (ChangeSort::Changed, None, None),
        },
    };
    PlannedChange {
        path: difference.path.to_string(),
        change,
        from,
        to,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{
        super::tests::{DEPLOYED, documents},
        *,
    };

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
            let plain = manifests.clone().without_update_blocks().differences();
            let mut plain: Vec<String> = plain
                .into_iter()
                .map(|difference| format!("{:?}", planned(difference)))
                .collect();
            without_updates.sort();
            plain.sort();
            prop_assert_eq!(without_updates, plain);
            let all = changes.kinds().map(|(_, changes)| changes.len()).sum::<usize>();
            prop_assert_eq!(all, manifests.differences().len());
        }

        #[test]
        fn nothing_appears_but_what_is_listed_as_harmless(before in secret_documents(), after in secret_documents()) {
            let (before, after) = (before.to_string(), after.to_string());
            let reported = changes(&before, &after).to_string();
            prop_assert!(!reported.contains("hunter"), "{}", reported);
            let text = super::super::ManifestDifference::between(&before, &after).unwrap().to_string();
            prop_assert!(!text.contains("hunter"), "{}", text);
        }
    }
}
