//! The JSON of the management API, as types: the broker answers with them, the operator's errands read them
//! (`spec/openapi/management.yaml`).
//!
//! | file | routes |
//! | --- | --- |
//! | `listing`, `metrics` | `/mgmt/service_instances`, `/mgmt/orphan_deployments` and `/mgmt/metrics`, as the Go broker has them |
//! | `inventory` | `/mgmt/v1/service_instances` |
//! | `orphans` | `/mgmt/v1/orphan_deployments` |
//! | `runs` | `/mgmt/v1/runs` |

mod director;
mod dry_run;
mod health;
mod inventory;
mod listing;
mod metrics;
mod operation;
mod orphans;
mod runs;

pub use director::DirectorAbilities;
pub use dry_run::{ChangeKind, ChangeSort, Changes, DryRun, PlannedChange, Risks};
pub use health::{Health, InstanceHealth, ProcessHealth};
pub use inventory::{
    Deployed, DeploymentPresence, Inventory, InventoryEntry, InventoryOperation, OperationState,
    Owner, PlatformOperation, PlatformOperationKind, PlatformOperationState, Target,
};
pub use listing::{ListedInstance, ListedOrphan};
pub use metrics::{MetricUnit, ServiceMetric};
pub use operation::{OperationStatus, StageName, StageState, StageStatus, StepStatus};
pub use orphans::{OrphanDeployment, OrphanOperation, OrphanReason};
pub use runs::{BeginRun, EndRun, InvalidRunId, LatestRun, Run, RunId, RunKind, RunOutcome};
