//! The preflight checks: the probes, and the three programs that run them. Each probe returns
//! [findings](odb_core::finding::Finding).
//!
//! | folder | contents |
//! | --- | --- |
//! | [`start`] | builds the broker; an error prevents the start |
//! | [`check`] | checks a configuration without serving, upstreams only on request |
//! | [`doctor`] | examines everything, with timings |
//! | `director`, `credhub`, `cloud_controller`, `uaa`, `instances`, `adapter` | the probes of each; a start asks only what may prevent it |
//! | `chart`, `context` | the results of probes, and their input: the configuration, and the limits of time |
//! | `server` | the common probes of servers: name, connection, answer, clock |
//! | `certificates` | the broker's own certificate, those of servers, and the trust roots |

mod adapter;
pub(crate) mod certificates;
mod chart;
pub mod check;
mod cloud_controller;
mod context;
mod credhub;
mod director;
pub mod doctor;
mod instances;
mod server;
pub mod start;
mod uaa;

pub(crate) use chart::Outcome;
