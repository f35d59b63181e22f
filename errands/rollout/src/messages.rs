//! What the engine hears, and what it wants done.

use odb_api_types::ids::InstanceId;

use super::{LogEvent, PriorResult, State};

/// The place of an instance in the list, from zero.
pub type Location = usize;

/// An instance, when the pass begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its id.
    pub id: InstanceId,
    /// How it stands.
    pub prior_result: PriorResult,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Ask for the operation; answer with [`Event::Triggered`].
    Trigger {
        /// Which instance.
        location: Location,
        /// It has been asked for before, and the answer was lost: it may have begun.
        is_repeat: bool,
    },
    /// Ask how the operation is doing; answer with [`Event::Polled`].
    Poll {
        /// Which instance.
        location: Location,
    },
    /// Ask whether the instance is healthy; answer with [`Event::Examined`].
    Examine {
        /// Which instance.
        location: Location,
    },
    /// Tell the operator.
    Say(LogEvent),
    /// An instance has come to another state.
    Changed {
        /// Which instance.
        location: Location,
        /// The state.
        state: State,
    },
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The operation was asked for.
    Triggered {
        /// Which instance.
        location: Location,
        /// What came of it.
        answer: TriggerAnswer,
    },
    /// It was asked how the operation is doing.
    Polled {
        /// Which instance.
        location: Location,
        /// What came of it.
        answer: PollAnswer,
    },
    /// It was asked whether the instance is healthy.
    Examined {
        /// Which instance.
        location: Location,
        /// What came of it.
        health: Health,
    },
    /// The operator wants an end. What goes on goes on without us.
    Stop,
}

/// What came of asking for an operation (`spec/contracts/errands.md` §4.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TriggerAnswer {
    /// It goes on.
    Accepted {
        /// The Director's task, where it is known.
        task: Option<u64>,
    },
    /// It had been asked for already, and has succeeded.
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
    /// There was no answer. Asking again may help.
    Unanswered {
        /// Why, naming the instance.
        cause: String,
    },
}

/// What came of asking how an operation is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PollAnswer {
    /// It goes on.
    InProgress,
    /// It has succeeded.
    Succeeded,
    /// It has failed.
    Failed {
        /// What is said of it.
        description: String,
    },
    /// The platform does not know the instance any more.
    Gone,
    /// The answer makes no sense, and will not.
    Senseless {
        /// Why, naming the instance.
        cause: String,
    },
    /// There was no answer. Asking again may help.
    Unanswered {
        /// Why, naming the instance.
        cause: String,
    },
}

/// What came of asking for an instance's health.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// All of it runs.
    Healthy,
    /// There is nothing of it any more: its user has deleted it meanwhile.
    Gone,
    /// Not all of it does, or nobody could tell.
    NotYet {
        /// What was said.
        said: String,
    },
}
