//! What all engines share. Nothing here knows a BOSH Director, a Kubernetes cluster or an HTTP server.
//!
//! | module | holds |
//! | --- | --- |
//! | [`operations`] | what can be done to service instances, quotas and locks included |
//! | [`offering`] | the pure rules: catalog, quotas, schemas, versions |
//! | [`engine`] | the trait of an engine, what is ordered from one and what is read of its instances |
//! | [`finding`] | what a probe returns |
//! | [`metrics`](mod@metrics) | what the process counts |
//! | [`user_message`], [`shown`] | what platform users get to read |
//! | [`credhub_names`] | ids as parts of names in a CredHub |
//!
//! Arrows point down this list only.

pub mod credhub_names;
pub mod engine;
pub mod finding;
pub mod metrics;
pub mod offering;
pub mod operations;
pub mod shown;
pub mod user_message;

pub use metrics::metrics;
