//! The client of the BOSH Director.
//!
//! Contract: `spec/contracts/director-api.md`. A file per group of endpoints:
//!
//! | file | endpoints |
//! | --- | --- |
//! | `connection` | authenticates and sends requests, and classifies answers |
//! | `info` | `/info` |
//! | `deployments` | `/deployments`: list, manifest, variables, deploy, recreate, delete |
//! | `errands` | `/deployments/NAME/errands`, and their results |
//! | `tasks` | `/tasks`: one, many, cancel, result output |
//! | `events` | the event output of a task |
//! | `audit` | `/events`: the audit of deployments and configs |
//! | `instances` | `/deployments/NAME/instances`, `/deployments/NAME/vms` |
//! | `configs` | `/configs` |
//! | `links` | `/link_providers`, `/links`, `/link_address` |
//!
//! Read requests are retried on transient errors, within the limits and the deadline of the call. Requests that start a
//! task are not: [`SubmitError`] says whether they may have taken effect.

mod audit;
mod configs;
mod connection;
mod deployments;
mod errands;
mod events;
mod ids;
mod info;
mod instances;
mod links;
mod tasks;

pub use audit::{AuditFilter, AuditRecord};
pub use configs::{Config, Expected, PutConfigError};
pub(crate) use connection::NOT_ALLOWED;
pub use connection::{Credentials, Director, SubmitError};
pub use deployments::{Deployment, Force, Variable};
pub use errands::{ErrandResult, InstanceSelector};
pub use events::{Event, EventChunk, Failure, Step, StepState};
pub use ids::{
    ConfigId, ConfigName, ConfigType, ContextId, DeploymentName, ErrandName, LinkId,
    LinkProviderId, TaskId,
};
pub use info::{Authentication, Info};
pub use instances::{InstanceState, ProcessState};
pub use links::{AddressFilter, InstanceHealth, LinkProvider};
pub use tasks::{Cancellation, Task, TaskFilter, TaskState};
