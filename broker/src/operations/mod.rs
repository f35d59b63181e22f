//! What can be done to service instances: one file each, each reads as the list of its steps.
//!
//! | file | holds |
//! | --- | --- |
//! | `provision`, `update`, `deprovision`, `bind`, `unbind`, `fetch`, `fetch_binding`, `last_operation` | the operations of platform users |
//! | `upgrade`, `recreate`, `dry_run`, `health`, `review`, `cancel` | those of the operator |
//! | `inventory` | what instances there are, and what is known of each |
//! | `runs` | the way of an errand through all instances |
//! | `secure_bindings`, `undo_bind` | credentials in the runtime CredHub; taking back what a failed bind has made |
//! | `service_metrics` | how much of the offering is used, for `GET /mgmt/metrics` |
//! | `counting` | which places are taken, for quotas |
//! | `orphans` | deployments that no service instance of the platform stands behind |
//! | `census` | which instances there are, for the metrics |
//! | `instance_source` | who knows the instances |
//! | `usage` | telling collectors of telemetry how many instances there are |
//! | `lifecycle` | that an operation outlives the connection that asked for it, and ends before the process does |
//! | `locks` | one operation on an instance at a time, several bindings of it, all instances at once |

mod bind;
mod cancel;
mod census;
mod counting;
mod deprovision;
mod dry_run;
mod fetch;
mod fetch_binding;
mod health;
mod instance_source;
mod inventory;
mod last_operation;
mod lifecycle;
mod locks;
mod orphans;
mod provision;
mod recreate;
mod review;
mod runs;
mod secure_bindings;
mod service_metrics;
mod unbind;
mod undo_bind;
mod update;
mod upgrade;
mod usage;

use std::{num::NonZeroU32, sync::Arc};

use odb_api_types::ids::{InstanceId, OfferingId, PlanId, RequestId};
use odb_platform::http::{Call, Deadline};

use crate::{
    bosh::Instances,
    config::{BackupAgentBindings, Offering, Timings},
    offering::{CatalogFault, MaintenanceConflict, PlanVersion, Schemas},
};
use census::Census;
use counting::Counting;
use locks::Locks;

pub use bind::{BindError, BindRequest, BindResource, Bound};
pub use cancel::CancelError;
pub use counting::CountError;
pub use deprovision::{DeprovisionError, DeprovisionRequest, Deprovisioned};
pub use dry_run::{DryRunError, DryRunRequest};
pub use fetch::FetchRequest;
pub use fetch_binding::{FetchBindingError, FetchBindingRequest};
pub use instance_source::{
    CloudControllerSource, EntryStream, FilterError, InstanceEntry, InstanceRecord, InstanceSource,
    InstanceSources, OfferingKnowledge, RecordStanding, Selection, SourceError,
};
pub use inventory::{InventoryError, InventoryFilter, InventoryStream};
pub use last_operation::LastOperationRequest;
pub use lifecycle::{Cut, Lifecycle};
pub use orphans::{
    DeleteOrphanError, Detail, Orphan, OrphanDeletion, OrphansError, UnknownOffering, Unmarked,
};
pub use provision::{ProvisionError, ProvisionRequest, Provisioned};
pub use recreate::{RecreateError, RecreateRequest};
pub use secure_bindings::{
    NoReader, SecureBindingFault, SecureBindings, Unkeepable, UnstorableIds,
};
pub use service_metrics::ServiceMetricsError;
pub use unbind::{UnbindError, UnbindRequest};
pub use update::{PreviousValues, UpdateError, UpdateRequest, Updated};
pub use upgrade::{UpgradeError, UpgradeRequest};
pub use usage::UsageReports;

/// Does what platform users ask for.
#[derive(Clone, Debug)]
pub struct Operations {
    instances: Instances,
    offering: Arc<Offering>,
    schemas: Arc<Schemas>,
    sources: InstanceSources,
    counting: Option<Counting>,
    census: Option<Census>,
    secure_bindings: Option<SecureBindings>,
    backup_agent_bindings: BackupAgentBindings,
    lifecycle: Lifecycle,
    timings: Timings,
    locks: Locks,
}

