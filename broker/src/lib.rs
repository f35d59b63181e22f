//! An Open Service Broker that deploys service instances on demand through a BOSH Director.
//!
//! | module | holds |
//! | --- | --- |
//! | [`api`] | the HTTP edge |
//! | [`preflight`] | whether the broker can work: its start, and the commands `check` and `doctor` |
//! | [`telemetry`] | the log |
//! | [`private_memory`] | keeps the memory of the process to itself |
//!
//! Catalog, quotas and operations are those of `odb_core`, instances come to be by `odb_engine_bosh`, the configuration
//! is read by `odb_config`.

pub mod api;
pub mod preflight;
pub mod private_memory;
pub mod telemetry;
