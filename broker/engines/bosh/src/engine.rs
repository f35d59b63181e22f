//! The engine trait, delegated to one function each.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use async_trait::async_trait;
use odb_api_types::{
    ids::{InstanceId, PlanId, RequestId},
    kind::OperationKind,
    management::{DirectorAbilities, DryRun, Health, OperationStatus, Target},
};
use odb_clients::http::Call;
use odb_core::engine::{
    Bindable, BindingOrder, Cancelled, Deleted, Deletion, Engine, EngineError, Found,
    InstanceRecord, InstanceRecords, Journal, LastOperation, Occupancy, OperationView, Order,
    Origin, Ownership, Started, Upgraded,
};
use tokio::sync::broadcast;

use crate::{
    BoshEngine, bindings,
    deployment::{deployment, instance_of},
    health,
    manifest::dry_run,
    orders::{cancel, create, current, delete, recreate, update, upgrade},
    reconciler::resume,
    records::{last_operation, operation_details, reading, token::OperationToken},
};

#[async_trait]
impl Engine for BoshEngine {
    async fn find(&self, order: &Order) -> Result<Found, EngineError> {
        Ok(create::find(self, order).await?)
    }

    async fn update(&self, order: &Order, from: &PlanId) -> Result<Started, EngineError> {
        Ok(update::update(self, order, from).await?)
    }

    async fn upgrade(&self, order: &Order) -> Result<Upgraded, EngineError> {
        Ok(upgrade::upgrade(self, order).await?)
    }

    async fn recreate(&self, order: &Order) -> Result<Started, EngineError> {
        Ok(recreate::recreate(self, order).await?)
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
        Ok(cancel::cancel(self, call, instance, request).await?)
    }

    async fn preview(&self, order: &Order) -> Result<DryRun, EngineError> {
        Ok(dry_run::dry_run(self, order).await?)
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
        let token = token.as_ref();
        Ok(last_operation::last_operation(self, call, instance, token, request).await?)
    }

    async fn operation(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<Option<OperationStatus>, EngineError> {
        Ok(operation_details::operation_details(self, call, instance).await?)
    }

    async fn record(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<InstanceRecord, EngineError> {
        Ok(reading::record(self, call, instance).await?)
    }

    async fn record_at_rest(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<InstanceRecord, EngineError> {
        Ok(reading::record_at_rest(self, call, instance).await?)
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
        Ok(reading::ownership(self, call, instance).await?)
    }

    async fn current_plan(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<Option<PlanId>, EngineError> {
        Ok(reading::current_plan(self, call, instance).await?)
    }

    async fn require_at_rest(&self, call: &Call, instance: &InstanceId) -> Result<(), EngineError> {
        Ok(current::require_at_rest(self, call, instance).await?)
    }

    async fn is_as_ordered(&self, call: &Call, instance: &InstanceId) -> Result<bool, EngineError> {
        Ok(current::is_as_ordered(self, call, instance).await?)
    }

    async fn is_deployed(&self, call: &Call, instance: &InstanceId) -> Result<bool, EngineError> {
        Ok(reading::is_deployed(self, call, instance).await?)
    }

    async fn deployed_instances(&self, call: &Call) -> Result<BTreeSet<InstanceId>, EngineError> {
        Ok(reading::deployed_instances(self, call).await?)
    }

    async fn present_instances(&self, call: &Call) -> Result<BTreeSet<InstanceId>, EngineError> {
        Ok(reading::present_at_director(self, call).await?)
    }

    fn occupied(&self) -> Vec<(InstanceId, Occupancy)> {
        reading::occupied(self)
    }

    async fn recorded_occupancies(
        &self,
        call: &Call,
    ) -> Result<Vec<(InstanceId, Occupancy)>, EngineError> {
        Ok(reading::recorded_occupancies(self, call).await?)
    }

    async fn in_progress(
        &self,
        call: &Call,
    ) -> Result<HashMap<InstanceId, OperationView>, EngineError> {
        Ok(reading::in_progress(self, call).await?)
    }

    fn latest_known(
        &self,
        instance: &InstanceId,
        record: Option<&InstanceRecord>,
        in_progress: &HashMap<InstanceId, OperationView>,
    ) -> Option<OperationView> {
        reading::latest_known(self, instance, record, in_progress)
    }

    async fn latest_operation(
        &self,
        call: &Call,
        instance: &InstanceId,
        record: Option<&InstanceRecord>,
    ) -> Result<Option<OperationView>, EngineError> {
        Ok(reading::latest_operation(self, call, instance, record).await?)
    }

    async fn health(&self, call: &Call, instance: &InstanceId) -> Result<Health, EngineError> {
        Ok(health::health(self, call, instance).await?)
    }

    async fn abilities(&self, call: &Call) -> Result<DirectorAbilities, EngineError> {
        Ok(health::director_abilities(self, call).await?)
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
        Ok(resume::resume(self, call).await?)
    }

    fn ended(&self) -> broadcast::Receiver<OperationKind> {
        self.upstreams.ends.subscribe()
    }
}
