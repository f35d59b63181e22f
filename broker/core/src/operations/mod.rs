//! The operations on service instances, each of which reads as the list of its steps.
//!
//! | file | contents |
//! | --- | --- |
//! | `provision`, `update` | a new instance, its deprovisioning; update, upgrade, recreation, preview, cancellation |
//! | `bind`, `unbind` | a bind with the rollback of a failed one; the end of a binding, and reading it |
//! | `secure_bindings` | credentials in the runtime CredHub |
//! | `refused` | why an operation is rejected |
//! | `inventory` | the list of instances with all that is known of each |
//! | `orphans` | deployments without a service instance in the platform |
//! | `instance_source` | the sources of instances |
//! | `counting` | the occupied slots, for quotas |
//! | `instance_counter`, `service_metrics`, `usage` | the number of instances: for metrics, `GET /mgmt/metrics` and telemetry |
//! | `lifecycle` | an operation outlives its connection, and ends before the process does |
//! | `locks` | locks of instances, bindings and all instances together |

mod bind;
mod counting;
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
mod update;
mod usage;

use std::{num::NonZeroU32, sync::Arc};

use odb_adapter_sdk::protocol::RequestParameters;
use odb_api_types::{
    code::Code,
    ids::{InstanceId, OfferingId, PlanId, RequestId},
};
use odb_clients::http::{Call, Deadline};
use odb_config::{Offering, Plan, Timings};
use odb_redaction::Chain;
use serde_json::Value;

use crate::{
    engine::{Engine, Order},
    offering::{CatalogError, Schemas},
};
use counting::Counting;
use instance_counter::InstanceCounter;
use locks::Locks;

pub use bind::{BindRequest, BindResource, Bound};
pub use instance_source::{
    CloudControllerSource, EntryStream, FilterError, InstanceEntry, InstanceSource,
    InstanceSources, OfferingKnowledge, PlatformState, SourceError,
};
pub use inventory::InventoryFilter;
pub use lifecycle::{Cut, Lifecycle};
pub use locks::LockTimeout;
pub use orphans::{Detail, OrphanDeletion};
pub use provision::{DeprovisionRequest, ProvisionRequest, Provisioned};
pub use refused::Refused;
pub use secure_bindings::{SecureBindingError, SecureBindings};
pub use unbind::UnbindRequest;
pub use update::{PreviousValues, UpdateRequest};
pub use usage::report_usage;

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

#[derive(Clone, Debug)]
pub struct BindingSettings {
    /// Where their credentials are kept; without, they go to the platform.
    pub secure: Option<SecureBindings>,
    pub backup_agents: bool,
    /// How many bindings of one instance are created and deleted at once.
    pub concurrent_per_instance: NonZeroU32,
}

#[derive(Clone, Debug)]
pub struct RequestContext {
    pub request: RequestId,
    pub deadline: Deadline,
}

/// Every operation takes longer than a request, so the platform has to wait (`accepts_incomplete=true`).
fn require_async(accepts_incomplete: bool) -> Result<(), Refused> {
    if accepts_incomplete {
        Ok(())
    } else {
        Err(Refused::AsyncRequired)
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
        let instance_counter = counts.clone().map(|source| InstanceCounter {
            source,
            offering: offering.clone(),
            timings,
            latest: Arc::default(),
        });
        let counting = counts.map(|source| {
            Counting::new(engine.clone(), source, offering.clone(), timings.recorded)
        });
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

    pub async fn prepare_counting(&self, call: &Call) {
        let Some(counting) = &self.counting else {
            return;
        };
        if let Err(error) = counting.prepare(call).await {
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

    pub async fn count_for_metrics(&self) {
        if let Some(instance_counter) = &self.instance_counter {
            instance_counter.refresh(&self.lifecycle).await;
        }
    }

    pub fn offering(&self) -> &Offering {
        &self.offering
    }

    /// The engine, for reads that no rule decides.
    pub fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    pub fn lists(&self) -> Result<&dyn InstanceSource, Refused> {
        self.sources.lists.as_deref().ok_or(Refused::NoSource)
    }

    pub fn schemas(&self) -> &Schemas {
        &self.schemas
    }

    fn plan_named(&self, named: &str) -> Option<&Plan> {
        let mut plans = self.offering.plans.iter();
        plans.find(|plan| plan.id.as_str() == named || plan.name == named)
    }

    fn check_in_catalog(&self, service: &OfferingId, plan: &PlanId) -> Result<&Plan, CatalogError> {
        self.check_service(service)?;
        self.check_plan(plan)
    }

    fn check_plan(&self, plan: &PlanId) -> Result<&Plan, CatalogError> {
        let unknown = || CatalogError::UnknownPlan { plan: plan.clone() };
        self.offering.plan(plan).ok_or_else(unknown)
    }

    fn check_service(&self, service: &OfferingId) -> Result<(), CatalogError> {
        let service = service.clone();
        if service == self.offering.id {
            Ok(())
        } else {
            Err(CatalogError::UnknownService { service })
        }
    }
}

impl RequestContext {
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
