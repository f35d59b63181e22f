//! The rollout engine: decides the next instance of an upgrade or recreation of a fleet. No I/O, no clock.
//!
//! [`Engine`] receives events with the time, and returns commands. The pass around it makes the calls. Rules and texts
//! are those of `spec/contracts/errands.md` §4, with its weaknesses (§11.1) fixed.
//!
//! | file | contents |
//! | --- | --- |
//! | `messages` | events and commands |
//! | `machine` | the engine: phases, attempts, next steps |
//! | `event_handling` | how an event changes an instance |
//! | `instance` | the state of one instance |
//! | `phase` | canaries, and all others |
//! | `gate` | waves with health checks |
//! | `failures` | retries of calls |
//! | `settings`, `budget` | the limits |
//! | `canaries` | the selection of canaries |
//! | `tally` | the counts of outcomes |
//! | `result` | whether the run has succeeded |
//! | `log_event` | the events of the log |

mod budget;
mod canaries;
mod event_handling;
mod failures;
mod gate;
mod instance;
mod log_event;
mod machine;
mod messages;
mod outcome;
mod phase;
mod settings;
mod tally;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use budget::{FailureBudget, InvalidFailureBudget};
pub use canaries::{Canaries, CanaryError, CanarySelection};
pub use instance::{PriorResult, State};
pub use log_event::LogEvent;
pub use machine::Engine;
pub use messages::{Command, Event, Health, Location, PollAnswer, Start, TriggerAnswer};
pub use outcome::RolloutResult;
pub use settings::{HealthGate, Settings};
pub use tally::Tally;

/// A moment of a pass: the time since its beginning.
pub type Moment = std::time::Duration;
