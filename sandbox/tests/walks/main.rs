//! Random walks: whatever is asked of a foundation, and however it ends and starts again, some things stay true.
//!
//! Each walk is a sandbox of its own, run as its user runs it. The steps go in without waiting for each other, so that
//! tasks meet. After every step, and once everything has settled, this must hold:
//!
//! - a deployment's lock has one holder, and that is a task that has not ended;
//! - task states only move forward;
//! - no process runs without a VM, and no VM is there without a deployment.
//!
//! A usual run takes always the same walks; `ODB_SEED` draws others, `ODB_WALKS` says how many there are.

#![cfg(test)]

mod invariants;
mod sandbox;
mod steps;

use std::{env, str::FromStr};

use proptest::{
    prelude::*,
    test_runner::{Config, RngSeed, TestCaseError},
};
use tokio::runtime::Runtime;

use self::{
    invariants::History,
    sandbox::Sandbox,
    steps::{Name, Shape, Step, walks},
};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn whatever_happens_the_director_keeps_its_promises(walk in walks()) {
        let runtime = Runtime::new().unwrap();
        runtime.block_on(walked(walk))?;
    }
}

/// How many walks a usual run takes.
const USUAL: u32 = 3;
/// Draws those of a usual run.
const USUAL_SEED: u64 = 20_250_817;

fn config() -> Config {
    let seed = number("ODB_SEED").unwrap_or(USUAL_SEED);
    let cases = number("ODB_WALKS").unwrap_or(USUAL);
    println!("{cases} walks, ODB_SEED={seed}");
    Config {
        cases,
        max_shrink_iters: 40,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed),
        ..Config::default()
    }
}

fn number<T: FromStr>(variable: &str) -> Option<T> {
    let text = env::var_os(variable)?;
    let number = text.to_str().and_then(|text| text.parse().ok());
    Some(number.unwrap_or_else(|| panic!("`{variable}` is no number: {}", text.display())))
}

async fn walked(walk: Vec<Step>) -> Result<(), TestCaseError> {
    let mut sandbox = Sandbox::start().await;
    let mut history = History::default();
    // The checks below need some state.
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
