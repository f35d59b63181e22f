//! An Open Service Broker that deploys service instances on demand through a BOSH Director.
//!
//! | module | holds |
//! | --- | --- |
//! | [`api`] | the HTTP edge |
//! | [`operations`] | what can be done to service instances |
//! | [`offering`] | the pure rules: catalog, quotas, versions |
//! | [`engine`] | what every engine shares: the instance record, what it means for quotas |
//! | [`bosh`] | how an instance comes to be on a Director |
//! | [`instance_clients`] | the UAA client that each instance may have of its own |
//! | [`adapter`] | one supervised child process per call |
//! | [`telemetry`] | the log and what must not stand in it |
//! | [`finding`] | what a probe of the broker's world returns |
//! | `credhub_names`, [`user_message`], `wait` | what all of them use |
//!
//! Shared with the errands: `odb_api_types` (JSON of the management API, ids, operation kinds, error codes), `odb_config` (the
//! configuration files), `odb_redaction` (masked secrets).
//!
//! Arrows point down this list only. [`preflight`] asks whether the broker can work: it puts the parts together for a start,
//! and holds the commands `check` and `doctor`. [`private_memory`] keeps the process to itself.

pub mod adapter;
pub mod api;
pub mod bosh;
mod credhub_names;
pub mod engine;
pub mod finding;
pub mod instance_clients;
pub mod offering;
pub mod operations;
pub mod preflight;
pub mod private_memory;
pub mod telemetry;
pub mod user_message;
mod wait;

pub use odb_config as config;
