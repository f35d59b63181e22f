//! Service instances as deployments of a BOSH Director: everything that is specific to this kind of foundation.
//!
//! | module | contents |
//! | --- | --- |
//! | `instance` | an instance as one request looks at it: names, deployment, tasks, record, operation in progress, health |
//! | `orders` | the request's part of an operation: everything that can fail, then the submission to the Director |
//! | `bindings` | credentials, from the deployed manifest and its addresses |
//! | `reconciler` | follows an operation from its submission to its end |
//! | `records` | the operation record, and the instance record that is built from it, the Director's tasks and tokens |
//! | `manifest` | checks of a manifest, differences to a regenerated one, the current target |
//! | `secrets` | secrets in the Director's CredHub, and references of manifests |
//! | `configs` | the BOSH configs of an instance |
//! | `runs` | the journal of rollouts, in BOSH configs |
//! | [`instance_clients`] | the UAA client of each instance |
//! | [`adapter`] | one supervised child process for each call |
//! | `error` | the errors of the engine |
//! | `digest`, `wait` | digests of a foundation and of an executable; pauses between attempts |

pub mod adapter;
mod bindings;
mod configs;
mod digest;
mod error;
mod instance;
pub mod instance_clients;
mod manifest;
mod orders;
mod reconciler;
mod records;
mod runs;
mod secrets;
mod wait;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, atomic::AtomicBool},
};

use async_trait::async_trait;
use odb_api_types::{
    ids::{InstanceId, PlanId, RequestId},
    kind::OperationKind,
    management::{DirectorAbilities, DryRun, Health, OperationStatus, Target},
};
use odb_clients::{
    credhub::CredHub,
    director::{Deployment, Director},
    http::Call,
};
use odb_config::{BoshConfigs, Config, ErrorDetail, Offering, ServiceSoftware, Timings};
use odb_core::engine::{
    Bindable, BindingOrder, Cancelled, Deleted, Deletion, Engine, EngineError, Found,
    InstanceRecord, InstanceRecords, Journal, KeptBindings, LastOperation, Occupancy,
    OperationView, Order, Origin, Ownership, Started, Upgraded,
};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, broadcast},
};
use tokio_util::sync::CancellationToken;

use adapter::ServiceAdapter;
use digest::Foundation;
use error::Error;
use instance::{Instance, deployment, instance_of};
use instance_clients::InstanceClients;
use orders::{cancel, change, delete, submission::Abandoned};
use reconciler::Reconcilers;
use records::{
    last_operation, operation_details, operation_record::Records, reading, token::OperationToken,
};
use runs::Runs;
use secrets::InstanceSecrets;

pub use digest::Targets;
pub use manifest::{TrialError, Tried, try_order};
pub use secrets::{has_reference, is_reference};

