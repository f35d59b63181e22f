//! Whether the outcome of a pass is a success, and its text (`spec/contracts/errands.md` §4.5, §4.6).

use std::fmt::Write as _;

use odb_api_types::ids::InstanceId;

use super::{
    Tally,
    phase::{Phase, PhaseKind},
    tally::done_before,
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

/// Why no further instance starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// A canary has failed.
    Canary,
    /// More have failed than may.
    Budget,
    /// A finished instance is unhealthy.
    Unhealthy {
        /// Instances with their causes.
        causes: Vec<String>,
    },
    /// The operator wants an end.
    Stopped,
}

/// The parts of a result.
pub(super) struct Remains<'a> {
    pub(super) tally: Tally,
    /// Why those have failed that have.
    pub(super) causes: Vec<String>,
    pub(super) busy: Vec<InstanceId>,
    pub(super) failed: Vec<InstanceId>,
    pub(super) phase: &'a Phase,
    pub(super) halt: Option<&'a Halt>,
    /// How many may fail.
    pub(super) allowed: Option<usize>,
    pub(super) canaries_tried: usize,
}

impl RolloutResult {
    pub(super) fn of(remains: &Remains<'_>) -> Self {
        let failure = failure(remains);
        Self {
            tally: remains.tally,
            summary: summary(remains, failure.is_some()),
            failure,
        }
    }
}

fn failure(remains: &Remains<'_>) -> Option<String> {
    let Tally {
        failed,
        not_started,
        in_progress,
        ..
    } = remains.tally;
    let mut causes = remains.causes.clone();
    match remains.halt {
        Some(Halt::Unhealthy { causes: unhealthy }) => causes.extend(unhealthy.iter().cloned()),
        Some(Halt::Budget) => {
            let allowed = remains.allowed.unwrap_or_default();
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
    if let PhaseKind::Canaries { limit } = remains.phase.kind {
        if causes.is_empty() {
            let tried = remains.canaries_tried.min(limit);
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
    if !remains.busy.is_empty() {
        causes.push(format!(
            "The following instances could not be processed: {}",
            list(&remains.busy)
        ));
    }
    (!causes.is_empty()).then(|| joined(&causes))
}

/// One error is its own text, several are counted.
fn joined(causes: &[String]) -> String {
    match causes {
        [cause] => cause.clone(),
        causes => {
            let mut text = format!("{} errors occurred:\n", causes.len());
            for cause in causes {
                text.push_str("\n* ");
                text.push_str(cause);
            }
            text
        }
    }
}

fn summary(remains: &Remains<'_>, has_failed: bool) -> String {
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
    } = remains.tally;
    let status = if has_failed { "FAILED" } else { "SUCCESS" };
    let mut text = format!(
        "FINISHED PROCESSING Status: {status}; Summary: Number of successful operations: {successful}; Number of skipped \
         operations: {skipped}; Number of service instance orphans detected: {orphans}; Number of deleted instances before \
         operation could happen: {deleted}; Number of busy instances which could not be processed: {busy}{}; Number of \
         service instances that failed to process: {failed}{}",
        named(&remains.busy),
        named(&remains.failed),
    );
    text.push_str(&done_before(done));
    for (what, count) in [
        ("operations that continue", in_progress),
        ("service instances that were not started", not_started),
    ] {
        if count > 0 {
            let _ = write!(text, "; Number of {what}: {count}");
        }
    }
    text
}

fn named(ids: &[InstanceId]) -> String {
    if ids.is_empty() {
        String::new()
    } else {
        format!(" [{}]", list(ids))
    }
}

fn list(ids: &[InstanceId]) -> String {
    let ids: Vec<_> = ids.iter().map(InstanceId::as_str).collect();
    ids.join(", ")
}
