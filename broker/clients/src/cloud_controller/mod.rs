//! The client of the Cloud Controller, for every version of its API.
//!
//! Contract: `spec/contracts/platform-apis.md`, sections 3 and 4. [`CloudController`] reads the versions once and then
//! uses v3 if it is complete, otherwise v2.
//!
//! | module | contents |
//! | --- | --- |
//! | `facade`, `changes` | the read requests and the changes, for both versions |
//! | `api` | the trait of a version |
//! | `v3`, `v2` | the two versions |
//! | `versions` | the available versions, and the choice between them |
//! | `listing` | service instances as a stream of pages, each instance once, none missing |
//! | `jobs` | asynchronous jobs of the Cloud Controller |
//! | `brokers`, `plans`, `instances`, `ids` | the answers |
//! | `locations` | the names of spaces and organizations |
//! | `visibility` | how much a client can see |
//! | `connection`, `error` | sending requests, and the meaning of errors |
//!
//! Read requests are retried on transient errors, within the limits and the deadline of the call. Changes are not,
//! unless they are idempotent: the caller checks their effect.

mod api;
mod brokers;
mod changes;
mod connection;
mod error;
mod facade;
mod ids;
mod instances;
mod jobs;
mod listing;
mod locations;
mod plans;
mod v2;
mod v3;
mod versions;
mod visibility;

pub use brokers::{BrokerRegistration, CfBroker};
pub(crate) use error::is_lasting_error_of_broker;
pub use facade::CloudController;
pub use ids::{
    AppGuid, BindingGuid, BrokerGuid, InstanceGuid, JobGuid, OfferingGuid, OrganizationGuid,
    PlanGuid, SpaceGuid,
};
pub use instances::{
    CfBinding, CfBindingKind, CfInstance, CfLastOperation, CfOperation, CfOperationKind,
    CfOperationState, CfVersionedInstance, Deletion, Upgrading,
};
pub use jobs::{Accepted, CfError, CfJob, JobState};
pub use listing::{InstanceQuery, InstanceStream, LocationNames};
pub use plans::{CfPlan, OfferedPlan, PlanVisibility, WantedVisibility};
pub use versions::{ApiVersion, ApiVersions};
pub use visibility::{SEES_ALL, Visibility};
