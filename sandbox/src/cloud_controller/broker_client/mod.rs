//! The Cloud Controller's client for brokers (`spec/contracts/platform-apis.md`, "CC → broker: requests").
//!
//! | module | contents |
//! | --- | --- |
//! | `client` | the requests, one method each; the bodies of requests |
//! | `exchange` | one request and its raw answer, or the lack of one |
//! | `answer` | the meaning of an answer |
//! | `shape` | the required types of an answer's members |
//! | `failure` | the message for the user when a broker fails |
//! | `catalog` | the catalog, validated |

mod answer;
mod catalog;
mod client;
mod exchange;
mod failure;
mod shape;

pub(crate) use answer::Progress;
pub(crate) use answer::{Mitigation, Response};
pub(crate) use catalog::{Catalog, CatalogFailure, CatalogPlan, CatalogService, RegisteredService};
pub(crate) use client::{AcceptsIncomplete, BrokerClient, Identity, Target};
pub(crate) use client::{BindBody, Context, PreviousValues, ProvisionBody, UpdateBody};
pub use exchange::BrokerClientError;
pub(crate) use failure::{BrokerError, BrokerFailure};
