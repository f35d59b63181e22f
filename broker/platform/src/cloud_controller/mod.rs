//! The Cloud Controller, API version 3.
//!
//! Contract: `spec/contracts/platform-apis.md`, section 3. A file per group of endpoints:
//! `versions` (`/`), `plans` (`/v3/service_offerings`, `/v3/service_plans`), `instances`
//! (`/v3/service_instances`); `connection` sends, `pages` walks through lists.
//!
//! Everything here reads, so everything is repeated after transient failures, within the limits
//! and the deadline of the call.

mod connection;
mod error;
mod ids;
mod instances;
mod pages;
mod plans;
mod versions;

pub use connection::CloudController;
pub use error::CloudControllerError;
pub use ids::{InstanceGuid, PlanGuid, SpaceGuid};
pub use instances::{CfInstance, CfOperation, CfOperationKind, CfOperationState};
pub use plans::CfPlan;
pub use versions::ApiVersions;
