//! The planned changes of an upgrade, compared with the instance, and their effect on its VMs before the deployment.
//! Skipped upgrades and dry runs share this code, so that the dry run predicts the upgrade.

use std::collections::BTreeSet;

use odb_api_types::{
    ids::PlanId,
    management::{ChangeKind, ChangeSort, Changes, PlannedChange, Risks},
};
use serde_json::Value;

use crate::{
    configs::{ConfigChanges, CurrentConfigs},
    instance_clients::InstanceClient,
    manifest::difference::{Manifests, UnreadableManifest, by_name, changes_of_config, grouped},
    orders::{Generated, change::AtRest},
    records::operation_record::{ClientRole, Outcome},
    secrets::NewSecret,
};

/// The types of BOSH configs by what depends on them.
const MAKES_VMS: [&str; 2] = ["cloud", "cpi"];
const ADDS_JOBS: &str = "runtime";

/// The members of a group whose change recreates its VMs.
const GROUP_MAKES_VMS: [&str; 7] = [
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlannedClient {
    /// The client has the wanted attributes, or there is none.
    Stays,
    Changes(ChangeSort),
    /// Clients are no longer defined; an existing one is deleted.
    MayGo,
}

#[derive(Debug)]
pub(crate) struct Foreseen {
    pub(crate) changes: Changes,
    pub(crate) risks: Risks,
    /// Something would change, or it is not known that the last operation has succeeded, on this plan.
    pub(crate) needs_deploy: bool,
}

/// The changes outside of the manifest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OtherEffects {
    vms: bool,
    /// A change of the jobs beside the service.
    jobs: bool,
}

impl PlannedClient {
    /// The change of a client that the upgrade has read; otherwise what its role in the last operation shows.
    pub(crate) fn of(client: Option<&InstanceClient>, role: ClientRole, are_defined: bool) -> Self {
        match client {
            Some(client) => client.change().map_or(Self::Stays, Self::Changes),
            None if are_defined || role.is_none() => Self::Stays,
            None => Self::MayGo,
        }
    }
}

/// Compares what an upgrade submits with the instance as it is.
pub(crate) fn foresee(
    plan: &PlanId,
    generated: &Generated,
    client: PlannedClient,
    current: &AtRest,
) -> Result<Foreseen, UnreadableManifest> {
    let manifests = Manifests::read(current.manifest.as_str(), generated.manifest.as_str())?;
    let mut changes = grouped(&manifests);
    let configs = current.configs.as_ref();
    let mut effects = compare_configs(configs, &generated.configs, &mut changes);
    // Jobs read the new value under the same name.
    effects.jobs |= !generated.secrets.is_empty();
    for secret in &generated.secrets {
        changes.add(ChangeKind::Secrets, change_of_secret(secret));
    }
    if let PlannedClient::Changes(change) = client {
        let change = PlannedChange::hidden("uaa_client".to_owned(), change);
        changes.add(ChangeKind::Client, change);
    }
    let has_succeeded = current.stored.as_ref().is_some_and(|stored| {
        let record = &stored.record;
        record.plan == *plan && record.outcome.as_ref().is_some_and(Outcome::is_success)
    });
    let is_up_to_date = changes.is_empty() && client != PlannedClient::MayGo && has_succeeded;
    Ok(Foreseen {
        changes,
        risks: risks(&manifests, effects),
        needs_deploy: !is_up_to_date,
    })
}

fn compare_configs(
    before: Option<&CurrentConfigs>,
    after: &ConfigChanges,
    changes: &mut Changes,
) -> OtherEffects {
    let before = before.map(CurrentConfigs::contents).unwrap_or_default();
    let mut effects = OtherEffects::default();
    let written = after
        .written
        .iter()
        .map(|(kind, content)| (kind, Some(content.as_str())));
    let obsolete = after.obsolete.iter().map(|kind| (kind, None));
    for (kind, after) in written.chain(obsolete) {
        let found = changes_of_config(kind, before.get(kind).map(String::as_str), after);
        effects.vms |= !found.is_empty() && MAKES_VMS.contains(&kind.as_str());
        effects.jobs |= !found.is_empty() && kind == ADDS_JOBS;
        for change in found {
            changes.add(ChangeKind::Configs, change);
        }
    }
    effects
}

fn change_of_secret(secret: &NewSecret) -> PlannedChange {
    let change = if secret.is_first() {
        ChangeSort::Added
    } else {
        ChangeSort::Changed
    };
    PlannedChange::hidden(format!("secrets[{}]", secret.path()), change)
}

