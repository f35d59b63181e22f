//! The public conformance suite: does a broker conform to the Open Service Broker API?
//!
//! Black box, over HTTP, against any broker by its address; `spec/coverage/osb-api.md` says how to run it. Each check
//! is of one rule of `spec/contracts/osb-api.md`.
//!
//! | module | contents |
//! | --- | --- |
//! | `rule`, `result` | rules, checks and their results |
//! | `checks` | the checks themselves |
//! | `scenes` | sequences with a service instance, run once for all checks that need them |
//! | `session` | one run: the observations so far |
//! | `ledger`, `clean_up` | the objects created on the broker, and their deletion |
//! | `offer`, `asks`, `changes`, `waiting` | the order, the requests, the parameters of changes, polling |
//! | `client`, `exchange` | HTTP, and its report without credentials |
//! | `run` | the checks one after the other |
//! | `report` | the results, as text, JSON and JUnit |

#![expect(missing_docs, reason = "most members are explained by their names")]

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
