//! The seam between the operations and the engines: the trait of an engine, its orders, and its instance records.
//! Nothing here knows a Director.

mod error;
mod journal;
mod order;
mod record;
mod request_digest;

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    sync::Arc,
};

use async_trait::async_trait;
use odb_api_types::{
    ids::{InstanceId, PlanId, RequestId},
    kind::OperationKind,
    management::{DirectorAbilities, DryRun, Health, OperationStatus, Target},
};
use odb_clients::{ServiceError, http::Call};
use tokio::sync::broadcast;

pub use error::{EngineError, EngineErrorKind};
pub use journal::{Journal, JournalError};
pub use order::{
    Bindable, BindingOrder, Cancelled, Deleted, Deletion, Found, Order, Origin, Started, Upgraded,
    Vacancy, parameters_of_unbind,
};
pub use record::{
    Condition, InstanceRecord, InstanceRecords, LastOperation, Occupancy, OccupancyKind,
    OperationView, Ownership,
};
pub use request_digest::{RequestDigest, RequestIdentity};

/// Creates, changes and deletes service instances on one kind of foundation.
///
/// Each order is idempotent by instance and request identity. Everything that can fail comes before the point of no
/// return; after it the engine completes the operation on its own, in a later process if necessary. Callers never order
/// two operations on one instance at the same time.
#[async_trait]
pub trait Engine: fmt::Debug + Send + Sync {
    async fn find(&self, order: &Order) -> Result<Found, EngineError>;

    /// Deploys an instance with the requested changes; `from` is its previous plan.
    async fn update(&self, order: &Order, from: &PlanId) -> Result<Started, EngineError>;

    async fn upgrade(&self, order: &Order) -> Result<Upgraded, EngineError>;

    /// Puts an instance onto new machines, and changes nothing else about it.
    async fn recreate(&self, order: &Order) -> Result<Started, EngineError>;

    async fn delete(
        &self,
        order: &Order,
        deletion: Deletion,
        origin: Origin,
    ) -> Result<Deleted, EngineError>;

    /// Cancels the operation in progress: no further stage starts. Safe to repeat.
    async fn cancel(
        &self,
        call: &Call,
        instance: &InstanceId,
        request: &RequestId,
    ) -> Result<Cancelled, EngineError>;

    /// Returns what an upgrade would change. Changes nothing.
    async fn preview(&self, order: &Order) -> Result<DryRun, EngineError>;

    /// Reads an instance for a binding. During its creation or deletion there is nothing to bind.
    async fn find_bindable(&self, order: &BindingOrder) -> Result<Arc<dyn Bindable>, EngineError>;

    /// Revokes credentials, whatever operation is in progress.
    async fn unbind(&self, order: &BindingOrder) -> Result<(), EngineError>;

    /// The state of the operation that the platform polls. Without a matching token, the latest one on the instance.
    async fn last_operation(
        &self,
        call: &Call,
        instance: &InstanceId,
        token: Option<&str>,
        request: &RequestId,
    ) -> Result<LastOperation, EngineError>;

    /// The latest operation on an instance with its stages. `None` if no operation is recorded.
    async fn operation(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<Option<OperationStatus>, EngineError>;

    async fn record(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<InstanceRecord, EngineError>;

    /// The record of an instance on which nothing is in progress. One that is being created is not found yet.
    async fn record_at_rest(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<InstanceRecord, EngineError>;

    async fn records(&self, call: &Call) -> Result<InstanceRecords, EngineError>;

    async fn records_of(
        &self,
        call: &Call,
        instances: &BTreeSet<InstanceId>,
    ) -> Result<HashMap<InstanceId, InstanceRecord>, EngineError>;

    async fn ownership(&self, call: &Call, instance: &InstanceId)
    -> Result<Ownership, EngineError>;

    async fn current_plan(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<Option<PlanId>, EngineError>;

    /// Makes sure that an instance is there, and that nothing is in progress on it.
    async fn require_at_rest(&self, call: &Call, instance: &InstanceId) -> Result<(), EngineError>;

    async fn is_as_ordered(&self, call: &Call, instance: &InstanceId) -> Result<bool, EngineError>;

    async fn is_deployed(&self, call: &Call, instance: &InstanceId) -> Result<bool, EngineError>;

    /// The instances for which anything is deployed that we may see, whichever broker made them.
    async fn deployed_instances(&self, call: &Call) -> Result<BTreeSet<InstanceId>, EngineError>;

    /// The instances that are deployed, those included that only their own team may see.
    async fn present_instances(&self, call: &Call) -> Result<BTreeSet<InstanceId>, EngineError>;

    fn occupied(&self) -> Vec<(InstanceId, Occupancy)>;

    async fn recorded_occupancies(
        &self,
        call: &Call,
    ) -> Result<Vec<(InstanceId, Occupancy)>, EngineError>;

    /// The last operation on each of these instances, as far as it is known without a call for each.
    async fn latest_known(
        &self,
        call: &Call,
        instances: &BTreeSet<InstanceId>,
        records: &HashMap<InstanceId, InstanceRecord>,
    ) -> Result<HashMap<InstanceId, OperationView>, EngineError>;

    async fn latest_operation(
        &self,
        call: &Call,
        instance: &InstanceId,
        record: Option<&InstanceRecord>,
    ) -> Result<Option<OperationView>, EngineError>;

    async fn health(&self, call: &Call, instance: &InstanceId) -> Result<Health, EngineError>;

    /// The abilities of the Director of all instances; the management API names them so.
    async fn abilities(&self, call: &Call) -> Result<DirectorAbilities, EngineError>;

    fn deployment_name(&self, instance: &InstanceId) -> String;

    /// The instance that is deployed under a name, if the name is one of an instance.
    fn instance_of(&self, deployment_name: &str) -> Option<InstanceId>;

    /// The current target of a plan; `None` for a plan outside of the catalog.
    fn release_of(&self, plan: &PlanId) -> Option<&Target>;

    fn journal(&self) -> &dyn Journal;

    /// Resumes every operation that an earlier process left in progress, and returns their number. Requests need not
    /// wait for it: the operations that they poll are resumed for them.
    async fn resume(&self, call: &Call) -> Result<usize, EngineError>;

    /// Reports each operation that ends after this call.
    fn ended(&self) -> broadcast::Receiver<OperationKind>;
}

#[async_trait]
pub trait KeptBindings: fmt::Debug + Send + Sync {
    async fn remove_all(&self, call: &Call, instance: &InstanceId) -> Result<(), ServiceError>;
}