/// Service instances as deployments of a Director.
#[derive(Clone, Debug)]
pub struct BoshEngine {
    upstreams: Arc<Upstreams>,
    adapter: ServiceAdapter,
    software: Arc<ServiceSoftware>,
    offering: Arc<Offering>,
    skips_pending_changes_check: bool,
    skips_unchanged_upgrades: bool,
    targets: Arc<Targets>,
    runs: Runs,
    reconcilers: Reconcilers,
    /// Every operation of an earlier process has its reconciler.
    is_resumed: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Upstreams {
    director: Director,
    records: Records,
    secrets: InstanceSecrets,
    bindings: Option<Arc<dyn KeptBindings>>,
    offering: Arc<Offering>,
    timings: Timings,
    configs: BoshConfigs,
    error_detail: ErrorDetail,
    /// Bounds the submissions under way; the Director's own queue is the durable one.
    submissions: Semaphore,
    abandoned: Abandoned,
    ends: broadcast::Sender<OperationKind>,
    clients: InstanceClients,
}

/// How many ended operations may wait for a receiver; older ones are dropped.
const ENDS: usize = 1024;

/// The upstreams of the engine, checked at the start.
#[derive(Debug)]
pub struct Dependencies {
    /// Deploys them.
    pub director: Director,
    /// Whether BOSH configs may be used, which may be less than configured.
    pub configs: BoshConfigs,
    /// The Director's, where secure manifests are on.
    pub credhub: Option<CredHub>,
    /// Keeps the credentials of their bindings, where secure bindings are on.
    pub bindings: Option<Arc<dyn KeptBindings>>,
    /// Administers their UAA clients.
    pub clients: InstanceClients,
    /// Knows what to deploy.
    pub adapter: ServiceAdapter,
    /// The current targets.
    pub targets: Targets,
}

impl BoshEngine {
    /// Ties the parts together. Reconcilers run on `runtime` until `stopping`.
    pub fn new(
        config: &Config,
        dependencies: Dependencies,
        runtime: Handle,
        stopping: CancellationToken,
    ) -> Self {
        let Dependencies {
            director,
            configs,
            credhub,
            bindings,
            clients,
            adapter,
            targets,
        } = dependencies;
        let offering = config.offering.clone();
        let targets = Arc::new(targets);
        let runs = Runs::new(
            director.clone(),
            offering.id.clone(),
            configs,
            targets.clone(),
        );
        let upstreams = Upstreams {
            records: Records::new(
                director.clone(),
                offering.id.clone(),
                configs,
                config
                    .cloud_foundry
                    .as_ref()
                    .map(|cf| Foundation::of(cf.url.as_written())),
            ),
            director,
            secrets: InstanceSecrets::new(credhub, offering.id.clone()),
            bindings,
            offering: offering.clone(),
            timings: config.broker.timings,
            configs,
            error_detail: config.broker.error_detail,
            submissions: Semaphore::new(config.broker.timings.submissions),
            abandoned: Abandoned::default(),
            ends: broadcast::Sender::new(ENDS),
            clients,
        };
        Self {
            reconcilers: Reconcilers::new(&config.broker.timings, runtime, stopping),
            upstreams: Arc::new(upstreams),
            adapter,
            software: Arc::new(config.software.clone()),
            offering,
            skips_pending_changes_check: config.broker.skips_pending_changes_check,
            skips_unchanged_upgrades: config.broker.skips_unchanged_upgrades,
            targets,
            runs,
            is_resumed: Arc::default(),
        }
    }
}

#[async_trait]
impl Engine for BoshEngine {
    async fn find(&self, order: &Order) -> Result<Found, EngineError> {
        Ok(change::find(self, order).await?)
    }

    async fn update(&self, order: &Order, from: &PlanId) -> Result<Started, EngineError> {
        Ok(change::update(self, order, from).await?)
    }

    async fn upgrade(&self, order: &Order) -> Result<Upgraded, EngineError> {
        Ok(change::upgrade(self, order).await?)
    }

    async fn recreate(&self, order: &Order) -> Result<Started, EngineError> {
        Ok(change::recreate(self, order).await?)
    }

    async fn delete(
        &self,
        order: &Order,
        deletion: Deletion,
        origin: Origin,
    ) -> Result<Deleted, EngineError> {
        Ok(delete::delete(self, order, deletion, origin).await?)
    }

    async fn cancel(
        &self,
        call: &Call,
        instance: &InstanceId,
        request: &RequestId,
    ) -> Result<Cancelled, EngineError> {
        Ok(cancel::cancel(Instance::new(self, call, instance), request).await?)
    }

    async fn preview(&self, order: &Order) -> Result<DryRun, EngineError> {
        Ok(change::preview(self, order).await?)
    }

    async fn find_bindable(&self, order: &BindingOrder) -> Result<Arc<dyn Bindable>, EngineError> {
        Ok(Arc::new(bindings::find_bindable(self, order).await?))
    }

    async fn unbind(&self, order: &BindingOrder) -> Result<(), EngineError> {
        bindings::unbind(self, order).await
    }

    async fn last_operation(
        &self,
        call: &Call,
        instance: &InstanceId,
        token: Option<&str>,
        request: &RequestId,
    ) -> Result<LastOperation, EngineError> {
        let token = token.and_then(OperationToken::parse);
        let instance = Instance::new(self, call, instance);
        Ok(last_operation::last_operation(instance, token.as_ref(), request).await?)
    }

