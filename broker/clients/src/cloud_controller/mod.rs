//! The Cloud Controller, in whichever version of its API it offers.
//!
//! Contract: `spec/contracts/platform-apis.md`, sections 3 and 4. [`CloudController`] asks for the
//! versions once and then speaks v3 where that is complete, else v2.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `facade` | what can be asked, whichever version answers |
//! | `listing` | service instances as a stream of pages, each instance once, none hidden |
//! | `versions` | which versions there are, and which of them is spoken |
//! | `v3`, `v2` | the questions, one folder per version |
//! | `deletions` | what it takes to have an instance deleted |
//! | `brokers`, `offered_plans`, `visibility` | who is registered, what it offers, who sees that |
//! | `upgrades` | bringing instances to the version of their plan |
//! | `jobs` | what the Cloud Controller carries out by and by |
//! | `instances`, `plans`, `ids` | the answers |
//! | `sight` | how much of it somebody may see |
//! | `connection`, `error` | how the Cloud Controller is asked, and what its refusals mean |
//!
//! What reads is repeated after transient failures, within the limits and the deadline of the call. What changes
//! something is not, unless doing it twice is the same as doing it once: who has asked looks what has become of it.

mod brokers;
mod connection;
mod deletions;
mod error;
mod facade;
mod ids;
mod instances;
mod jobs;
mod listing;
mod offered_plans;
mod organizations;
mod plans;
mod sight;
mod upgrades;
mod v2;
mod v3;
mod versions;
mod visibility;

pub use brokers::{BrokerRegistration, CfBroker};
pub use deletions::{CfBinding, CfBindingKind, CfStanding, Deletion};
pub(crate) use error::is_lasting_fault_of_broker;
pub use facade::CloudController;
pub use ids::{
    AppGuid, BindingGuid, BrokerGuid, InstanceGuid, JobGuid, OfferingGuid, OrganizationGuid,
    PlanGuid, SpaceGuid,
};
pub use instances::{CfInstance, CfOperation, CfOperationKind, CfOperationState};
pub use jobs::{Accepted, CfFault, CfJob, JobState};
pub use listing::{InstanceQuery, InstanceStream, PlaceNames};
pub use offered_plans::OfferedPlan;
pub use plans::CfPlan;
pub use sight::{SEES_ALL, Sight};
pub use upgrades::{CfVersionedInstance, Upgrading};
pub use versions::{ApiVersion, ApiVersions};
pub use visibility::{PlanVisibility, WantedVisibility};
