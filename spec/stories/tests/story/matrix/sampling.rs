//! Which cases are run, and several of them at a time.

use std::{cell::RefCell, collections::VecDeque, env, rc::Rc};

use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};
use tokio::task::{JoinSet, LocalSet};

use super::{
    stage::Stage,
    table::{Row, Table},
};

/// Selects another sample; with one sample for all commits, a failing case shows which commit broke it.
const SEED: &str = "ODB_SEED";
/// The sample of a usual run.
const USUAL_SEED: u64 = 20_250_817;
/// How many cases are taken: a number, or `all`, or a text that their lines in the table contain.
const CASES: &str = "ODB_CASES";

/// A sample of cases.
#[derive(Debug)]
pub(super) struct Sample<C> {
    cases: VecDeque<C>,
    /// How it was selected.
    pub(super) origin: String,
}

impl<C> Sample<C> {
    /// Takes so many of these cases, unless the environment wants something else. `line` is what a case is called.
    pub(super) fn of(mut cases: Vec<C>, usual: usize, line: impl Fn(&C) -> Row) -> Self {
        let seed = text(SEED).map_or(USUAL_SEED, |seed| {
            seed.parse()
                .unwrap_or_else(|_| panic!("`{SEED}` is `{seed}`, not a number"))
        });
        let wanted = match text(CASES).as_deref() {
            None => usual,
            Some("all") => usize::MAX,
            Some(text) => text.parse().unwrap_or_else(|_| {
                cases.retain(|case| line(case).title().contains(text));
                usize::MAX
            }),
        };
        let all = cases.len();
        cases.shuffle(&mut StdRng::seed_from_u64(seed));
        cases.truncate(wanted);
        let origin = format!("{} of {all} cases, {SEED}={seed}", cases.len());
        Self {
            cases: cases.into(),
            origin,
        }
    }
}

/// A stage is replaced after so many cases: each case looks through all that its broker has logged so far.
const CASES_OF_A_STAGE: usize = 20;

/// Runs all cases on so many stages at a time. A case that breaks off has failed, and its stage is given up.
pub(super) async fn run_all<C: Clone + 'static>(
    sample: Sample<C>,
    stages: usize,
    run: impl AsyncFn(&mut Stage, C) -> Row + Copy + 'static,
    broken: impl Fn(&C, String) -> Row + Copy + 'static,
) -> Table {
    let origin = sample.origin;
    let cases = Rc::new(RefCell::new(sample.cases));
    let rows = Rc::new(RefCell::new(Vec::new()));
    let local = LocalSet::new();
    let mut workers = JoinSet::new();
    for _ in 0..stages {
        let (cases, rows) = (Rc::clone(&cases), Rc::clone(&rows));
        workers.spawn_local_on(
            async move {
                let mut free = None;
                let mut played = 0;
                loop {
                    let Some(case) = cases.borrow_mut().pop_front() else {
                        break;
                    };
                    let mut stage = match free.take() {
                        Some(stage) => stage,
                        None => Stage::set_up().await,
                    };
                    let of_case = case.clone();
                    let attempt = tokio::task::spawn_local(async move {
                        let row = run(&mut stage, of_case).await;
                        (row, stage)
                    });
                    match attempt.await {
                        Ok((row, stage)) => {
                            played += 1;
                            free = (played % CASES_OF_A_STAGE != 0).then_some(stage);
                            rows.borrow_mut().push(row);
                        }
                        Err(error) => rows.borrow_mut().push(broken(&case, reason(error))),
                    }
                }
            },
            &local,
        );
    }
    local
        .run_until(async {
            while let Some(worker) = workers.join_next().await {
                worker.expect("a worker survives its cases");
            }
        })
        .await;
    drop(local);
    let rows = rows.take();
    Table { origin, rows }
}

/// The message of a case that panicked.
fn reason(error: tokio::task::JoinError) -> String {
    let panic = error.into_panic();
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "it broke off".to_owned())
}

fn text(name: &str) -> Option<String> {
    env::var_os(name)?.into_string().ok()
}
