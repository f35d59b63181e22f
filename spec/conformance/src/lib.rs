//! The public conformance suite: does a broker keep the Open Service Broker API?
//!
//! Black box, over HTTP, against any broker by its address; `spec/coverage/osb-api.md` says how to run it. Each check is of one
//! rule of `spec/contracts/osb-api.md`.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `rule`, `result` | rules, checks and what they find |
//! | `checks` | the checks themselves |
//! | `scenes` | what is played with a service instance, once for all checks that look at it |
//! | `session` | one run: what was found out so far |
//! | `ledger`, `clean_up` | what was made on the broker, and how it is deleted |
//! | `offer`, `asks`, `changes`, `waiting` | what is ordered, the requests, the parameters of changes, following operations |
//! | `client`, `exchange` | HTTP, and how it is told without credentials |
//! | `run` | the checks one after the other |
//! | `report` | what came of it, as text, JSON and JUnit |

mod asks;
mod changes;
mod checks;
mod clean_up;
mod client;
mod exchange;
mod ledger;
mod offer;
mod report;
mod result;
mod rule;
mod run;
mod scenes;
mod session;
mod waiting;

pub use clean_up::LeftBehind;
pub use client::Target;
pub use exchange::Exchange;
pub use offer::Choice;
pub use report::Format;
pub use result::{Checked, Objection};
pub use rule::{Check, Level, Moment, Rule};
pub use run::{CheckResult, Outcome, Report, RunState, Selection, UnknownRule, rules};
pub use session::{Session, Settings};
