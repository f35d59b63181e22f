//! An Open Service Broker that deploys service instances on demand through a BOSH Director.
//!
//! | module | contents |
//! | --- | --- |
//! | [`api`] | the HTTP edge |
//! | [`preflight`] | the probes of a start, of `check` and of `doctor` |
//! | [`telemetry`] | the log |
//! | [`ui`] | the page for operators |
//! | [`private_memory`] | protects the memory of the process |
//!
//! Catalog, quotas and operations are in `odb_core`, the BOSH engine in `odb_engine_bosh`, and the configuration in
//! `odb_config`.

#![expect(
    missing_docs,
    reason = "a name says what it is; a comment says what a name cannot"
)]

pub mod api;
pub mod preflight;
pub mod private_memory;
pub mod telemetry;
pub mod ui;
