//! The invariants.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use proptest::{prelude::*, test_runner::TestCaseError};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::sandbox::Sandbox;

/// The observations of tasks so far.
#[derive(Default)]
pub(crate) struct History {
    states: BTreeMap<u64, String>,
}

/// Much more than the lease of a lock in a walk.
const LONGEST_LEASE: Duration = Duration::from_secs(20);

impl History {
    /// Looks at everything while tasks may be running.
    pub(crate) async fn check(&mut self, sandbox: &Sandbox) -> Result<(), TestCaseError> {
        self.check_tasks(&sandbox.all_tasks().await)?;
        check_locks(sandbox).await?;
        check_workers(sandbox).await?;
        check_processes(sandbox).await
    }

    /// Checks the invariants that hold only when no task is running.
    pub(crate) async fn check_settled(&self, sandbox: &Sandbox) -> Result<(), TestCaseError> {
        let vms = sandbox.vms().await;
        for folder in sandbox.vm_folders() {
            prop_assert!(
                vms.contains(&folder),
                "the VM {folder} belongs to no deployment"
            );
        }
        // The lock of a worker that died ends with its lease.
        let deadline = Instant::now() + LONGEST_LEASE;
        loop {
            let locks = sandbox.get("/locks").await;
            if locks == Value::Array(Vec::new()) {
                return Ok(());
            }
            prop_assert!(
                Instant::now() < deadline,
                "no task runs, so there is no lock: {locks}"
            );
            sleep(Duration::from_millis(50)).await;
        }
    }

    fn check_tasks(&mut self, tasks: &[Value]) -> Result<(), TestCaseError> {
        for task in tasks {
            let (id, state) = (
                task["id"].as_u64().unwrap(),
                task["state"].as_str().unwrap(),
            );
            if let Some(before) = self.states.get(&id) {
                prop_assert!(
                    before == state || rank(before) < rank(state),
                    "task {id} went from {before} to {state}"
                );
            }
            self.states.insert(id, state.to_owned());
        }
        let seen: BTreeSet<u64> = tasks
            .iter()
            .filter_map(|task| task["id"].as_u64())
            .collect();
        for id in self.states.keys() {
            prop_assert!(seen.contains(id), "task {id} is forgotten");
        }
        Ok(())
    }
}

fn rank(state: &str) -> u8 {
    match state {
        "queued" => 0,
        "processing" => 1,
        "cancelling" => 2,
        "done" | "error" | "cancelled" | "timeout" => 3,
        other => panic!("there is no task state `{other}`"),
    }
}

/// A lock that is there before and after its task is looked at was held all the time. A task that lost its worker keeps
/// its lock until that expires; one that has ended otherwise must have let go.
async fn check_locks(sandbox: &Sandbox) -> Result<(), TestCaseError> {
    let before = holders(&sandbox.get("/locks").await)?;
    let mut ended = Vec::new();
    for (resource, id) in &before {
        let task = sandbox.get(&format!("/tasks/{id}")).await;
        let state = task["state"].as_str().unwrap_or("unknown");
        if !["processing", "cancelling", "timeout"].contains(&state) {
            ended.push((resource, id, state.to_owned()));
        }
    }
    let after = holders(&sandbox.get("/locks").await)?;
    for (resource, id, state) in ended {
        prop_assert!(
            after.get(resource) != Some(id),
            "task {id} is {state} and holds {resource}"
        );
    }
    Ok(())
}

/// Of a deployment's unfinished tasks, one has begun its work: the others wait for the lock and have no steps. A task
/// that lost its worker no longer counts, which is known once its checkpoint is too old.
async fn check_workers(sandbox: &Sandbox) -> Result<(), TestCaseError> {
    let mut at_work: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for task in sandbox.unfinished_tasks().await {
        let id = task["id"].as_u64().unwrap();
        if sandbox.working_time(id).await.is_some() {
            let deployment = task["deployment"].to_string();
            at_work.entry(deployment).or_default().push(id);
        }
    }
    for tasks in at_work.into_values().filter(|tasks| tasks.len() > 1) {
        let mut alive = Vec::new();
        for id in &tasks {
            if sandbox.ended(*id).await != "timeout" {
                alive.extend(sandbox.working_time(*id).await);
            }
        }
        alive.sort_unstable();
        for pair in alive.windows(2) {
            prop_assert!(
                pair[0].1 <= pair[1].0,
                "tasks {tasks:?} worked at the same time"
            );
        }
    }
    Ok(())
}

/// The holders of the locks.
fn holders(locks: &Value) -> Result<BTreeMap<String, String>, TestCaseError> {
    let mut holders = BTreeMap::new();
    for lock in locks.as_array().unwrap() {
        let task = lock["task_id"].as_str().unwrap().to_owned();
        let earlier = holders.insert(lock["resource"].to_string(), task);
        prop_assert!(earlier.is_none(), "two tasks hold one lock: {locks}");
    }
    Ok(holders)
}

/// A process that runs before and after the VMs are listed ran all the time, so its VM must be in the list.
async fn check_processes(sandbox: &Sandbox) -> Result<(), TestCaseError> {
    let before = sandbox.processes();
    let vms = sandbox.vms().await;
    let after = sandbox.processes();
    for (pid, vm) in before {
        if after.get(&pid) == Some(&vm) {
            prop_assert!(
                vms.contains(&vm),
                "process {pid} runs on {vm}, which is no VM"
            );
        }
    }
    Ok(())
}