    async fn operation(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<Option<OperationStatus>, EngineError> {
        Ok(operation_details::operation_details(Instance::new(self, call, instance)).await?)
    }

    async fn record(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<InstanceRecord, EngineError> {
        Ok(reading::record(Instance::new(self, call, instance)).await?)
    }

    async fn record_at_rest(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<InstanceRecord, EngineError> {
        Ok(reading::record_at_rest(Instance::new(self, call, instance)).await?)
    }

    async fn records(&self, call: &Call) -> Result<InstanceRecords, EngineError> {
        Ok(reading::records(self, call).await?)
    }

    async fn records_of(
        &self,
        call: &Call,
        instances: &BTreeSet<InstanceId>,
    ) -> Result<HashMap<InstanceId, InstanceRecord>, EngineError> {
        Ok(reading::records_of(self, call, instances).await?)
    }

    async fn ownership(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<Ownership, EngineError> {
        Ok(reading::ownership(Instance::new(self, call, instance)).await?)
    }

    async fn current_plan(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<Option<PlanId>, EngineError> {
        let stored = Instance::new(self, call, instance).stored().await?;
        Ok(stored.and_then(|stored| stored.record.settled_plan().cloned()))
    }

    async fn require_at_rest(&self, call: &Call, instance: &InstanceId) -> Result<(), EngineError> {
        Ok(reading::require_at_rest(Instance::new(self, call, instance)).await?)
    }

    async fn is_as_ordered(&self, call: &Call, instance: &InstanceId) -> Result<bool, EngineError> {
        Ok(reading::is_as_ordered(Instance::new(self, call, instance)).await?)
    }

    async fn is_deployed(&self, call: &Call, instance: &InstanceId) -> Result<bool, EngineError> {
        match Instance::new(self, call, instance).deployment().await? {
            Deployment::Deployed(_) | Deployment::NeverDeployed => Ok(true),
            Deployment::Absent => Ok(false),
            Deployment::ForeignTeam => Err(Error::Foreign.into()),
        }
    }

    async fn deployed_instances(&self, call: &Call) -> Result<BTreeSet<InstanceId>, EngineError> {
        Ok(reading::deployed_instances(self, call).await?)
    }

    async fn present_instances(&self, call: &Call) -> Result<BTreeSet<InstanceId>, EngineError> {
        // Tasks are read first: one that ends in between leaves its deployment.
        let in_progress = reading::in_progress(self, call).await?;
        let mut present = reading::deployed_instances(self, call).await?;
        present.extend(in_progress.into_keys());
        Ok(present)
    }

    fn occupied(&self) -> Vec<(InstanceId, Occupancy)> {
        self.reconcilers.occupied()
    }

    async fn recorded_occupancies(
        &self,
        call: &Call,
    ) -> Result<Vec<(InstanceId, Occupancy)>, EngineError> {
        Ok(reading::recorded_occupancies(self, call).await?)
    }

    async fn latest_known(
        &self,
        call: &Call,
        instances: &BTreeSet<InstanceId>,
        records: &HashMap<InstanceId, InstanceRecord>,
    ) -> Result<HashMap<InstanceId, OperationView>, EngineError> {
        Ok(reading::latest_known(self, call, instances, records).await?)
    }

    async fn latest_operation(
        &self,
        call: &Call,
        instance: &InstanceId,
        record: Option<&InstanceRecord>,
    ) -> Result<Option<OperationView>, EngineError> {
        Ok(reading::latest_operation(Instance::new(self, call, instance), record).await?)
    }

    async fn health(&self, call: &Call, instance: &InstanceId) -> Result<Health, EngineError> {
        Ok(instance::health(Instance::new(self, call, instance)).await?)
    }

    async fn abilities(&self, call: &Call) -> Result<DirectorAbilities, EngineError> {
        let info = self.upstreams.director.info(call).await;
        let info = info.map_err(Error::director("ask the Director for its version"))?;
        Ok(DirectorAbilities::of(info.version))
    }

    fn deployment_name(&self, instance: &InstanceId) -> String {
        deployment(instance).to_string()
    }

    fn instance_of(&self, deployment_name: &str) -> Option<InstanceId> {
        instance_of(deployment_name)
    }

    fn release_of(&self, plan: &PlanId) -> Option<&Target> {
        self.targets.of(plan)
    }

    fn journal(&self) -> &dyn Journal {
        &self.runs
    }

    async fn resume(&self, call: &Call) -> Result<usize, EngineError> {
        Ok(reconciler::resume(self, call).await?)
    }

    fn ended(&self) -> broadcast::Receiver<OperationKind> {
        self.upstreams.ends.subscribe()
    }
}
