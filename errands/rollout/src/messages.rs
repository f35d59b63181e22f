//! The events of the engine, and its commands.

use odb_api_types::ids::InstanceId;

use super::{LogEvent, PriorResult, State};

/// The index of an instance in the list.
pub type Location = usize;

/// An instance, when the pass begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its id.
    pub id: InstanceId,
    /// Its prior result.
    pub prior_result: PriorResult,
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Ask for the operation; answer with [`Event::Triggered`].
    Trigger {
        /// Which instance.
        location: Location,
        /// It was requested before, and the answer was lost: it may have started.
        is_repeat: bool,
    },
    /// Poll the operation; answer with [`Event::Polled`].
    Poll {
        /// Which instance.
        location: Location,
    },
    /// Ask whether the instance is healthy; answer with [`Event::Examined`].
    Examine {
        /// Which instance.
        location: Location,
    },
    /// Log an event for the operator.
    Say(LogEvent),
    /// An instance has changed its state.
    Changed {
        /// Which instance.
        location: Location,
        /// The state.
        state: State,
    },
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The operation was requested.
    Triggered {
        /// Which instance.
        location: Location,
        /// The answer.
        answer: TriggerAnswer,
    },
    /// The operation was polled.
    Polled {
        /// Which instance.
        location: Location,
        /// The answer.
        answer: PollAnswer,
    },
    /// The instance's health was requested.
    Examined {
        /// Which instance.
        location: Location,
        /// The health.
        health: Health,
    },
    /// The operator interrupts the run. Operations in progress continue on their own.
    Stop,
}

/// The broker's answer to an operation request (`spec/contracts/errands.md` §4.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TriggerAnswer {
    /// The operation is in progress.
    Accepted {
        /// The Director's task, where it is known.
        task: Option<u64>,
    },
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
    Failed {
        /// Why, naming the instance.
        cause: String,
    },
    /// The broker did not answer. A retry may help.
    Unanswered {
        /// Why, naming the instance.
        cause: String,
    },
}

/// The broker's answer to a poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PollAnswer {
    /// It is in progress.
    InProgress,
    /// It has succeeded.
    Succeeded,
    /// It has failed.
    Failed {
        /// The broker's description; may be empty.
        description: String,
    },
    /// The platform does not know the instance any more.
    Gone,
    /// The answer makes no sense, and will not.
    Senseless {
        /// Why, naming the instance.
        cause: String,
    },
    /// The broker did not answer. A retry may help.
    Unanswered {
        /// Why, naming the instance.
        cause: String,
    },
}

/// The broker's answer to a health request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// All of it runs.
    Healthy,
    /// There is nothing of it any more: its user has deleted it meanwhile.
    Gone,
    /// A part of it is unhealthy, or its health is unknown.
    NotYet {
        /// The description.
        said: String,
    },
}
