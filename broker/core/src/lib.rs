//! The part that all engines share. It is independent of the BOSH Director, Kubernetes clusters and the HTTP server.
//!
//! | module | contents |
//! | --- | --- |
//! | [`operations`] | the operations on service instances, with quotas and locks |
//! | [`offering`] | the pure rules: catalog, quotas, schemas, versions |
//! | [`engine`] | the trait of an engine, its orders and its instance records |
//! | [`finding`] | the result of a probe |
//! | [`metrics`](mod@metrics) | the metrics of the process |
//! | [`user_message`], [`shown`] | the texts for platform users |
//! | [`credhub_names`] | ids as parts of CredHub names |
//!
//! A module depends only on those below it in this list.

#![expect(
    missing_docs,
    reason = "a name says what it is; a comment says what a name cannot"
)]

pub mod credhub_names;
pub mod engine;
pub mod metrics;
pub mod offering;
pub mod operations;
pub mod shown;
pub mod user_message;

pub use metrics::metrics;
pub use odb_api_types::finding;
