//! The operator's errands: what is done to a whole fleet of service instances, or seen of it.
//!
//! An errand speaks to the broker, with its basic credentials, and to the Cloud Controller as its client or user; never to
//! the Director. What a program may read goes to stdout, logs go to stderr, and the exit status tells the truth. No secret
//! is printed. Contract: `spec/contracts/errands.md`; what is different from the Go programs: `docs/operators/reference/errands.md`.
//!
//! | module | holds |
//! | --- | --- |
//! | [`command_line`] | flags, ours and those of the Go programs; which errands there are |
//! | [`fleet`] | one operation on every service instance: upgrade or recreate |
//! | [`register`], [`deregister`] | the broker made known to the platform, and forgotten by it |
//! | [`delete_all`], [`purge`] | deletions of a whole fleet |
//! | [`cancel`], [`operation`], [`metrics`], [`orphans`], [`post_start`] | an errand each |
//! | [`broker_api`] | the broker, as errands speak to it |
//! | [`cloud_controller`] | the Cloud Controller, as errands reach it |
//! | [`report`] | what became of each instance, for people and programs |
//! | [`progress`], [`console`] | what is said meanwhile |
//! | `waiting`, `table` | waits for ends and other attempts; tables for people |
//! | [`signals`] | what a signal means to a running errand |
//! | [`dependencies`], [`exit`] | what an errand is given, and what it leaves |

pub mod broker_api;
pub mod cancel;
pub mod cloud_controller;
pub mod command_line;
mod confirmation;
pub mod console;
pub mod delete_all;
pub mod dependencies;
pub mod deregister;
pub mod exit;
pub mod fleet;
pub mod metrics;
pub mod operation;
pub mod orphans;
pub mod post_start;
pub mod progress;
pub mod purge;
pub mod register;
pub mod report;
pub mod signals;
mod table;
mod trust;
mod waiting;

pub use console::Console;
pub use dependencies::{Dependencies, Stopped};
pub use exit::ExitStatus;
pub use progress::{Progress, Screen};
