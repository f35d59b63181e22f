//! Creating an instance.

use serde_json::{Map, Value};

use super::{
    Operation,
    operation::{Failure, Overtaken},
    orders::Dependencies,
    polling::{Accepted, FirstPoll, GoneMeans, PollEnd},
};
use crate::cloud_controller::{
    broker_client::{Mitigation, Response, Target},
    model::{BrokerMetadata, Feature, Instance, InstanceGuid, OperationState, Tables},
};

/// A new instance, and when its row is written.
pub(crate) enum NewInstance {
    /// The row exists already.
    Stored(InstanceGuid),
    /// When the broker has answered, whatever it said.
    StoredWhenAnswered(Box<Instance>),
}

impl Operation {
    pub(crate) fn provision(self, instance: NewInstance, parameters: Option<Map<String, Value>>) {
        let controller = self.controller.clone();
        controller.start(async move {
            self.run_provision(instance, parameters).await;
        });
    }

    async fn run_provision(&self, new: NewInstance, parameters: Option<Map<String, Value>>) {
        let order = self.controller.0.state.read(|tables| {
            let instance = match &new {
                NewInstance::Stored(guid) => tables.instances.get(guid)?,
                NewInstance::StoredWhenAnswered(instance) => instance,
            };
            let dependencies = Dependencies::of(tables, instance)?;
            let (target, body) = (
                dependencies.target(None)?,
                dependencies.provision(parameters)?,
            );
            Some((target, body, dependencies.plan.maximum_polling_duration))
        });
        let Some((target, body, limit)) = order else {
            return self.overtaken();
        };
        let client = &self.controller.0.broker_client;
        match client.provision(&target, &body, &self.identity).await {
            Response::Done(answer) => {
                self.store(new);
                self.succeeded(None, |tables| {
                    note_answer(tables, &target.instance, &answer);
                });
            }
            Response::Accepted {
                operation,
                body: answer,
            } => {
                self.store(new);
                self.controller
                    .0
                    .state
                    .change(|tables| note_answer(tables, &target.instance, &answer));
                let accepted = Accepted {
                    target: &target,
                    operation: operation.as_deref(),
                    limit,
                    first_poll: FirstPoll::AtOnce,
                };
                let noted = self.progress(None);
                match noted {
                    Ok(()) => self.follow_provision(accepted).await,
                    Err(Overtaken) => self.overtaken(),
                }
            }
            Response::Failed(failure, mitigation) => {
                self.store(new);
                self.failed(Failure::refused("provision", &failure));
                if mitigation == Mitigation::Needed {
                    self.controller
                        .mitigate(target, self.identity.request.clone());
                }
            }
        }
    }

    fn store(&self, new: NewInstance) {
        match new {
            NewInstance::Stored(_) => {}
            NewInstance::StoredWhenAnswered(instance) => {
                self.controller.0.state.change(|tables| {
                    tables.instances.insert(instance.guid.clone(), *instance);
                });
            }
        }
    }

    async fn follow_provision(&self, accepted: Accepted<'_>) {
        let target = accepted.target.clone();
        match self.poll(accepted, GoneMeans::PollOn).await {
            Ok(PollEnd::Succeeded { description }) => {
                let fetched = self.fetched_instance(&target).await;
                self.succeeded(description, |tables| {
                    note_answer(tables, &target.instance, &fetched);
                });
            }
            Ok(PollEnd::Failed { description }) => {
                self.failed(Failure::reported("create managed", description));
            }
            Ok(PollEnd::TimedOut | PollEnd::Gone) => {
                self.failed(Failure::timed_out("provision"));
                self.controller
                    .mitigate(target, self.identity.request.clone());
            }
            Err(Overtaken) => self.overtaken(),
        }
    }

    /// The broker's answer for the instance, if the offering has `instances_retrievable`.
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
            Response::Done(body) => body,
            Response::Accepted { .. } | Response::Failed(..) => Map::new(),
        }
    }
}

/// Writes down where the dashboard is, and what else the broker wants to be known of the instance.
pub(super) fn note_answer(tables: &mut Tables, guid: &InstanceGuid, answer: &Map<String, Value>) {
    let Some(instance) = tables.instances.get_mut(guid) else {
        return;
    };
    if let Some(url) = answer.get("dashboard_url").and_then(Value::as_str) {
        instance.dashboard_url = Some(url.to_owned());
    }
    if let Some(metadata) = answer.get("metadata").and_then(Value::as_object) {
        let members = |key: &str| {
            metadata
                .get(key)
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default()
        };
        instance.broker_metadata = Some(BrokerMetadata {
            labels: members("labels"),
            attributes: members("attributes"),
        });
    }
    if instance.last_operation.state == OperationState::Succeeded {
        instance.updated_at = jiff::Timestamp::now();
    }
}
