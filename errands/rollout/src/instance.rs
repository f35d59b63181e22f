//! The state of one instance during a pass.

use std::time::Duration;

use odb_api_types::ids::InstanceId;

use super::{Moment, failures::Failures};

/// The state of an instance at the start of the pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PriorResult {
    /// Nothing is known to have been done.
    Untouched,
    /// This run has done it before it was interrupted.
    Done,
    /// The platform's pass of this run has brought it up to date.
    UpgradedThroughPlatform,
    /// This run started it before the interruption.
    Underway {
        /// The Director's task, where it is known.
        task: Option<u64>,
    },
    /// This run has failed on it before it was interrupted.
    Failed {
        /// Why.
        cause: String,
    },
}

/// Where an instance is (`spec/contracts/errands.md` §4.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits for its turn, or is not touched any more.
    NotStarted,
    /// The operation is being requested.
    Triggering,
    /// The operation is in progress.
    Accepted {
        /// The Director's task, where it is known.
        task: Option<u64>,
    },
    /// Another operation was in the way; the next attempt comes back to it.
    Busy,
    /// The operation has succeeded.
    Succeeded,
    /// There was nothing to do.
    Skipped,
    /// It was done before the run was interrupted.
    Done,
    /// The operation, or a request about it, has failed.
    Failed {
        /// Why, naming the instance.
        cause: String,
    },
    /// The platform does not know it any more.
    Deleted,
    /// The platform knows it, but there is nothing of it.
    Orphan,
}

impl State {
    /// Its state is final in this pass.
    pub fn is_final(&self) -> bool {
        !matches!(
            self,
            Self::NotStarted | Self::Triggering | Self::Accepted { .. } | Self::Busy
        )
    }

    /// It counts towards the instances in flight.
    pub fn is_in_flight(&self) -> bool {
        matches!(self, Self::Triggering | Self::Accepted { .. })
    }

    /// Whether an operation was attempted, so that its result indicates those of the others.
    pub(super) fn is_tried(&self) -> bool {
        match self {
            Self::Triggering
            | Self::Accepted { .. }
            | Self::Succeeded
            | Self::Done
            | Self::Failed { .. } => true,
            Self::NotStarted | Self::Busy | Self::Skipped | Self::Deleted | Self::Orphan => false,
        }
    }
}

/// An instance of a pass.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    pub(super) id: InstanceId,
    pub(super) state: State,
    /// A call is on its way, so that the next one waits.
    pub(super) is_asked: bool,
    pub(super) failures: Option<Failures>,
    /// When it was first started.
    pub(super) began: Option<Moment>,
    /// When it reached its state.
    pub(super) since: Moment,
}

impl Instance {
    pub(super) fn new(id: InstanceId, prior_result: PriorResult) -> Self {
        let state = match prior_result {
            PriorResult::Untouched => State::NotStarted,
            PriorResult::Done => State::Done,
            PriorResult::UpgradedThroughPlatform => State::Skipped,
            PriorResult::Underway { task } => State::Accepted { task },
            PriorResult::Failed { cause } => State::Failed { cause },
        };
        Self {
            id,
            state,
            is_asked: false,
            failures: None,
            began: None,
            since: Moment::ZERO,
        }
    }

    /// How long it took, as far as this pass knows.
    pub(super) fn taken(&self) -> Option<Duration> {
        self.began.map(|began| self.since.saturating_sub(began))
    }
}
