//! Shows what would change: requested from the broker for each instance, printed for the fleet at once.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use futures_util::{StreamExt, stream};
use odb_api_types::{
    ids::InstanceId,
    management::{ChangeKind, ChangeSort, Changes, DeploymentPresence, DryRun, PlannedChange},
};
use odb_clients::http::StatusCode;
use odb_redaction::Chain;
use serde_json::{Value, json};

use super::members::Member;
use crate::{
    broker_api::{BrokerApi, BrokerApiRejection},
    report::{Outcome, Row},
};

/// Changes of one path to more values than this are printed in one line.
const DISTINCT_VALUES: usize = 5;

/// The dry run of one instance.
#[derive(Debug)]
pub(super) struct Forecast {
    pub(super) row: Row,
    /// The changes of an upgrade, if the broker could compute them.
    reported: Option<DryRun>,
}

impl Forecast {
    /// Whether the changes are unknown.
    pub(super) fn is_unknown(&self) -> bool {
        matches!(self.row.outcome, Outcome::Failed | Outcome::Busy)
    }
}

/// Requests previews of upgrades, `at_once` instances at a time. Changes nothing.
pub(super) async fn of_upgrades(
    broker: &BrokerApi,
    members: &[Member],
    at_once: usize,
) -> Vec<Forecast> {
    let asked = members.iter().map(|member| of_upgrade(broker, member));
    stream::iter(asked).buffered(at_once).collect().await
}

async fn of_upgrade(broker: &BrokerApi, member: &Member) -> Forecast {
    let path = [
        "mgmt",
        "v1",
        "service_instances",
        member.id.as_str(),
        "dry_run",
    ];
    let body = json!({
        "plan_id": member.plan,
        "context": { "space_guid": member.space.as_deref().unwrap_or_default() },
    });
    match broker.post::<_, DryRun>(&path, &body).await {
        Ok(reported) => {
            let row = if reported.needs_deploy {
                member.row(Outcome::WouldChange, Some(summary(&reported.changes)))
            } else {
                member.row(Outcome::Unchanged, None)
            };
            Forecast {
                row,
                reported: Some(reported),
            }
        }
        Err(error) => {
            let outcome = match error.status() {
                _ if error.is_gone() => Outcome::DeploymentMissing,
                Some(StatusCode::CONFLICT) => Outcome::Busy,
                _ => Outcome::Failed,
            };
            Forecast {
                row: member.row(outcome, Some(Chain(&error).to_string())),
                reported: None,
            }
        }
    }
}

/// The changes of one instance by kind. The changes themselves are printed once for the fleet.
fn summary(changes: &Changes) -> String {
    let kinds: Vec<String> = changes
        .kinds()
        .map(|(kind, changes)| match changes.len() {
            1 => format!("1 change in {kind}"),
            count => format!("{count} changes in {kind}"),
        })
        .collect();
    if kinds.is_empty() {
        "no difference found, but the last operation is not known to have succeeded".to_owned()
    } else {
        kinds.join(", ")
    }
}

/// A recreation makes every VM anew and changes nothing else.
pub(super) fn of_recreation(member: &Member) -> Forecast {
    let deployment = member.entry.as_ref().map(|entry| entry.deployment);
    let row = match deployment {
        Some(DeploymentPresence::Absent) => member.row(Outcome::DeploymentMissing, None),
        Some(DeploymentPresence::Present) | None => {
            let cause = "its VMs would be recreated".to_owned();
            member.row(Outcome::WouldChange, Some(cause))
        }
    };
    Forecast {
        row,
        reported: None,
    }
}

/// One change, and how many instances it would happen to.
#[derive(Clone, Debug, PartialEq)]
struct Folded {
    kind: ChangeKind,
    text: String,
    json: Value,
    instances: usize,
}

/// The changes of a fleet, with identical ones merged.
#[derive(Debug, Default)]
pub(super) struct FleetChanges {
    changes: Vec<Folded>,
    recreates_vms: BTreeSet<InstanceId>,
    restarts_jobs: BTreeSet<InstanceId>,
    deletes_instances: BTreeSet<InstanceId>,
}

impl FleetChanges {
    pub(super) fn of(forecasts: &[Forecast]) -> Self {
        let mut fleet = Self::default();
        let mut by_path: BTreeMap<(ChangeKind, String), Vec<(PlannedChange, usize)>> =
            BTreeMap::new();
        for reported in forecasts
            .iter()
            .filter_map(|forecast| forecast.reported.as_ref())
        {
            let id = &reported.service_instance_id;
            for (risk, instances) in [
                (&reported.risks.recreates_vms, &mut fleet.recreates_vms),
                (&reported.risks.restarts_jobs, &mut fleet.restarts_jobs),
                (
                    &reported.risks.deletes_instances,
                    &mut fleet.deletes_instances,
                ),
            ] {
                if !risk.is_empty() {
                    instances.insert(id.clone());
                }
            }
            for (kind, changes) in reported.changes.kinds() {
                for change in changes {
                    let same = by_path.entry((kind, change.path.clone())).or_default();
                    match same.iter_mut().find(|(known, _)| known == change) {
                        Some((_, count)) => *count += 1,
                        None => same.push((change.clone(), 1)),
                    }
                }
            }
        }
        for ((kind, path), values) in by_path {
            if values.len() > DISTINCT_VALUES {
                fleet.changes.push(differing(kind, &path, &values));
            } else {
                fleet
                    .changes
                    .extend(values.into_iter().map(|(change, instances)| Folded {
                        kind,
                        text: change.to_string(),
                        json: json!(change),
                        instances,
                    }));
            }
        }
        // Changes that affect most instances come first, and related ones stay together.
        fleet
            .changes
            .sort_by_key(|change| (std::cmp::Reverse(change.instances), change.kind));
        fleet
    }

