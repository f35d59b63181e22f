//! Service adapters as executables: ours in Rust, those that are folders of templates, and deliberately broken ones.
//!
//! | module | which |
//! | --- | --- |
//! | `executable` | how an adapter is run |
//! | `samples` | the worked samples of the protocol, and what the broker asks next |
//! | `properties` | what every adapter keeps to, whatever is done to an instance |
//! | `beginnings`, `by_hand` | what `odb-adapter` makes, and asks, for an author |
//! | `check` | `odb-adapter check`: the command, the report, its document |
//! | `faultless` | our own adapters pass it |
//! | `broken`, `small_errors` | adapters that break one thing each, and what the check says of them |
//! | `documents` | what authors read |
//! | `redis` | what every adapter for Redis does, in Rust or as a folder |
//! | `kafka` | what the adapter for Kafka does |

#![cfg(test)]

// First, for the others ask both adapters for Redis, too.
#[macro_use]
mod redis;

mod author;
mod beginnings;
mod broken;
mod by_hand;
mod check;
mod documents;
mod executable;
mod faultless;
mod kafka;
mod properties;
mod samples;
mod small_errors;
