//! The operator's errands: programs that act on a complete fleet of service instances or report on it.
//!
//! An errand calls the broker with its basic credentials and the Cloud Controller as its client or user, never the
//! Director. Results go to stdout, logs go to stderr. No secret is printed. Contract: `spec/contracts/errands.md`;
//! differences from the Go programs: `docs/operators/reference/errands.md`.
//!
//! | module | contents |
//! | --- | --- |
//! | [`command_line`] | flags, our own and those of the Go programs; the list of errands |
//! | [`fleet`] | one operation on every service instance: upgrade or recreate |
//! | [`register`], [`deregister`] | registering the broker at the platform, and unregistering it |
//! | [`delete_all`], [`purge`] | deleting a complete fleet |
//! | [`cancel`], [`operation`], [`metrics`], [`orphans`], [`post_start`] | one errand each |
//! | [`broker_api`] | the client of the broker |
//! | [`cloud_controller`] | the client of the Cloud Controller |
//! | [`report`] | the outcome of each instance, as a table and as JSON |
//! | [`progress`], [`console`] | messages and progress during a run |
//! | `waiting`, `table` | waiting and retries; tables |
//! | [`signals`] | how a running errand reacts to signals |
//! | [`dependencies`], [`exit`] | what an errand gets from its process, and its exit status |

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
