//! The Cloud Controller, in whichever version of its API it offers.
//!
//! Contract: `spec/contracts/platform-apis.md`, sections 3 and 4. [`CloudController`] asks for the
//! versions once and then speaks v3 where that is complete, else v2.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `facade`, `changes` | what can be looked at, and what can be changed, whichever version answers |
//! | `api` | the trait of a version |
//! | `v3`, `v2` | the two versions |
//! | `versions` | which versions there are, and which of them is spoken |
//! | `listing` | service instances as a stream of pages, each instance once, none hidden |
//! | `jobs` | what the Cloud Controller carries out by and by |
//! | `brokers`, `plans`, `instances`, `ids` | the answers |
//! | `locations` | the names of spaces and organizations |
//! | `visibility` | how much of it somebody may see |
//! | `connection`, `error` | how the Cloud Controller is asked, and what its refusals mean |
//!
//! What reads is repeated after transient failures, within the limits and the deadline of the call. What changes
//! something is not, unless doing it twice is the same as doing it once: who has asked looks what has become of it.

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
