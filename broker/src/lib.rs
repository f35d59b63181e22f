//! An Open Service Broker that deploys service instances on demand through a BOSH Director.
//!
//! | module | holds |
//! | --- | --- |
//! | [`api`] | the HTTP edge |
//! | [`operations`] | what can be done to service instances |
//! | [`offering`] | the pure rules: catalog, quotas, versions |
//! | [`bosh`] | how an instance comes to be on a Director |
//! | [`instance_clients`] | the UAA client that each instance may have of its own |
//! | [`adapter`] | one supervised child process per call |
//! | [`config`] | `broker.yml` |
//! | [`telemetry`] | the log and what must not stand in it |
//! | [`complaint`], `credhub_names` | what all of them use |
//!
//! The JSON of the management API, ids, operation kinds and error codes are a crate of their own, `odb_api_types`.
//!
//! Arrows point down this list only. [`start_up`] puts the parts together, [`check`] looks at a configuration without
//! serving, [`doctor`] tries every neighbour without changing anything. [`private_memory`] keeps the process to itself.

pub mod adapter;
pub mod api;
pub mod bosh;
pub mod check;
pub mod complaint;
pub mod config;
mod credhub_names;
pub mod doctor;
pub mod instance_clients;
pub mod offering;
pub mod operations;
pub mod private_memory;
pub mod start_up;
pub mod telemetry;
