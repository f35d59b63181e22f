//! The rollout engine: which instance an upgrade or recreation of a fleet does next. No I/O, no clock.
//!
//! [`Engine`] hears what has happened and what time it is, and tells what to do. The pass around it makes the calls.
//! Rules and texts are those of `spec/contracts/errands.md` §4, its weaknesses (§11.1) fixed.
//!
//! | file | holds |
//! | --- | --- |
//! | `messages` | what the engine hears, and what it wants done |
//! | `machine` | the engine: phases, attempts, what comes next |
//! | `hearing` | what becomes of an instance when something is heard of it |
//! | `instance` | what is known of one instance |
//! | `phase` | canaries, and all that are left |
//! | `gate` | waves whose health is looked at |
//! | `trouble` | calls that are repeated for a while |
//! | `settings`, `budget` | the limits |
//! | `canaries` | who goes first |
//! | `account` | who ended how |
//! | `verdict` | whether that is good |
//! | `notice` | what is said on the way |

mod account;
mod budget;
mod canaries;
mod gate;
mod hearing;
mod instance;
mod machine;
mod messages;
mod notice;
mod phase;
mod settings;
mod trouble;
mod verdict;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use account::Account;
pub use budget::{FailureBudget, InvalidFailureBudget};
pub use canaries::{Canaries, CanaryFault, CanarySelection};
pub use instance::{Standing, State};
pub use machine::Engine;
pub use messages::{Command, Event, Health, Place, PollAnswer, Start, TriggerAnswer};
pub use notice::Notice;
pub use settings::{HealthGate, Settings};
pub use verdict::Verdict;

/// A moment of a pass: the time since its beginning.
pub type Moment = std::time::Duration;
