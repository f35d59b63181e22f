//! How many instances are where: each is counted once.

use std::fmt;

use super::State;

/// The instances of a pass, counted by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
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
    /// The number of operations still in progress.
    pub in_progress: usize,
    /// Nothing was done.
    pub not_started: usize,
}

impl Tally {
    pub(super) fn of<'a>(states: impl Iterator<Item = &'a State>) -> Self {
        let mut tally = Self::default();
        for state in states {
            *tally.count_of(state) += 1;
        }
        tally
    }

    /// How many instances there are.
    pub fn total(&self) -> usize {
        let Self {
            successful,
            skipped,
            done_before,
            orphans,
            deleted,
            busy,
            failed,
            in_progress,
            not_started,
        } = self;
        successful
            + skipped
            + done_before
            + orphans
            + deleted
            + busy
            + failed
            + in_progress
            + not_started
    }

    /// How many are not finished.
    pub fn remaining(&self) -> usize {
        self.busy + self.in_progress + self.not_started
    }

    fn count_of(&mut self, state: &State) -> &mut usize {
        match state {
            State::NotStarted => &mut self.not_started,
            State::Triggering | State::Accepted { .. } => &mut self.in_progress,
            State::Busy => &mut self.busy,
            State::Succeeded => &mut self.successful,
            State::Skipped => &mut self.skipped,
            State::Done => &mut self.done_before,
            State::Failed { .. } => &mut self.failed,
            State::Deleted => &mut self.deleted,
            State::Orphan => &mut self.orphans,
        }
    }

    /// The counts in the words of the progress line (`spec/contracts/errands.md` §4.6).
    pub(super) fn so_far(&self) -> impl fmt::Display {
        let Self {
            successful,
            skipped,
            orphans,
            deleted,
            busy,
            ..
        } = *self;
        let done = done_before(self.done_before);
        fmt::from_fn(move |f| {
            write!(
                f,
                "Number of successful operations so far: {successful}; Number of skipped operations so far: {skipped}; \
                 Number of service instance orphans detected so far: {orphans}; Number of deleted instances before \
                 operation could happen: {deleted}; Number of operations in progress (to retry) so far: {busy}{done}"
            )
        })
    }
}

/// Only in a continued run.
pub(super) fn done_before(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!("; Number of service instances already processed in this run: {count}"),
    }
}
