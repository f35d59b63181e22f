//! The operations on service instances: one file each, which reads as the list of its steps.
//!
//! | file | contents |
//! | --- | --- |
//! | `provision`, `update`, `deprovision`, `bind`, `unbind` | the operations of platform users |
//! | `upgrade` | those of the operator: upgrade, recreation, preview, cancellation |
//! | `refused` | why an operation is rejected |
//! | `inventory` | the list of instances with all that is known of each |
//! | `secure_bindings`, `undo_bind` | credentials in the runtime CredHub; the rollback of a failed bind |
//! | `service_metrics` | the use of the offering, for `GET /mgmt/metrics` |
//! | `counting` | the occupied slots, for quotas |
//! | `orphans` | deployments without a service instance in the platform |
//! | `instance_counter` | the number of instances, for the metrics |
//! | `instance_source` | the sources of instances |
//! | `usage` | the number of instances, for collectors of telemetry |
//! | `lifecycle` | an operation outlives its connection, and ends before the process does |
//! | `locks` | locks of instances, bindings and all instances together |

mod bind;
mod counting;
mod deprovision;
mod instance_counter;
mod instance_source;
mod inventory;
mod lifecycle;
mod locks;
mod orphans;
mod provision;
mod refused;
mod secure_bindings;
mod service_metrics;
mod unbind;
mod undo_bind;
mod update;
mod upgrade;
mod usage;
mod usage_line;

use std::{num::NonZeroU32, sync::Arc};

use odb_adapter_sdk::protocol::RequestParameters;
use odb_api_types::{
    code::Code,
    ids::{InstanceId, OfferingId, PlanId, RequestId},
};
use odb_clients::http::{Call, Deadline};
use odb_config::{Offering, Timings};
use odb_redaction::Chain;
use serde_json::Value;

use crate::{
    engine::{Engine, Order},
    offering::{CatalogError, MaintenanceConflict, PlanVersion, Schemas},
};
use counting::Counting;
use instance_counter::InstanceCounter;
use locks::Locks;

pub use bind::{BindRequest, BindResource, Bound};
pub use deprovision::DeprovisionRequest;
pub use instance_source::{
    CloudControllerSource, CountedInstance, EntryStream, FilterError, InstanceEntry,
    InstanceSource, InstanceSources, OfferingKnowledge, PlatformState, Selection, SourceError,
};
pub use inventory::InventoryFilter;
pub use lifecycle::{Cut, Lifecycle};
pub use orphans::{Detail, Orphan, OrphanDeletion, UnknownOffering, Unmarked};
pub use provision::{ProvisionRequest, Provisioned};
pub use refused::Refused;
pub use secure_bindings::{NoReader, SecureBindingError, SecureBindings, UnstorableIds};
pub use unbind::UnbindRequest;
pub use update::{PreviousValues, UpdateRequest};
pub use usage::UsageReports;

/// Carries out the requests of platform users.
#[derive(Clone, Debug)]
pub struct Operations {
    engine: Arc<dyn Engine>,
    offering: Arc<Offering>,
    schemas: Arc<Schemas>,
    sources: InstanceSources,
    counting: Option<Counting>,
    instance_counter: Option<InstanceCounter>,
    secure_bindings: Option<SecureBindings>,
    backup_agent_bindings: bool,
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
    pub backup_agents: bool,
    /// How many bindings of one instance are created and deleted at once.
    pub concurrent_per_instance: NonZeroU32,
}

/// The members of every request.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// The request's id, which users quote and the log has.
    pub request: RequestId,
    /// When the answer is due.
    pub deadline: Deadline,
}

/// The platform is ready to wait for an operation (`accepts_incomplete=true`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptsIncomplete {
    /// It polls until the operation has ended.
    Yes,
    /// It wants a finished answer, which no operation here can give.
    No,
}

impl AcceptsIncomplete {
    fn required(self) -> Result<(), Refused> {
        match self {
            Self::Yes => Ok(()),
            Self::No => Err(Refused::AsyncRequired),
        }
    }
}

impl Operations {
    /// Operations on the instances of one offering. Without a source of instances nothing is counted.
    pub fn new(
        engine: Arc<dyn Engine>,
        offering: Arc<Offering>,
        schemas: Schemas,
        sources: InstanceSources,
        bindings: BindingSettings,
        lifecycle: Lifecycle,
        timings: Timings,
    ) -> Self {
        let counts = sources.counts.clone();
        let instance_counter = counts
            .clone()
            .map(|source| InstanceCounter::new(source, offering.clone(), &timings));
        let counting = counts.map(|source| Counting::new(source, offering.clone(), &timings));
        Self {
            engine,
            offering,
            schemas: Arc::new(schemas),
            sources,
            counting,
            instance_counter,
            secure_bindings: bindings.secure,
            backup_agent_bindings: bindings.backup_agents,
            lifecycle,
            timings,
            locks: Locks::new(bindings.concurrent_per_instance),
        }
    }

    /// Reads what quota checks need. If it fails, the first order reads it.
    pub async fn prepare_counting(&self, call: &Call) {
        let Some(counting) = &self.counting else {
            return;
        };
        if let Err(error) = counting.prepare(&*self.engine, call).await {
            let code = match &error {
                Refused::CountSource(error) => error.code_of_count(),
                _ => Code::Director,
            };
            tracing::warn!(
                %code,
                error = %Chain(&error),
                "the service instances could not be counted yet; the first order tries again"
            );
        }
    }

    /// Updates the metrics of instances, as far as a source has them.
    pub async fn count_for_metrics(&self) {
        if let Some(instance_counter) = &self.instance_counter {
            instance_counter.refresh(&self.lifecycle).await;
        }
    }

    /// The offering.
    pub fn offering(&self) -> &Offering {
        &self.offering
    }

    /// The engine, for reads that no rule decides.
    pub fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    /// The source for lists of service instances.
    pub fn lists(&self) -> Result<&InstanceSource, Refused> {
        self.sources.lists.as_ref().ok_or(Refused::NoSource)
    }

    /// The parameter schemas of the plans.
    pub fn schemas(&self) -> &Schemas {
        &self.schemas
    }

    fn check_in_catalog(&self, service: &OfferingId, plan: &PlanId) -> Result<(), CatalogError> {
        self.check_service(service)?;
        self.check_plan(plan)
    }

    fn check_plan(&self, plan: &PlanId) -> Result<(), CatalogError> {
        match self.offering.plan(plan) {
            Some(_) => Ok(()),
            None => Err(CatalogError::UnknownPlan { plan: plan.clone() }),
        }
    }

    fn check_service(&self, service: &OfferingId) -> Result<(), CatalogError> {
        if *service == self.offering.id {
            Ok(())
        } else {
            Err(CatalogError::UnknownService {
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
    /// The call context that upstream calls inherit from the request.
    pub fn call(&self) -> Call {
        Call::until(self.deadline).with_request_id(self.request.as_str())
    }

    fn order(
        &self,
        instance: InstanceId,
        plan: PlanId,
        identity: Value,
        parameters: RequestParameters,
    ) -> Order {
        Order {
            instance,
            plan,
            parameters,
            identity,
            request: self.request.clone(),
            deadline: self.deadline,
        }
    }
}

/// The lock on an instance was not to be had in the request's time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another request on service instance `{instance}` took too long")]
pub struct LockTimeout {
    /// The instance.
    pub instance: InstanceId,
}
