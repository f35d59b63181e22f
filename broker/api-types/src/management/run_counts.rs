//! How far a run has come, by the operation records of the instances.

use serde::Serialize;

use super::{InventoryEntry, LatestRun, OperationState, RunKind, RunOutcome};
use crate::kind::OperationKind;

/// How many instances are where in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunCounts {
    pub total: usize,
    pub done: usize,
    pub in_progress: usize,
    pub failed: usize,
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    InProgress,
    /// Its process has stopped reporting.
    Interrupted,
    Succeeded,
    Failed,
}

impl LatestRun {
    pub fn state(&self) -> RunState {
        match (self.run.outcome, &self.run.lease) {
            (None, Some(_)) if !self.is_running => RunState::Interrupted,
            (None, _) => RunState::InProgress,
            (Some(RunOutcome::Succeeded), _) => RunState::Succeeded,
            (Some(RunOutcome::Failed), _) => RunState::Failed,
        }
    }

    /// The state of the run's operation on an instance, if the run has begun one.
    pub fn operation_on(&self, entry: &InventoryEntry) -> Option<OperationState> {
        let operation = entry.operation.as_ref().filter(|operation| {
            operation.kind == operation_kind(self.run.kind)
                && operation.began.is_some_and(|at| at >= self.run.began)
        });
        operation.map(|operation| operation.state)
    }
}

impl RunCounts {
    /// By the operation records: what was done, begun or failed since the run began.
    pub fn of(latest: &LatestRun, entries: &[InventoryEntry]) -> Self {
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
            match latest.operation_on(entry) {
                Some(OperationState::InProgress) => counts.in_progress += 1,
                Some(OperationState::Failed) => counts.failed += 1,
                _ if is_done => counts.done += 1,
                _ => {}
            }
        }
        counts
    }

    pub fn left(self) -> usize {
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
        let counts = RunCounts::of(&run.unwrap(), &entries);
        let expected = RunCounts {
            total: 5,
            done: 1,
            in_progress: 1,
            failed: 1,
        };
        assert_eq!((counts, counts.left()), (expected, 2));
    }
}
