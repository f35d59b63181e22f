//! `odb rollout status`: the latest run of each kind, and how far it has come.

use clap::Args;
use jiff::Timestamp;
use odb_api_types::{
    code::Code,
    kind::OperationKind,
    management::{InventoryEntry, LatestRun, OperationState, RunKind, RunOutcome},
};
use odb_errand::{BrokerApi, BrokerApiRejection, ExitStatus};
use serde::Serialize;

use crate::{
    names::{Filter, list},
    output::{Output, Table, Tone, age},
};

/// Show the latest run of each kind with its counts
///
/// Exit status: 0 no run is in progress, 10 one is.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  odb rollout status\n  odb rollout status -o json")]
pub(crate) struct Status {}

/// How many instances are where in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Counts {
    total: usize,
    done: usize,
    in_progress: usize,
    failed: usize,
}

#[derive(Debug, Serialize)]
struct Reported {
    #[serde(flatten)]
    run: LatestRun,
    instances: Counts,
}

impl Status {
    pub(super) async fn run(
        &self,
        broker: &BrokerApi,
        output: &Output,
    ) -> anyhow::Result<ExitStatus> {
        let mut runs = Vec::new();
        for kind in RunKind::ALL {
            match broker.latest_run(kind).await {
                Ok(run) => runs.push(run),
                Err(error) if error.has_code(Code::NotFound) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let entries = if runs.is_empty() {
            Vec::new()
        } else {
            list(broker, &Filter::default()).await?
        };
        let headings = [
            "KIND",
            "STATE",
            "BEGAN",
            "TARGET",
            "DONE",
            "IN PROGRESS",
            "FAILED",
            "LEFT",
        ];
        let (mut table, now) = (Table::new(&headings), Timestamp::now());
        let reported = runs.into_iter().map(|run| Reported {
            instances: Counts::of(&run, &entries),
            run,
        });
        let reported: Vec<Reported> = reported.collect();
        let mut is_in_progress = false;
        for Reported { run, instances } in &reported {
            let (state, tone) = match (run.run.outcome, &run.run.lease) {
                (None, Some(_)) if !run.is_running => ("interrupted", Tone::Bad),
                (None, _) => ("in progress", Tone::Busy),
                (Some(RunOutcome::Succeeded), _) => ("succeeded", Tone::Good),
                (Some(RunOutcome::Failed), _) => ("failed", Tone::Bad),
            };
            is_in_progress |= tone == Tone::Busy;
            let target = if run.is_current {
                "current"
            } else {
                "replaced"
            };
            let plain = |text: String| (text, Tone::Plain);
            table.add_toned([
                plain(run.run.kind.to_string()),
                (state.to_owned(), tone),
                plain(format!("{} ago", age(run.run.began, now))),
                plain(target.to_owned()),
                plain(format!("{}/{}", instances.done, instances.total)),
                plain(instances.in_progress.to_string()),
                plain(instances.failed.to_string()),
                plain(instances.left().to_string()),
            ]);
        }
        output.print(&reported, &table)?;
        Ok(if is_in_progress {
            ExitStatus::Special
        } else {
            ExitStatus::Success
        })
    }
}

impl Counts {
    /// By the operation records: what was done, begun or failed since the run began.
    fn of(latest: &LatestRun, entries: &[InventoryEntry]) -> Self {
        let (kind, began) = (latest.run.kind, latest.run.began);
        let mut counts = Self {
            total: entries.len(),
            ..Self::default()
        };
        for entry in entries {
            let is_done = match kind {
                RunKind::Upgrade => entry.up_to_date == Some(true),
                RunKind::Recreate => entry.recreated.is_some_and(|at| at >= began),
            };
            let of_run = entry.operation.as_ref().filter(|operation| {
                operation.kind == operation_kind(kind)
                    && operation.began.is_some_and(|at| at >= began)
            });
            match of_run.map(|operation| operation.state) {
                Some(OperationState::InProgress) => counts.in_progress += 1,
                Some(OperationState::Failed) => counts.failed += 1,
                _ if is_done => counts.done += 1,
                _ => {}
            }
        }
        counts
    }

    fn left(self) -> usize {
        let seen = self.done + self.in_progress + self.failed;
        self.total.saturating_sub(seen)
    }
}

fn operation_kind(kind: RunKind) -> OperationKind {
    match kind {
        RunKind::Upgrade => OperationKind::Upgrade,
        RunKind::Recreate => OperationKind::Recreate,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn instances_are_counted_by_what_the_run_has_done() {
        let run = serde_json::from_value(json!({
            "id": "9d6c1d2e-54b1-4b3c-9f2a-0f6d1c2b3a4d", "kind": "upgrade",
            "began": "2026-01-01T12:00:00Z", "target": "t", "is_current": true,
        }));
        let operation =
            |state: &str, began: &str| json!({ "kind": "upgrade", "state": state, "began": began });
        let entries = [
            json!({ "up_to_date": true }),
            json!({ "operation": operation("in progress", "2026-01-01T12:00:01Z") }),
            json!({ "operation": operation("failed", "2026-01-01T12:00:01Z") }),
            json!({ "operation": operation("failed", "2026-01-01T11:59:59Z") }),
            json!({ "up_to_date": false }),
        ];
        let entries: Vec<InventoryEntry> = entries
            .into_iter()
            .map(|mut entry| {
                entry["service_instance_id"] = "i".into();
                entry["deployment"] = "present".into();
                entry["owner"] = "this_broker".into();
                serde_json::from_value(entry).unwrap()
            })
            .collect();
        let counts = Counts::of(&run.unwrap(), &entries);
        let expected = Counts {
            total: 5,
            done: 1,
            in_progress: 1,
            failed: 1,
        };
        assert_eq!((counts, counts.left()), (expected, 2));
    }
}
