//! How the Cloud Controller speaks to a broker (`spec/contracts/platform-apis.md`, "CC → broker: requests").
//!
//! | module | what is in it |
//! | --- | --- |
//! | `client` | the requests, one method each |
//! | `exchange`, `raw` | one request and its answer as it came, or that none came |
//! | `body` | the bodies of requests |
//! | `answer`, `progress` | what an answer means |
//! | `shape`, `binding_details` | what the members of an answer must be |
//! | `failure` | what the user reads of a broker that did not do it |
//! | `catalog` | the catalog, checked |

mod answer;
mod any_certificate;
mod binding_details;
mod body;
mod catalog;
mod client;
mod exchange;
mod failure;
mod progress;
mod raw;
mod shape;

pub(crate) use answer::{Answer, Mitigation};
pub(crate) use body::{BindBody, Context, PreviousValues, ProvisionBody, UpdateBody};
pub(crate) use catalog::{Catalog, CatalogFailure, CatalogPlan, CatalogService, RegisteredService};
pub(crate) use client::{AcceptsIncomplete, BrokerClient, Identity, Target};
pub use exchange::BrokerClientError;
pub(crate) use failure::{BrokerError, BrokerFailure};
pub(crate) use progress::Progress;
