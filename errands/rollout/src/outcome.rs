//! How many instances are where, whether the outcome of a pass is a success, and its text
//! (`spec/contracts/errands.md` §4.5, §4.6).

use std::fmt::Write as _;

use crate::{
    Engine, State,
    engine::{Halt, PhaseKind},
};

/// How a pass has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutResult {
    /// Every instance, counted once.
    pub tally: Tally,
    /// The summary line.
    pub summary: String,
    /// Why the run has failed, if it has.
    pub failure: Option<String>,
}

/// The instances of a pass, counted by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Their operations have succeeded.
    pub successful: usize,
    /// There was nothing to do.
    pub skipped: usize,
    /// They were done before the run was interrupted.
    pub done_before: usize,
    /// The platform knows them, the Director does not.
    pub orphans: usize,
    /// The platform does not know them any more.
    pub deleted: usize,
    /// Other operations were in the way.
    pub busy: usize,
    /// They have failed.
    pub failed: usize,
    /// Their operations are still in progress.
    pub in_progress: usize,
    /// Nothing was done.
    pub not_started: usize,
}

impl Tally {
    pub(crate) fn of<'a>(states: impl Iterator<Item = &'a State>) -> Self {
        let mut tally = Self::default();
        for state in states {
            *match state {
                State::NotStarted => &mut tally.not_started,
                State::Triggering | State::Accepted(_) => &mut tally.in_progress,
                State::Busy => &mut tally.busy,
                State::Succeeded => &mut tally.successful,
                State::Skipped => &mut tally.skipped,
                State::Done => &mut tally.done_before,
                State::Failed(_) => &mut tally.failed,
                State::Deleted => &mut tally.deleted,
                State::Orphan => &mut tally.orphans,
            } += 1;
        }
        tally
    }

    /// The counts in the words of the progress line.
    pub(crate) fn so_far(&self) -> String {
        let Self {
            successful,
            skipped,
            orphans,
            deleted,
            busy,
            ..
        } = *self;
        format!(
            "Number of successful operations so far: {successful}; Number of skipped operations so far: {skipped}; \
             Number of service instance orphans detected so far: {orphans}; Number of deleted instances before \
             operation could happen: {deleted}; Number of operations in progress (to retry) so far: {busy}{}",
            done_before(self.done_before)
        )
    }
}

impl RolloutResult {
    pub(crate) fn of(engine: &Engine) -> Self {
        let tally = engine.tally();
        let named = |is_wanted: fn(&State) -> bool| -> String {
            let found = engine.instances.iter();
            let found = found.filter(|instance| is_wanted(&instance.state));
            let ids: Vec<_> = found.map(|instance| instance.id.as_str()).collect();
            ids.join(", ")
        };
        let busy = named(|state| *state == State::Busy);
        let failed = named(|state| matches!(state, State::Failed(_)));
        let failure = failure(engine, &tally, &busy);
        Self {
            tally,
            summary: summary(&tally, &busy, &failed, failure.is_some()),
            failure,
        }
    }
}

fn failure(engine: &Engine, tally: &Tally, busy: &str) -> Option<String> {
    let Tally {
        failed,
        not_started,
        in_progress,
        ..
    } = tally;
    let failures = engine.failures.iter();
    let mut causes: Vec<String> = failures
        .filter_map(|location| match &engine.instances[*location].state {
            State::Failed(cause) => Some(cause.clone()),
            _ => None,
        })
        .collect();
    match &engine.halt {
        Some(Halt::Unhealthy) => {
            causes.extend(engine.unhealthy.iter().map(|(location, description)| {
                let id = &engine.instances[*location].id;
                format!("[{id}] not healthy after its operation: {description}")
            }));
        }
        Some(Halt::Budget) => {
            let allowed = engine.allowed().unwrap_or_default();
            causes.push(format!(
                "{failed} service instances have failed and {allowed} are allowed: the run stops, {not_started} were not started"
            ));
        }
        Some(Halt::Stopped) => {
            causes.push(format!(
                "stopped by a signal: {in_progress} operations continue at the broker, {not_started} service instances were not started"
            ));
            return Some(joined(&causes));
        }
        Some(Halt::Canary) | None => {}
    }
    if let PhaseKind::Canaries { limit } = engine.phase.kind {
        if causes.is_empty() {
            let tried = engine.tried().min(limit);
            causes.push(format!(
                "attempted to process {limit} canaries, but only found {tried} instances not already in use by another \
                 BOSH task."
            ));
        }
        return Some(format!(
            "canaries didn't process successfully: {}",
            joined(&causes)
        ));
    }
    if !busy.is_empty() {
        causes.push(format!(
            "The following instances could not be processed: {busy}"
        ));
    }
    (!causes.is_empty()).then(|| joined(&causes))
}

/// One error is its own text, several are counted.
fn joined(causes: &[String]) -> String {
    match causes {
        [cause] => cause.clone(),
        causes => format!(
            "{} errors occurred:\n\n* {}",
            causes.len(),
            causes.join("\n* ")
        ),
    }
}

fn summary(tally: &Tally, busy_ids: &str, failed_ids: &str, has_failed: bool) -> String {
    let Tally {
        successful,
        skipped,
        done_before: done,
        orphans,
        deleted,
        busy,
        failed,
        in_progress,
        not_started,
    } = tally;
    let status = if has_failed { "FAILED" } else { "SUCCESS" };
    let named = |ids: &str| match ids {
        "" => String::new(),
        ids => format!(" [{ids}]"),
    };
    let mut text = format!(
        "FINISHED PROCESSING Status: {status}; Summary: Number of successful operations: {successful}; Number of skipped \
         operations: {skipped}; Number of service instance orphans detected: {orphans}; Number of deleted instances before \
         operation could happen: {deleted}; Number of busy instances which could not be processed: {busy}{}; Number of \
         service instances that failed to process: {failed}{}",
        named(busy_ids),
        named(failed_ids),
    );
    text.push_str(&done_before(*done));
    for (what, count) in [
        ("operations that continue", in_progress),
        ("service instances that were not started", not_started),
    ] {
        if *count > 0 {
            let _ = write!(text, "; Number of {what}: {count}");
        }
    }
    text
}

/// Only in a continued run.
fn done_before(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!("; Number of service instances already processed in this run: {count}"),
    }
}
