//! Shows what would change: requested from the broker for each instance, printed for the fleet at once.

use std::{collections::BTreeMap, fmt::Write as _};

use futures_util::{StreamExt, stream};
use odb_api_types::management::{
    ChangeKind, ChangeSort, Changes, DeploymentPresence, DryRun, InventoryEntry, PlannedChange,
};
use odb_clients::http::{Method, StatusCode};
use odb_redaction::Chain;
use serde_json::{Value, json};

use super::listing::row;
use crate::{
    broker_api::{BrokerApi, BrokerApiRejection},
    report::{Outcome, Row},
};

/// Changes of one path to more values than this are printed in one line.
const DISTINCT_VALUES: usize = 5;

/// The row of an instance, and the changes of an upgrade if the broker could compute them.
pub(super) type Forecast = (Row, Option<DryRun>);

/// Requests previews of upgrades, `at_once` instances at a time. Changes nothing.
pub(super) async fn of_upgrades(
    broker: &BrokerApi,
    entries: &[InventoryEntry],
    at_once: usize,
) -> Vec<Forecast> {
    let asked = entries.iter().map(|entry| of_upgrade(broker, entry));
    stream::iter(asked).buffered(at_once).collect().await
}

async fn of_upgrade(broker: &BrokerApi, entry: &InventoryEntry) -> Forecast {
    let id = entry.service_instance_id.as_str();
    let path = ["mgmt", "v1", "service_instances", id, "dry_run"];
    let body = json!({
        "plan_id": entry.plan_id,
        "context": { "space_guid": entry.space_guid.as_deref().unwrap_or_default() },
    });
    let reported: Result<DryRun, _> = broker.send_json(Method::POST, &path, &body).await;
    let (outcome, cause) = match &reported {
        Ok(reported) if reported.needs_deploy => {
            (Outcome::WouldChange, Some(summary(&reported.changes)))
        }
        Ok(_) => (Outcome::Unchanged, None),
        Err(error) => {
            let outcome = match error.status() {
                _ if error.is_gone() => Outcome::DeploymentMissing,
                Some(StatusCode::CONFLICT) => Outcome::Busy,
                _ => Outcome::Failed,
            };
            (outcome, Some(Chain(error).to_string()))
        }
    };
    (row(entry, outcome, cause), reported.ok())
}

/// A recreation makes every VM anew and changes nothing else.
pub(super) fn of_recreation(entry: &InventoryEntry) -> Forecast {
    let (outcome, cause) = match entry.deployment {
        DeploymentPresence::Absent => (Outcome::DeploymentMissing, None),
        DeploymentPresence::Present => {
            let cause = "its VMs would be recreated".to_owned();
            (Outcome::WouldChange, Some(cause))
        }
    };
    (row(entry, outcome, cause), None)
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
    // How many instances each risk concerns.
    recreates_vms: usize,
    restarts_jobs: usize,
    deletes_instances: usize,
}

impl FleetChanges {
    pub(super) fn of(forecasts: &[Forecast]) -> Self {
        let mut fleet = Self::default();
        let mut by_path: BTreeMap<(ChangeKind, String), Vec<(PlannedChange, usize)>> =
            BTreeMap::new();
        for reported in forecasts
            .iter()
            .filter_map(|(_, reported)| reported.as_ref())
        {
            let risks = &reported.risks;
            fleet.recreates_vms += usize::from(!risks.recreates_vms.is_empty());
            fleet.restarts_jobs += usize::from(!risks.restarts_jobs.is_empty());
            fleet.deletes_instances += usize::from(!risks.deletes_instances.is_empty());
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
            let different = values.len();
            if different > DISTINCT_VALUES {
                let change = ChangeSort::Changed;
                fleet.changes.push(Folded {
                    kind,
                    text: format!("{path} changes, to {different} different values"),
                    json: json!({ "path": path, "change": change, "different_values": different }),
                    instances: values.iter().map(|(_, count)| count).sum(),
                });
                continue;
            }
            let changes = values.into_iter().map(|(change, instances)| Folded {
                kind,
                text: change.to_string(),
                json: json!(change),
                instances,
            });
            fleet.changes.extend(changes);
        }
        // Changes that affect most instances come first, and related ones stay together.
        fleet
            .changes
            .sort_by_key(|change| (std::cmp::Reverse(change.instances), change.kind));
        fleet
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for change in &self.changes {
            let instances = counted(change.instances);
            let _ = writeln!(text, "{instances}: {}: {}", change.kind, change.text);
        }
        for (what, instances) in [
            ("VMs would be recreated", self.recreates_vms),
            ("jobs would be restarted", self.restarts_jobs),
            ("VMs would be deleted", self.deletes_instances),
        ] {
            if instances > 0 {
                let _ = writeln!(text, "{}: {what}", counted(instances));
            }
        }
        text
    }

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
            "recreates_vms": self.recreates_vms,
            "restarts_jobs": self.restarts_jobs,
            "deletes_instances": self.deletes_instances,
        })
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
        let reported = json!({
            "service_instance_id": id, "plan_id": "p", "needs_deploy": true, "changes": changes, "risks": risks,
        });
        let row = Row::of(id.to_owned().try_into().unwrap(), Outcome::WouldChange);
        (row, Some(serde_json::from_value(reported).unwrap()))
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
