//! The rollout engine: which instance an upgrade or recreation of a fleet does next. No I/O, no clock.
//!
//! [`Engine`] hears what has happened and what time it is, and tells what to do. The pass around it makes the calls.
//! Rules and texts are those of `spec/contracts/errands.md` §4, its weaknesses (§11.1) fixed.
//!
//! | file | holds |
//! | --- | --- |
//! | `messages` | what the engine hears, and what it wants done |
//! | `machine` | the engine: phases, attempts, what comes next |
//! | `event_handling` | what becomes of an instance when something is heard of it |
//! | `instance` | what is known of one instance |
//! | `phase` | canaries, and all that are left |
//! | `gate` | waves whose health is looked at |
//! | `failures` | calls that are repeated for a while |
//! | `settings`, `budget` | the limits |
//! | `canaries` | who goes first |
//! | `tally` | who ended how |
//! | `result` | whether that is good |
//! | `log_event` | what is said on the way |

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
