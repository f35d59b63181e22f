//! The operator's errands: programs that act on a complete fleet of service instances or report on it.
//!
//! An errand calls the broker with its basic credentials and the Cloud Controller as its client or user, never the
//! Director. Results go to stdout, logs go to stderr. No secret is printed. Contract: `spec/contracts/errands.md`;
//! differences from the Go programs: `docs/operators/reference/errands.md`. The command line `odb` shares what is public
//! here.
//!
//! | module | contents |
//! | --- | --- |
//! | `command_line` | flags, our own and those of the Go programs; the list of errands |
//! | `fleet` | one operation on every service instance: upgrade or recreate |
//! | `register`, `deregister` | registering the broker at the platform, and unregistering it |
//! | `delete_all`, `purge` | deleting a complete fleet |
//! | `operation` | showing and cancelling the operation on one service instance |
//! | `metrics`, `orphans`, `post_start` | one errand each |
//! | `broker_api`, `cloud_controller` | the clients of the broker and the Cloud Controller |
//! | `runner` | carries out what the rollout engine decides |
//! | `report` | the outcome of each instance, as a table and as JSON |
//! | `console` | messages, progress and prompts |
//! | `waiting` | waiting and retries |
//! | `process` | what an errand gets from its process, signals, and its exit status |

mod broker_api;
mod cloud_controller;
mod command_line;
mod console;
mod delete_all;
mod deregister;
mod fleet;
mod metrics;
mod operation;
mod orphans;
mod post_start;
mod process;
mod purge;
mod register;
mod report;
mod runner;
mod waiting;

pub use broker_api::{
    BrokerApi, BrokerApiRejection, Deprovisioning, LastOperation, LastOperationError, Offering,
    OfferingPlan, OperationData,
};
pub use command_line::{CommandLine, UsageError};
pub use console::{
    Console, Screen,
    confirmation::{Audience, read_line},
    harmless,
    progress::Progress,
};
pub use fleet::{NextCommands, View, roll_out};
pub use operation::{cancel_and_wait, operation_result, operation_text};
pub use orphans::{DeletionOrder, delete_orphans, orphan_rows};
pub use process::{Dependencies, ExitStatus, Stopped, run, until_stopped};
pub use register::RegisterBroker;
pub use report::{OutputFormat, table_lines};
pub use waiting::{follow, growing};

use console::confirmation;
