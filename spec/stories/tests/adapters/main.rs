//! Service adapters as executables: our own in Rust, those that are folders of templates, and deliberately broken ones.
//!
//! | module | contents |
//! | --- | --- |
//! | `executable` | runs an adapter |
//! | `samples` | the worked samples of the protocol, and the broker's next requests |
//! | `properties` | the promises of every adapter, over random lives of instances |
//! | `beginnings`, `by_hand` | what `odb-adapter` generates and runs for an author |
//! | `check` | `odb-adapter check`: the command, the report, its document |
//! | `faultless` | our own adapters pass it |
//! | `broken`, `small_errors` | adapters that break one rule each, and the finding for it |
//! | `documents` | the authors' documents |
//! | `offers` | `odb offer`: offers of Helm charts |
//! | `redis` | the test adapter, in Rust and as a folder |
//! | `example` | the example for authors: the adapter for Redis |
//! | `kafka` | the adapter for Kafka |

#![cfg(test)]

// First, for the others ask both test adapters, too.
#[macro_use]
mod redis;

mod author;
mod beginnings;
mod broken;
mod by_hand;
mod check;
mod documents;
mod example;
mod executable;
mod faultless;
mod kafka;
mod offers;
mod properties;
mod samples;
mod small_errors;
