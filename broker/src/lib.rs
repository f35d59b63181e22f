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
//! | [`management`] | the JSON of the management API, which the operator's errands read |
//! | [`code`], [`complaint`], `credhub_names`, [`ids`], [`kind`] | what all of them speak of |
//!
//! Arrows point down this list only. [`start_up`] puts the parts together, [`check`] looks at a configuration without
//! serving, [`doctor`] tries every neighbour without changing anything. [`private_memory`] keeps the process to itself.

pub mod adapter;
pub mod api;
pub mod bosh;
pub mod check;
pub mod code;
pub mod complaint;
pub mod config;
mod credhub_names;
pub mod doctor;
pub mod ids;
pub mod instance_clients;
pub mod kind;
pub mod management;
pub mod offering;
pub mod operations;
pub mod private_memory;
pub mod start_up;
pub mod telemetry;
