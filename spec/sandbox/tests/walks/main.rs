//! Random walks: whatever is asked of a foundation, and however it ends and starts again, some things stay true.
//!
//! Each walk is a sandbox of its own, run as its user runs it. The steps go in without waiting for each other, so that
//! tasks meet. After every step, and once everything has settled, this must hold:
//!
//! - a deployment's lock has one holder, and that is a task that has not ended;
//! - task states only move forward;
//! - no process runs without a VM, and no VM is there without a deployment.

#![cfg(test)]

mod invariants;
mod sandbox;
mod steps;

use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseError},
};
use tokio::runtime::Runtime;

use self::{
    invariants::History,
    sandbox::Sandbox,
    steps::{Name, Shape, Step, walks},
};

proptest! {
    #![proptest_config(Config {
        cases: 3,
        max_shrink_iters: 40,
        failure_persistence: None,
        ..Config::default()
    })]

    #[test]
    fn whatever_happens_the_director_keeps_its_promises(walk in walks()) {
        let runtime = Runtime::new().unwrap();
        runtime.block_on(walked(walk))?;
    }
}

async fn walked(walk: Vec<Step>) -> Result<(), TestCaseError> {
    let mut sandbox = Sandbox::start().await;
    let mut history = History::default();
    // What is checked below must have something to be true of.
    let first = Step::Deploy(Name(0), Shape::Instances(1));
    first.take(&mut sandbox).await;
    Step::Settle.take(&mut sandbox).await;
    let tasks = sandbox.all_tasks().await;
    prop_assert!(
        tasks.iter().all(|task| task["state"] == "done"),
        "{tasks:?}"
    );
    prop_assert_eq!(sandbox.processes().len(), 1);
    for step in &walk {
        step.take(&mut sandbox).await;
        history.check(&sandbox).await?;
    }
    Step::Settle.take(&mut sandbox).await;
    history.check(&sandbox).await?;
    history.check_settled(&sandbox).await?;

    sandbox.delete_everything().await;
    history.check(&sandbox).await?;
    prop_assert!(
        sandbox.processes().is_empty(),
        "a process outlives all deployments"
    );
    prop_assert!(
        sandbox.vm_folders().is_empty(),
        "a VM outlives all deployments"
    );
    sandbox.stop().await;
    Ok(())
}
