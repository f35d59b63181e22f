//! The effect of differences on the VMs of a service, by instance group, before the deployment.

use std::collections::BTreeSet;

use odb_api_types::management::Risks;
use serde_json::Value;

use super::{Manifests, comparison::by_name};

/// The members of a group whose change recreates its VMs.
const MAKES_VMS: [&str; 7] = [
    "stemcell",
    "vm_type",
    "vm_resources",
    "vm_extensions",
    "networks",
    "azs",
    "env",
];

/// The members of a group that its jobs read.
const READ_BY_JOBS: [&str; 2] = ["jobs", "properties"];

/// The members of a manifest that all jobs read, or may read.
const READ_BY_ALL: [&str; 4] = ["properties", "addons", "variables", "features"];

/// The changes outside of the manifest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OtherEffects {
    /// A change of the VMs.
    pub(crate) vms: bool,
    /// A change of the jobs beside the service.
    pub(crate) jobs: bool,
}

/// The groups that a deployment may do something to. Errands have no VMs that stay, and take no part.
pub(crate) fn risks(manifests: &Manifests, configs: OtherEffects) -> Risks {
    let (before, after) = (&manifests.deployed, &manifests.regenerated);
    let (groups_before, groups_after) = (groups(before), groups(after));
    let changed = |key: &str| before.get(key) != after.get(key);
    let concerns_all = configs.jobs || READ_BY_ALL.into_iter().any(changed);
    let releases = changed_items(before, after, "releases");
    let stemcells = changed_items(before, after, "stemcells");
    let mut risks = Risks::default();
    for was in &groups_before {
        let name = name(was);
        let Some(is) = groups_after.iter().find(|group| self::name(group) == name) else {
            if !is_migrated(&groups_after, name) {
                risks.deletes_instances.push(name.to_owned());
            }
            continue;
        };
        if count(is) < count(was) {
            risks.deletes_instances.push(name.to_owned());
        }
        let differ = |key: &str| was.get(key) != is.get(key);
        let has_new_stemcell = is["stemcell"]
            .as_str()
            .is_some_and(|alias| stemcells.contains(alias));
        let has_new_release = || {
            let jobs = is["jobs"].as_array().into_iter().flatten();
            let mut used = jobs.filter_map(|job| job["release"].as_str());
            used.any(|release| releases.contains(release))
        };
        if configs.vms || has_new_stemcell || MAKES_VMS.iter().any(|key| differ(key)) {
            risks.recreates_vms.push(name.to_owned());
        } else if concerns_all || has_new_release() || READ_BY_JOBS.iter().any(|key| differ(key)) {
            risks.restarts_jobs.push(name.to_owned());
        }
    }
    risks
}

fn groups(document: &Value) -> Vec<&Value> {
    let groups = document["instance_groups"].as_array().into_iter().flatten();
    groups
        .filter(|group| group["lifecycle"] != "errand" && !name(group).is_empty())
        .collect()
}

fn name(group: &Value) -> &str {
    group["name"].as_str().unwrap_or_default()
}

fn count(group: &Value) -> u64 {
    group["instances"].as_u64().unwrap_or_default()
}

/// Whether its instances continue under another name.
fn is_migrated(groups: &[&Value], name: &str) -> bool {
    let mut sources = groups
        .iter()
        .filter_map(|group| group["migrated_from"].as_array())
        .flatten();
    sources.any(|source| source["name"] == name)
}

/// The names or aliases of the items that have changed.
fn changed_items<'d>(before: &'d Value, after: &'d Value, section: &str) -> BTreeSet<&'d str> {
    let items = |document: &'d Value| {
        let list = document[section].as_array();
        list.and_then(|list| by_name(list)).unwrap_or_default()
    };
    let (before, after) = (items(before), items(after));
    let names = before.keys().chain(after.keys()).copied();
    names
        .filter(|name| before.get(name) != after.get(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPLOYED: &str = "
releases: [{name: redis, version: '7.4'}, {name: bpm, version: '1'}]
stemcells: [{alias: default, os: ubuntu-jammy, version: '1.80'}, {alias: old, os: ubuntu-trusty, version: '1'}]
instance_groups:
- {name: server, instances: 3, vm_type: small, stemcell: default, jobs: [{name: redis, release: redis, properties: {a: 1}}]}
- {name: proxy, instances: 2, vm_type: small, stemcell: old, jobs: [{name: proxy, release: bpm}]}
- {name: smoke, instances: 1, lifecycle: errand, stemcell: default, jobs: [{name: smoke, release: redis}]}
";

    fn reported(from: &str, to: &str) -> [String; 3] {
        reported_with(OtherEffects::default(), from, to)
    }

    /// VMs that are made anew, jobs that are restarted, instances that are deleted.
    fn reported_with(configs: OtherEffects, from: &str, to: &str) -> [String; 3] {
        let regenerated = DEPLOYED.replace(from, to);
        let manifests = Manifests::read(DEPLOYED, &regenerated).unwrap();
        let risks = risks(&manifests, configs);
        [
            risks.recreates_vms,
            risks.restarts_jobs,
            risks.deletes_instances,
        ]
        .map(|groups| groups.join(" "))
    }

    #[test]
    fn the_groups_are_reported_whose_vms_are_made_anew() {
        assert_eq!(
            reported("version: '1.80'", "version: '1.90'"),
            ["server", "", ""]
        );
        assert_eq!(
            reported(
                "vm_type: small, stemcell: old",
                "vm_type: large, stemcell: old"
            ),
            ["proxy", "", ""]
        );
        let configs = OtherEffects {
            vms: true,
            jobs: false,
        };
        assert_eq!(
            reported_with(configs, "bpm", "bpm"),
            ["server proxy", "", ""]
        );
    }

    #[test]
    fn the_groups_are_reported_whose_jobs_are_restarted() {
        assert_eq!(reported("{a: 1}", "{a: 2}"), ["", "server", ""]);
        assert_eq!(
            reported("version: '7.4'", "version: '7.5'"),
            ["", "server", ""]
        );
        assert_eq!(
            reported("\nreleases", "\nproperties: {a: 1}\nreleases"),
            ["", "server proxy", ""]
        );
        let configs = OtherEffects {
            vms: false,
            jobs: true,
        };
        assert_eq!(
            reported_with(configs, "bpm", "bpm"),
            ["", "server proxy", ""]
        );
    }

    #[test]
    fn groups_that_lose_instances_are_reported() {
        assert_eq!(reported("instances: 3", "instances: 1"), ["", "", "server"]);
        assert_eq!(reported("instances: 3", "instances: 5"), ["", "", ""]);
        assert_eq!(
            reported("name: proxy, instances", "name: haproxy, instances"),
            ["", "", "proxy"]
        );
        assert_eq!(
            reported(
                "name: proxy, instances",
                "name: haproxy, migrated_from: [{name: proxy}], instances"
            ),
            ["", "", ""]
        );
        assert_eq!(reported("name: smoke", "name: check"), ["", "", ""]);
    }
}
