//! The Cloud Controller's client for brokers (`spec/contracts/platform-apis.md`, "CC → broker: requests").
//!
//! | module | contents |
//! | --- | --- |
//! | `client` | the requests, one method each |
//! | `exchange`, `raw` | one request and its raw answer, or the lack of one |
//! | `body` | the bodies of requests |
//! | `answer`, `progress` | the meaning of an answer |
//! | `shape`, `binding_details` | the required types of an answer's members |
//! | `failure` | the message for the user when a broker fails |
//! | `catalog` | the catalog, validated |

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
