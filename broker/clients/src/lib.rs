//! Clients of the BOSH Director, UAA, CredHub, the Cloud Controller and the service instances API on
//! one HTTP foundation.
//!
//! A client is a struct with a method per thing that the broker needs. Every method takes a
//! [`Call`](http::Call) first: the deadline of the work that it is part of, and the id under
//! which the platform's logs should show it. Every failed call ends in the one [`ServiceError`].
//!
//! | module | speaks to | contract |
//! | --- | --- | --- |
//! | [`http`] | | trust, limits, deadlines, retries, for all of them |
//! | [`uaa`] | UAA, of either foundation | `spec/contracts/platform-apis.md`, section 1 |
//! | [`director`] | BOSH Director | `spec/contracts/director-api.md` |
//! | [`credhub`] | CredHub, of either foundation | `spec/contracts/platform-apis.md`, section 2 |
//! | [`service_instances_api`] | whoever keeps instances where there is no Cloud Controller | `spec/contracts/broker-behaviour.md`, section 7.6 |
//! | [`cloud_controller`] | Cloud Controller v3 | `spec/contracts/platform-apis.md`, section 3 |

pub mod cloud_controller;
mod connection;
pub mod credhub;
pub mod director;
pub mod http;
mod service_error;
pub mod service_instances_api;
mod text_id;
pub mod uaa;

pub use http::Service;
pub use service_error::{FailureKind, ServiceError};
pub use text_id::InvalidText;
