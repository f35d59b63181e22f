//! The engine trait, delegated to one function each, and the health of VMs.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use async_trait::async_trait;
use odb_api_types::{
    ids::{InstanceId, PlanId, RequestId},
    kind::OperationKind,
    management::{
        DirectorAbilities, DryRun, Health, InstanceHealth, OperationStatus, ProcessHealth, Target,
    },
};
use odb_clients::{
    director::{Deployment, InstanceState},
    http::Call,
};
use odb_core::engine::{
    Bindable, BindingOrder, Cancelled, Deleted, Deletion, Engine, EngineError, Found,
    InstanceRecord, InstanceRecords, Journal, LastOperation, Occupancy, OperationView, Order,
    Origin, Ownership, Started, Upgraded,
};
use tokio::sync::broadcast;

use crate::{
    BoshEngine, bindings,
    error::{Error, is_not_allowed},
    instance::{Instance, deployment, instance_of},
    orders::{cancel, change, create, delete},
    reconciler::reconcilers,
    records::{
        instance_record::newer, last_operation, operation_details, reading, token::OperationToken,
    },
};

#[async_trait]
impl Engine for BoshEngine {
    async fn find(&self, order: &Order) -> Result<Found, EngineError> {
        Ok(create::find(self, order).await?)
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
        let recorded = reading::recorded_operation(self, instance, record);
        newer(recorded, in_progress.get(instance).cloned())
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
        Ok(health(Instance::new(self, call, instance)).await?)
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
        Ok(reconcilers::resume(self, call).await?)
    }

    fn ended(&self) -> broadcast::Receiver<OperationKind> {
        self.upstreams.ends.subscribe()
    }
}

/// The state that BOSH reports for a healthy instance or process.
const RUNNING: &str = "running";

/// The state that BOSH reports for an instance whose VM was removed on purpose.
const DETACHED: &str = "detached";

/// How the VMs of an instance are. An agent that does not answer is one that is not well.
pub(crate) async fn health(instance: Instance<'_>) -> Result<Health, Error> {
    let director = instance.director();
    let states = match director
        .instance_states(instance.call, &instance.name())
        .await
    {
        Err(error) if is_not_allowed(&error) => return Err(Error::Foreign),
        states => states.map_err(Error::director("ask the agents of the VMs how they are"))?,
    };
    let states = states.ok_or(Error::NotFound)?;
    let instances: Vec<InstanceHealth> = states.into_iter().filter_map(of_instance).collect();
    Ok(Health {
        service_instance_id: instance.id.clone(),
        healthy: !instances.is_empty() && instances.iter().all(|instance| instance.healthy),
        instances,
    })
}

/// `None`: it runs errands, and has a VM when it is needed.
fn of_instance(state: InstanceState) -> Option<InstanceHealth> {
    let InstanceState {
        group,
        index,
        id,
        expects_vm,
        desired,
        reported,
        processes,
    } = state;
    let is_detached = desired.as_deref() == Some(DETACHED);
    if !expects_vm && !is_detached {
        return None;
    }
    let state = match reported {
        Some(reported) => reported,
        None if is_detached => DETACHED.to_owned(),
        None => "no vm".to_owned(),
    };
    let healthy = state == RUNNING && processes.iter().all(|process| process.state == RUNNING);
    Some(InstanceHealth {
        instance_group: group,
        id,
        index,
        healthy,
        state,
        processes: processes
            .into_iter()
            .map(|process| ProcessHealth {
                name: process.name,
                state: process.state,
            })
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use odb_clients::director::ProcessState;

    use super::*;

    fn state(expects_vm: bool, desired: &str, reported: Option<&str>) -> InstanceState {
        InstanceState {
            group: "redis-server".to_owned(),
            index: Some(0),
            id: None,
            expects_vm,
            desired: Some(desired.to_owned()),
            reported: reported.map(str::to_owned),
            processes: Vec::new(),
        }
    }

    fn health_of(state: InstanceState) -> Option<(String, bool)> {
        of_instance(state).map(|health| (health.state, health.healthy))
    }

    #[test]
    fn an_instance_is_healthy_when_it_runs_and_should() {
        for (expects_vm, desired, reported, health) in [
            (true, "started", Some("running"), Some(("running", true))),
            (true, "started", Some("failing"), Some(("failing", false))),
            (
                true,
                "started",
                Some("unresponsive agent"),
                Some(("unresponsive agent", false)),
            ),
            (true, "started", None, Some(("no vm", false))),
            (true, "stopped", Some("stopped"), Some(("stopped", false))),
            (false, "detached", None, Some(("detached", false))),
            (false, "started", None, None),
            (false, "started", Some("running"), None),
        ] {
            let expected = health.map(|(state, healthy)| (state.to_owned(), healthy));
            assert_eq!(health_of(state(expects_vm, desired, reported)), expected);
        }
    }

    #[test]
    fn a_process_that_fails_makes_its_instance_ill() {
        let mut instance = state(true, "started", Some("running"));
        for (name, healthy) in [("running", true), ("failing", false), ("unknown", false)] {
            instance.processes = vec![ProcessState {
                name: "redis-server".to_owned(),
                state: name.to_owned(),
            }];
            assert_eq!(
                health_of(instance.clone()),
                Some(("running".to_owned(), healthy))
            );
        }
    }
}
