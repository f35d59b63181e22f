//! One pass over the instances, and its rows.

use std::collections::HashMap;

use odb_api_types::{
    ids::InstanceId,
    management::{InventoryEntry, RunKind},
};
use odb_rollout::{Canaries, CanarySelection, Command, Engine, Location, State};

use super::{listing, run::FleetRun};
use crate::{
    Progress,
    report::{Outcome, Row},
    runner::{self, Requests},
};

impl FleetRun<'_> {
    /// Runs a pass over these instances in their states, and logs its summary. Returns the engine at its end, and a row
    /// for each instance.
    pub(super) async fn pass(
        &self,
        requests: &impl Requests,
        entries: &[InventoryEntry],
        states: Vec<State>,
    ) -> anyhow::Result<(Engine, Vec<Row>)> {
        let canaries = self.canaries(entries).await?;
        let activity = match self.operation {
            RunKind::Upgrade => "upgrading",
            RunKind::Recreate => "recreating",
        };
        let before = states.iter().filter(|state| state.is_final()).count();
        let progress = Progress::begin(&self.console, activity, states.len(), before);
        let ids = entries
            .iter()
            .map(|entry| entry.service_instance_id.clone());
        let mut tasks: HashMap<Location, u64> = HashMap::new();
        let names = self.names(entries);
        let observe = |command| match command {
            Command::Show(text) => progress.event(&names.put_into(&text)),
            Command::Log(text) => self.log(&names, &text),
            Command::Changed(location, State::Accepted(Some(task))) => {
                tasks.insert(location, task);
            }
            Command::Changed(_, state) if state.is_final() => {
                if matches!(state, State::Failed(_)) {
                    progress.fail();
                }
                progress.advance();
            }
            _ => {}
        };
        let stopping = &self.dependencies.stopping;
        let instances = ids.zip(states).collect();
        let settings = self.settings();
        let engine = runner::run(requests, settings, instances, canaries, stopping, observe).await;
        drop(progress);
        self.detail(&engine.result().summary);
        let rows = entries.iter().enumerate();
        let rows = rows
            .zip(engine.instances())
            .map(|((location, entry), (_, state, duration))| {
                let task = tasks.get(&location).copied();
                Row {
                    task,
                    duration,
                    ..row(entry, state, engine.unhealthy(location), task)
                }
            });
        let rows = rows.collect();
        Ok((engine, rows))
    }

    async fn canaries(&self, entries: &[InventoryEntry]) -> anyhow::Result<Option<Canaries>> {
        let criteria = &self.file.canary_selection;
        let ids = entries
            .iter()
            .map(|entry| entry.service_instance_id.clone());
        let ids: Vec<InstanceId> = ids.collect();
        let mut matching: Vec<InstanceId> = Vec::new();
        if !criteria.is_empty() {
            let listed = self.list(criteria).await?.into_iter();
            matching.extend(listed.map(|listed| listed.service_instance_id));
        }
        if self.is_narrow() {
            let chosen: std::collections::HashSet<&InstanceId> = ids.iter().collect();
            matching.retain(|id| chosen.contains(id));
        }
        let selection = CanarySelection {
            count: self.file.canaries,
            criteria: criteria.iter().cloned().collect(),
        };
        Ok(selection.among(&ids, &matching)?)
    }
}

fn row(entry: &InventoryEntry, state: &State, unhealthy: Option<&str>, task: Option<u64>) -> Row {
    if let Some(description) = unhealthy {
        let cause = format!("not healthy after its operation: {description}");
        return listing::row(entry, Outcome::Unhealthy, Some(cause));
    }
    let (outcome, cause) = match state {
        State::NotStarted => (Outcome::NotReached, None),
        State::Triggering | State::Accepted(_) => (Outcome::InProgress, None),
        State::Busy => (Outcome::Busy, None),
        State::Succeeded => (Outcome::Succeeded, None),
        State::Done => {
            let cause = "done before the run was interrupted".to_owned();
            (Outcome::Succeeded, Some(cause))
        }
        State::Skipped => (Outcome::Skipped, None),
        State::Failed(cause) => {
            let id = &entry.service_instance_id;
            let cause = beside_instance_and_task(cause, id, task);
            (Outcome::Failed, Some(cause.to_owned()))
        }
        State::Deleted => (Outcome::Gone, None),
        State::Orphan => (Outcome::DeploymentMissing, None),
    };
    listing::row(entry, outcome, cause)
}

/// The cause without the texts of the row's other columns.
fn beside_instance_and_task<'c>(cause: &'c str, id: &InstanceId, task: Option<u64>) -> &'c str {
    let cause = cause.strip_prefix(&format!("[{id}] ")).unwrap_or(cause);
    let of_task = task.map(|task| format!("Operation failed: bosh task id {task}: "));
    of_task
        .and_then(|of_task| cause.strip_prefix(&of_task))
        .unwrap_or(cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_does_not_repeat_the_columns_beside_it() {
        let id = "i1".to_owned().try_into().unwrap();
        let failed = "[i1] Operation failed: bosh task id 7: the disk is full";
        for (cause, task, expected) in [
            (failed, Some(7), "the disk is full"),
            (
                failed,
                None,
                "Operation failed: bosh task id 7: the disk is full",
            ),
            ("no answer", Some(7), "no answer"),
        ] {
            assert_eq!(beside_instance_and_task(cause, &id, task), expected);
        }
    }
}
