//! The adapter for Kafka as `spec/contracts/adapter-protocol.md` describes it under "Kafka", its defects fixed.
//!
//! | module | what is asked |
//! | --- | --- |
//! | `inputs` | the sample inputs |
//! | `commands` | topic commands that keep a record |
//! | `manifests` | manifests of new instances |
//! | `updates` | what instances keep, and what is refused |
//! | `errands` | smoke tests in a group of their own and colocated |
//! | `bindings` | topics and credentials |
//! | `schemas` | plan schemas, and that checks agree with them |

mod bindings;
pub(crate) mod commands;
mod errands;
mod inputs;
mod manifests;
mod schemas;
mod updates;
