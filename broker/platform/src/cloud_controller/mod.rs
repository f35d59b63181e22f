//! The Cloud Controller, in whichever version of its API it offers.
//!
//! Contract: `spec/contracts/platform-apis.md`, sections 3 and 4. [`CloudController`] asks for the
//! versions once and then speaks v3 where that is complete, else v2.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `facade` | what can be asked, whichever version answers |
//! | `versions` | which versions there are, and which of them is spoken |
//! | `v3`, `v2` | the questions, one folder per version |
//! | `instances`, `plans`, `ids` | the answers |
//! | `connection`, `error` | how requests are sent, and what can go wrong |
//!
//! Everything here reads, so everything is repeated after transient failures, within the limits
//! and the deadline of the call.

mod connection;
mod error;
mod facade;
mod ids;
mod instances;
mod plans;
mod v2;
mod v3;
mod versions;

pub use error::CloudControllerError;
pub use facade::CloudController;
pub use ids::{InstanceGuid, PlanGuid, SpaceGuid};
pub use instances::{CfInstance, CfOperation, CfOperationKind, CfOperationState};
pub use plans::CfPlan;
pub use versions::{ApiVersion, ApiVersions};
