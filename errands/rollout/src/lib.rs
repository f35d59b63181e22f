//! The rollout engine: decides which instance of a fleet is operated on next. No I/O, no clock.
//!
//! [`Engine`] receives events with the time, and returns commands. The runner around it makes the calls. Rules and texts
//! are those of `spec/contracts/errands.md` §4, with its weaknesses (§11.1) fixed.
//!
//! | file | contents |
//! | --- | --- |
//! | `messages` | events, commands, and the state of one instance |
//! | `settings` | the limits, and the selection of canaries |
//! | `engine` | phases, attempts, next steps |
//! | `events` | what an event changes: answers, retries, health checks of waves |
//! | `outcome` | the counts, whether the pass has succeeded, and its summary |

mod engine;
mod events;
mod messages;
mod outcome;
mod settings;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use engine::Engine;
pub use messages::{
    Command, Event, Health, Location, Moment, PollResponse, State, TriggerResponse,
};
pub use outcome::{RolloutResult, Tally};
pub use settings::{
    Canaries, CanaryError, CanarySelection, FailureBudget, HealthGate, InvalidFailureBudget,
    Settings,
};
