//! How the Cloud Controller speaks to a broker (`spec/contracts/platform-apis.md`, "CC → broker: requests").

mod answer;
mod body;
mod catalog;
mod exchange;

pub(crate) use answer::{Answer, BrokerFailure, Mitigation, Progress};
pub(crate) use body::{BindBody, Context, PreviousValues, ProvisionBody, UpdateBody};
pub(crate) use catalog::{Catalog, CatalogPlan, CatalogService};
pub use exchange::BrokerClientError;
pub(crate) use exchange::{BrokerClient, Identity, Patience, Target};
