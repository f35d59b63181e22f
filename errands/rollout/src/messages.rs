//! The events of the engine, its commands, and the state of one instance.

use std::time::Duration;

/// A moment of a pass: the time since its beginning.
pub type Moment = Duration;

/// The index of an instance in the list.
pub type Location = usize;

/// What the runner has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Request the operation; answer with [`Event::Triggered`].
    Trigger {
        /// Which instance.
        location: Location,
        /// It was requested before: it may have started without an answer.
        is_repeat: bool,
    },
    /// Poll the operation; answer with [`Event::Polled`].
    Poll(Location),
    /// Read the health of the instance; answer with [`Event::Examined`].
    Examine(Location),
    /// Log a line about the pass.
    Log(String),
    /// Show a step of one instance.
    Show(String),
    /// An instance has changed its state.
    Changed(Location, State),
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The answer to [`Command::Trigger`].
    Triggered(Location, TriggerResponse),
    /// The answer to [`Command::Poll`].
    Polled(Location, PollResponse),
    /// The answer to [`Command::Examine`].
    Examined(Location, Health),
    /// The operator interrupts the run. Operations in progress continue on their own.
    Stop,
}

/// The answer to an operation request (`spec/contracts/errands.md` §4.4). Causes name the instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TriggerResponse {
    /// The operation is in progress, with the Director's task where it is known.
    Accepted(Option<u64>),
    /// It was requested before, and has succeeded.
    Succeeded,
    /// There is nothing to do.
    Skipped,
    /// Another operation is in the way.
    Busy,
    /// The platform does not know the instance.
    Deleted,
    /// The platform knows it, the Director does not.
    Orphan,
    /// It is refused.
    Failed(String),
    /// No answer; a retry may help.
    Unanswered(String),
    /// It is being prepared: request it again after this pause.
    Later(Duration),
}

/// The answer to a poll. Causes name the instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PollResponse {
    /// It is in progress.
    InProgress,
    /// It has succeeded.
    Succeeded,
    /// It has failed, with a description that may be empty.
    Failed(String),
    /// The platform does not know the instance any more.
    Gone,
    /// The answer makes no sense, and will not.
    Senseless(String),
    /// No answer; a retry may help.
    Unanswered(String),
    /// It is in progress: poll it after this pause.
    Later(Duration),
    /// It has not taken place: request it again after this pause.
    Again(Duration),
}

/// The health of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// All of it runs.
    Healthy,
    /// Its user has deleted it meanwhile.
    Gone,
    /// A part of it is unhealthy, or its health is unknown; with a description.
    NotYet(String),
}

/// The state of an instance (`spec/contracts/errands.md` §4.3). An interrupted run gives each instance its first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits for its turn, or is not touched any more.
    NotStarted,
    /// The operation is being requested.
    Triggering,
    /// The operation is in progress, with the Director's task where it is known.
    Accepted(Option<u64>),
    /// Another operation was in the way; the next attempt comes back to it.
    Busy,
    /// The operation has succeeded.
    Succeeded,
    /// There was nothing to do. As the first state: an upgrade through the platform has succeeded.
    Skipped,
    /// It was done before the run was interrupted.
    Done,
    /// The operation, or a request about it, has failed. The cause names the instance.
    Failed(String),
    /// The platform does not know it any more.
    Deleted,
    /// The platform knows it, but there is nothing of it.
    Orphan,
}

impl State {
    /// Whether it is final in this pass.
    pub fn is_final(&self) -> bool {
        !matches!(
            self,
            Self::NotStarted | Self::Triggering | Self::Accepted(_) | Self::Busy
        )
    }

    /// Whether an operation was attempted, so that its result indicates those of the others.
    pub(crate) fn is_tried(&self) -> bool {
        match self {
            Self::Triggering
            | Self::Accepted(_)
            | Self::Succeeded
            | Self::Done
            | Self::Failed(_) => true,
            Self::NotStarted | Self::Busy | Self::Skipped | Self::Deleted | Self::Orphan => false,
        }
    }
}
