//! The client of the BOSH Director.
//!
//! Contract: `spec/contracts/director-api.md`. A file per group of endpoints:
//!
//! | file | endpoints |
//! | --- | --- |
//! | `connection` | authenticates and sends requests, and classifies answers |
//! | `info` | `/info` |
//! | `deployments` | `/deployments`: list, manifest, deploy, recreate, delete |
//! | `errands` | `/deployments/NAME/errands`, and their results |
//! | `tasks` | `/tasks`: one, many, cancel, result output |
//! | `events` | the event output of a task |
//! | `audit` | `/events`: the audit of deployments and configs |
//! | `variables` | `/deployments/NAME/variables` |
//! | `vms`, `instances` | `/deployments/NAME/vms`, `/deployments/NAME/instances` |
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
mod error;
mod events;
mod ids;
mod info;
mod instances;
mod links;
mod tasks;
mod variables;
mod vms;

pub use audit::{AuditFilter, AuditRecord};
pub use configs::{Config, Deleted, Expected, PutConfigError};
pub use connection::{ConnectError, Credentials, Director};
pub use deployments::{Deployment, DeploymentSummary, Force};
pub use errands::{ErrandResult, InstanceSelector};
pub(crate) use error::NOT_ALLOWED;
pub use error::SubmitError;
pub use events::{Event, EventChunk, Failure, Step, StepState, Warning, WarningKind};
pub use ids::{
    ConfigId, ConfigName, ConfigType, ContextId, DeploymentName, ErrandName, InvalidContextId,
    LinkId, LinkProviderId, TaskId,
};
pub use info::{Authentication, Info};
pub use instances::{InstanceState, ProcessState};
pub use links::{AddressFilter, DeletedLink, InstanceHealth, LinkProvider};
pub use tasks::{Cancellation, Task, TaskFilter, TaskState};
pub use variables::Variable;
