//! Clients of the BOSH Director, UAA, CredHub, the Cloud Controller and the service instances API on one HTTP
//! foundation.
//!
//! A client is a struct with a method per request of the broker. Every method takes a [`Call`](http::Call) first: the
//! deadline of the request that it belongs to, and the id for the platform's logs. Every failed call ends in the one
//! [`ServiceError`].
//!
//! | module | server | contract |
//! | --- | --- | --- |
//! | [`http`] | | trust, limits, deadlines, retries, for all of them |
//! | [`uaa`] | UAA, of either foundation | `spec/contracts/platform-apis.md`, section 1 |
//! | [`director`] | BOSH Director | `spec/contracts/director-api.md` |
//! | [`credhub`] | CredHub, of either foundation | `spec/contracts/platform-apis.md`, section 2 |
//! | [`service_instances_api`] | the source of instances without a Cloud Controller | `spec/contracts/broker-behaviour.md`, section 7.6 |
//! | [`cloud_controller`] | Cloud Controller v3 | `spec/contracts/platform-apis.md`, section 3 |

#![expect(
    missing_docs,
    reason = "an internal crate: comments say what names and types do not"
)]

pub mod cloud_controller;
mod connection;
pub mod credhub;
pub mod director;
pub mod http;
mod service_error;
pub mod service_instances_api;
mod text_id;
pub mod uaa;

pub use connection::ConnectError;
pub use http::Service;
pub use service_error::{FailureKind, Result, ServiceError};
pub use text_id::InvalidText;