/// The groups that a deployment may do something to. Errands have no VMs that stay, and take no part.
fn risks(manifests: &Manifests, configs: OtherEffects) -> Risks {
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
        if configs.vms || has_new_stemcell || GROUP_MAKES_VMS.iter().any(|key| differ(key)) {
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
    use jiff::Timestamp;
    use odb_api_types::kind::OperationKind;
    use odb_clients::director::ConfigId;
    use serde_json::{Map, json};

    use super::*;
    use crate::records::operation_record::{OperationRecord, StoredRecord, example};

    const MANIFEST: &str = "
name: d
instance_groups: [{name: g, instances: 1, update: {max_in_flight: 1}}]
update: {canaries: 1, max_in_flight: 1}
";

    fn succeeded() -> Outcome {
        Outcome::Succeeded {
            description: String::new(),
        }
    }

    fn record(plan: &str, outcome: Option<Outcome>) -> OperationRecord {
        let mut record = example(OperationKind::Create);
        record.plan = plan.to_owned().into();
        match outcome {
            Some(outcome) => record.ended(outcome, Timestamp::now()),
            None => record,
        }
    }

    fn instance(record: Option<OperationRecord>) -> AtRest {
        let id = ConfigId::try_from("1".to_owned()).unwrap();
        AtRest {
            manifest: MANIFEST.into(),
            stored: record.map(|record| Box::new(StoredRecord { id, record })),
            configs: Some(CurrentConfigs::default()),
        }
    }

    fn known() -> AtRest {
        instance(Some(record("small", Some(succeeded()))))
    }

    /// Whether the instance is to be deployed, and whether nothing changes.
    fn assess(
        current: &AtRest,
        manifest: &str,
        configs: &[(&str, &str)],
        client: PlannedClient,
    ) -> (bool, bool) {
        let foreseen = foreseen(current, manifest, configs, client);
        (foreseen.needs_deploy, foreseen.changes.is_empty())
    }

    fn foreseen(
        current: &AtRest,
        manifest: &str,
        configs: &[(&str, &str)],
        client: PlannedClient,
    ) -> Foreseen {
        let written = configs
            .iter()
            .map(|(kind, content)| ((*kind).to_owned(), (*content).to_owned()))
            .collect();
        let generated = Generated {
            manifest: manifest.into(),
            configs: ConfigChanges {
                written,
                obsolete: Vec::new(),
            },
            secrets: Vec::new(),
            labels: Map::new(),
        };
        let plan = "small".to_owned().into();
        foresee(&plan, &generated, client, current).unwrap()
    }

    #[test]
    fn an_instance_is_in_location_when_nothing_changes_and_its_last_operation_has_succeeded() {
        let same = MANIFEST.replace("name: d", "name:   d");
        let stays = PlannedClient::Stays;
        assert_eq!(assess(&known(), &same, &[], stays), (false, true));
    }

    #[test]
    fn how_changes_are_rolled_out_counts_for_it_is_what_recreations_go_by() {
        for (from, to) in [
            (
                "canaries: 1, max_in_flight: 1",
                "canaries: 1, max_in_flight: 2",
            ),
            ("canaries: 1,", "canaries: 2,"),
            (
                "update: {max_in_flight: 1}}]",
                "update: {max_in_flight: 2}}]",
            ),
        ] {
            let manifest = MANIFEST.replace(from, to);
            let found = assess(&known(), &manifest, &[], PlannedClient::Stays);
            assert_eq!(found, (true, false), "{to}");
        }
    }

    #[test]
    fn what_would_change_beside_the_manifest_counts() {
        let stays = PlannedClient::Stays;
        let with_config = assess(&known(), MANIFEST, &[("cloud", "azs: []")], stays);
        assert_eq!(with_config, (true, false));
        for (sort, text) in [
            (ChangeSort::Added, "added"),
            (ChangeSort::Changed, "changed"),
        ] {
            let foreseen = foreseen(&known(), MANIFEST, &[], PlannedClient::Changes(sort));
            assert!(foreseen.needs_deploy);
            assert_eq!(
                serde_json::to_value(&foreseen.changes).unwrap(),
                json!({ "client": [{ "path": "uaa_client", "change": text }] })
            );
        }
    }

    #[test]
    fn an_instance_of_which_too_little_is_known_is_to_be_deployed_though_nothing_changes() {
        let failed = Outcome::Failed {
            description: String::new(),
            condition: None,
        };
        for current in [
            instance(None),
            instance(Some(record("small", None))),
            instance(Some(record("small", Some(failed)))),
            instance(Some(record("large", Some(succeeded())))),
        ] {
            let found = assess(&current, MANIFEST, &[], PlannedClient::Stays);
            assert_eq!(found, (true, true));
        }
    }

    #[test]
    fn a_client_that_may_be_left_of_a_definition_is_to_go() {
        for (role, are_defined) in [
            (ClientRole::None, false),
            (ClientRole::None, true),
            (ClientRole::Kept, true),
        ] {
            let client = PlannedClient::of(None, role, are_defined);
            assert_eq!(client, PlannedClient::Stays, "{role:?}");
        }
        let client = PlannedClient::of(None, ClientRole::Kept, false);
        assert_eq!(assess(&known(), MANIFEST, &[], client), (true, true));
    }

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