/// How bindings are made.
#[derive(Clone, Debug)]
pub struct BindingSettings {
    /// Where their credentials are kept; without, they go to the platform.
    pub secure: Option<SecureBindings>,
    /// Whether backup agents may bind.
    pub backup_agents: BackupAgentBindings,
    /// How many bindings of one instance are created and deleted at once.
    pub concurrent_per_instance: NonZeroU32,
}

/// What every request carries.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// The request's id, which users quote and the log has.
    pub request: RequestId,
    /// When the answer is due.
    pub deadline: Deadline,
}

/// The platform is ready to wait for an operation (`accepts_incomplete=true`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// It polls until the operation has ended.
    Waits,
    /// It wants a finished answer, which no operation here can give.
    None,
}

/// The platform did not offer to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the platform did not send `accepts_incomplete=true`, and every operation takes longer than a request"
)]
pub struct AsyncRequired;

impl Patience {
    fn required(self) -> Result<(), AsyncRequired> {
        match self {
            Self::Waits => Ok(()),
            Self::None => Err(AsyncRequired),
        }
    }
}

/// The parameters of a request are no JSON object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{member}` is not a JSON object")]
pub struct NotAnObject {
    /// Which member of the body.
    pub member: &'static str,
}

impl Operations {
    /// Operations on the instances of one offering. Without somebody who knows the instances nothing is counted.
    pub fn new(
        instances: Instances,
        offering: Arc<Offering>,
        schemas: Schemas,
        sources: InstanceSources,
        bindings: BindingSettings,
        lifecycle: Lifecycle,
        timings: Timings,
    ) -> Self {
        let counts = sources.counts.clone();
        let census = counts
            .clone()
            .map(|source| Census::new(source, offering.clone(), &timings));
        let counting = counts.map(|source| Counting::new(source, offering.clone(), &timings));
        Self {
            instances,
            offering,
            schemas: Arc::new(schemas),
            sources,
            counting,
            census,
            secure_bindings: bindings.secure,
            backup_agent_bindings: bindings.backup_agents,
            lifecycle,
            timings,
            locks: Locks::new(bindings.concurrent_per_instance),
        }
    }

    /// Learns what has to be known before orders can be held against quotas. When it fails, the first order learns it.
    pub async fn prepare_counting(&self, call: &Call) -> Result<(), CountError> {
        match &self.counting {
            Some(counting) => counting.prepare(&self.instances, call).await,
            None => Ok(()),
        }
    }

    /// Sees to it that the metrics tell which instances there are, as far as somebody knows.
    pub async fn count_for_metrics(&self) {
        if let Some(census) = &self.census {
            census.refresh(&self.lifecycle).await;
        }
    }

    /// What is offered.
    pub fn offering(&self) -> &Offering {
        &self.offering
    }

    /// Who is asked which service instances there are, if anybody knows.
    pub fn lists(&self) -> Option<&InstanceSource> {
        self.sources.lists.as_ref()
    }

    /// What parameters its plans take.
    pub fn schemas(&self) -> &Schemas {
        &self.schemas
    }

    fn check_in_catalog(&self, service: &OfferingId, plan: &PlanId) -> Result<(), CatalogFault> {
        self.check_service(service)?;
        self.check_plan(plan)
    }

    fn check_plan(&self, plan: &PlanId) -> Result<(), CatalogFault> {
        match self.offering.plan(plan) {
            Some(_) => Ok(()),
            None => Err(CatalogFault::UnknownPlan { plan: plan.clone() }),
        }
    }

    fn check_service(&self, service: &OfferingId) -> Result<(), CatalogFault> {
        if *service == self.offering.id {
            Ok(())
        } else {
            Err(CatalogFault::UnknownService {
                service: service.clone(),
            })
        }
    }

    fn check_maintenance_version(
        &self,
        plan: &PlanId,
        version: Option<&str>,
    ) -> Result<(), MaintenanceConflict> {
        let known = self
            .offering
            .plan(plan)
            .and_then(|plan| PlanVersion::of(&plan.maintenance_info));
        crate::offering::check_maintenance_version(known.as_ref(), version)
    }
}

impl RequestContext {
    /// What calls to neighbours inherit from the request.
    pub fn call(&self) -> Call {
        Call::until(self.deadline).with_request_id(self.request.as_str())
    }
}

/// The lock on an instance was not to be had in the request's time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another request on service instance `{instance}` took too long")]
pub struct LockTimeout {
    /// The instance.
    pub instance: InstanceId,
}