    /// A line for each change.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for change in &self.changes {
            let instances = counted(change.instances);
            let _ = writeln!(text, "{instances}: {}: {}", change.kind, change.text);
        }
        for (what, instances) in [
            ("VMs would be recreated", &self.recreates_vms),
            ("jobs would be restarted", &self.restarts_jobs),
            ("VMs would be deleted", &self.deletes_instances),
        ] {
            if !instances.is_empty() {
                let _ = writeln!(text, "{}: {what}", counted(instances.len()));
            }
        }
        text
    }

    /// For programs.
    pub(super) fn changes(&self) -> Value {
        let changes = self.changes.iter().map(|change| {
            let mut json = change.json.clone();
            json["kind"] = json!(change.kind);
            json["instances"] = change.instances.into();
            json
        });
        changes.collect()
    }

    /// For programs: how many instances each risk concerns.
    pub(super) fn risks(&self) -> Value {
        json!({
            "recreates_vms": self.recreates_vms.len(),
            "restarts_jobs": self.restarts_jobs.len(),
            "deletes_instances": self.deletes_instances.len(),
        })
    }
}

/// One line for a thing that becomes something else in nearly every instance.
fn differing(kind: ChangeKind, path: &str, values: &[(PlannedChange, usize)]) -> Folded {
    let change = ChangeSort::Changed;
    Folded {
        kind,
        text: format!("{path} changes, to {} different values", values.len()),
        json: json!({ "path": path, "change": change, "different_values": values.len() }),
        instances: values.iter().map(|(_, count)| count).sum(),
    }
}

fn counted(instances: usize) -> String {
    let noun = if instances == 1 {
        "instance"
    } else {
        "instances"
    };
    format!("{instances} {noun}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecast(id: &str, changes: &Value, risks: &Value) -> Forecast {
        let instance: InstanceId = id.to_owned().try_into().unwrap();
        let reported = json!({
            "service_instance_id": id, "plan_id": "p", "needs_deploy": true, "changes": changes, "risks": risks,
        });
        Forecast {
            row: Row::of(instance, Outcome::WouldChange),
            reported: Some(serde_json::from_value(reported).unwrap()),
        }
    }

    fn stemcell(from: &str) -> Value {
        json!({ "stemcells": [
            { "path": "stemcells[default].version", "change": "changed", "from": from, "to": "1.95" },
        ] })
    }

    #[test]
    fn identical_changes_are_reported_once_and_those_of_most_instances_first() {
        let risks = json!({
            "recreates_vms": ["redis"], "restarts_jobs": [], "deletes_instances": [],
        });
        let forecasts = [
            forecast("a", &stemcell("1.70"), &risks),
            forecast("b", &stemcell("1.80"), &risks),
            forecast("c", &stemcell("1.80"), &risks),
        ];
        let fleet = FleetChanges::of(&forecasts);
        assert_eq!(
            fleet.text(),
            "2 instances: stemcells: stemcells[default].version changes from \"1.80\" to \"1.95\"\n\
             1 instance: stemcells: stemcells[default].version changes from \"1.70\" to \"1.95\"\n\
             3 instances: VMs would be recreated\n"
        );
        assert_eq!(
            fleet.changes()[0],
            json!({
                "path": "stemcells[default].version", "change": "changed", "from": "1.80", "to": "1.95",
                "kind": "stemcells", "instances": 2,
            })
        );
        assert_eq!(fleet.risks()["recreates_vms"], 3);
    }

    #[test]
    fn an_instance_that_would_change_says_in_what() {
        let changes: Changes = serde_json::from_value(json!({
            "stemcells": [{ "path": "a", "change": "changed" }],
            "properties": [{ "path": "b", "change": "added" }, { "path": "c", "change": "removed" }],
        }))
        .unwrap();
        assert_eq!(
            summary(&changes),
            "1 change in stemcells, 2 changes in properties"
        );
        let none = summary(&Changes::default());
        assert!(none.contains("not known to have succeeded"), "{none}");
    }

    #[test]
    fn what_differs_in_nearly_every_instance_takes_one_line() {
        let forecasts: Vec<_> = (0..9)
            .map(|number| {
                forecast(
                    &format!("i{number}"),
                    &stemcell(&number.to_string()),
                    &json!({
                        "recreates_vms": [], "restarts_jobs": [], "deletes_instances": [],
                    }),
                )
            })
            .collect();
        assert_eq!(
            FleetChanges::of(&forecasts).text(),
            "9 instances: stemcells: stemcells[default].version changes, to 9 different values\n"
        );
    }
}
