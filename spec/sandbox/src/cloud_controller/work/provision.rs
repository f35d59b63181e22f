//! Creating an instance. Its row stands before the broker is called.

use serde_json::{Map, Value};

use super::{
    Operation,
    operation::Failure,
    orders::Surroundings,
    polling::{Accepted, GoneMeans, PollEnd},
};
use crate::cloud_controller::{
    broker_client::{Answer, Mitigation, Target},
    model::{Feature, InstanceGuid, OperationState, Tables},
};

impl Operation {
    /// Has a broker create the instance.
    pub(crate) fn provision(self, instance: InstanceGuid, parameters: Option<Map<String, Value>>) {
        let controller = self.controller.clone();
        controller.start(async move { self.run_provision(&instance, parameters).await });
    }

    async fn run_provision(&self, guid: &InstanceGuid, parameters: Option<Map<String, Value>>) {
        let order = self.controller.0.state.read(|tables| {
            let surroundings = Surroundings::of(tables, tables.instances.get(guid)?)?;
            let (target, body) = (
                surroundings.target(None)?,
                surroundings.provision(parameters)?,
            );
            Some((target, body, surroundings.plan.maximum_polling_duration))
        });
        let Some((target, body, limit)) = order else {
            return self.overtaken();
        };
        match self
            .controller
            .0
            .broker_client
            .provision(&target, &body, &self.identity)
            .await
        {
            Answer::Done(answer) => {
                self.succeeded(None, |tables| note_dashboard(tables, guid, &answer));
            }
            Answer::Accepted {
                operation,
                body: answer,
                retry_after,
            } => {
                self.controller
                    .0
                    .state
                    .change(|tables| note_dashboard(tables, guid, &answer));
                let accepted = Accepted {
                    target: &target,
                    operation: operation.as_deref(),
                    retry_after,
                    limit,
                };
                self.follow_provision(guid, accepted).await;
            }
            Answer::Failed(failure, mitigation) => {
                self.failed(Failure::refused("provision", &failure));
                if mitigation == Mitigation::Needed {
                    self.controller
                        .mitigate(target, self.identity.request.clone());
                }
            }
        }
    }

    async fn follow_provision(&self, guid: &InstanceGuid, accepted: Accepted<'_>) {
        let target = accepted.target.clone();
        match self.poll(accepted, GoneMeans::PollOn).await {
            Ok(PollEnd::Succeeded { description }) => {
                let fetched = self.fetched_instance(&target).await;
                self.succeeded(description, |tables| note_dashboard(tables, guid, &fetched));
            }
            Ok(PollEnd::Failed { description }) => {
                self.failed(Failure::told("create managed", description));
            }
            Ok(PollEnd::TimedOut | PollEnd::Gone) => {
                self.failed(Failure::timed_out("provision"));
                self.controller
                    .mitigate(target, self.identity.request.clone());
            }
            Err(super::operation::Overtaken) => self.overtaken(),
        }
    }

    /// What the broker says of the instance, if its offering lets itself be asked.
    pub(super) async fn fetched_instance(&self, target: &Target) -> Map<String, Value> {
        let retrievable = self.controller.0.state.read(|tables| {
            let offering =
                tables.offering_of(tables.plan_of(tables.instances.get(&target.instance)?)?)?;
            Some(offering.has(Feature::InstancesRetrievable))
        });
        if retrievable != Some(true) {
            return Map::new();
        }
        match self
            .controller
            .0
            .broker_client
            .fetch(target, &self.identity)
            .await
        {
            Answer::Done(body) => body,
            Answer::Accepted { .. } | Answer::Failed(..) => Map::new(),
        }
    }
}

/// Writes down where the dashboard is, and at the end of a create the version that the instance was made with.
pub(super) fn note_dashboard(
    tables: &mut Tables,
    guid: &InstanceGuid,
    answer: &Map<String, Value>,
) {
    let Some(instance) = tables.instances.get_mut(guid) else {
        return;
    };
    if let Some(url) = answer.get("dashboard_url").and_then(Value::as_str) {
        instance.dashboard_url = Some(url.to_owned());
    }
    if instance.last_operation.state == OperationState::Succeeded {
        instance.updated_at = jiff::Timestamp::now();
    }
}
