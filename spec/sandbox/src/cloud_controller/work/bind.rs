//! Creating a binding or a key.

use serde_json::{Map, Value};

use super::{
    Operation,
    operation::{Failure, Overtaken},
    orders::Surroundings,
    polling::{Accepted, GoneMeans, PollEnd},
};
use crate::cloud_controller::{
    broker_client::{Answer, BrokerFailure, Mitigation},
    model::{BindingGuid, Feature},
    refusal::Fault,
};

const DETAILS: [&str; 4] = [
    "credentials",
    "syslog_drain_url",
    "volume_mounts",
    "route_service_url",
];

impl Operation {
    /// Has a broker create the binding.
    pub(crate) fn bind(self, binding: BindingGuid, parameters: Option<Map<String, Value>>) {
        let controller = self.controller.clone();
        controller.start(async move { self.run_bind(&binding, parameters).await });
    }

    async fn run_bind(&self, guid: &BindingGuid, parameters: Option<Map<String, Value>>) {
        let order = self.controller.0.state.read(|tables| {
            let binding = tables.bindings.get(guid)?;
            let surroundings = Surroundings::of(tables, tables.instances.get(&binding.instance)?)?;
            let limit = surroundings.plan.maximum_polling_duration;
            let retrievable = surroundings.offering.has(Feature::BindingsRetrievable);
            Some((
                surroundings.target(Some(binding))?,
                surroundings.bind(binding, parameters)?,
                limit,
                retrievable,
            ))
        });
        let Some((target, body, limit, retrievable)) = order else {
            return self.overtaken();
        };
        let mitigate = || {
            self.controller
                .mitigate(target.clone(), self.identity.request.clone());
        };
        match self
            .controller
            .0
            .broker_client
            .bind(&target, &body, &self.identity)
            .await
        {
            Answer::Done(answer) => self.bound(guid, answer),
            Answer::Accepted { .. } if !retrievable => {
                self.failed(Failure::refused(
                    "bind",
                    &BrokerFailure::AsyncNotRetrievable,
                ));
                mitigate();
            }
            Answer::Accepted {
                operation,
                retry_after,
                ..
            } => {
                let accepted = Accepted {
                    target: &target,
                    operation: operation.as_deref(),
                    retry_after,
                    limit,
                };
                match self.poll(accepted, GoneMeans::PollOn).await {
                    Ok(PollEnd::Succeeded { .. }) => {
                        match self
                            .controller
                            .0
                            .broker_client
                            .fetch(&target, &self.identity)
                            .await
                        {
                            Answer::Done(answer) => self.bound(guid, answer),
                            Answer::Failed(failure, _) => {
                                self.failed(Failure::refused("bind", &failure));
                            }
                            Answer::Accepted { .. } => {
                                self.failed(Failure::refused(
                                    "bind",
                                    &BrokerFailure::AsyncNotRetrievable,
                                ));
                            }
                        }
                    }
                    // The broker's reason stands in the last operation only, as on a real foundation.
                    Ok(PollEnd::Failed { description }) => self.failed(Failure {
                        description: description.unwrap_or_default(),
                        error: Fault::UnableToPerform
                            .with("bind could not be completed: the broker failed"),
                    }),
                    Ok(PollEnd::TimedOut | PollEnd::Gone) => {
                        self.failed(Failure::timed_out("bind"));
                        mitigate();
                    }
                    Err(Overtaken) => self.overtaken(),
                }
            }
            Answer::Failed(failure, mitigation) => {
                self.failed(Failure::refused("bind", &failure));
                if mitigation == Mitigation::Needed {
                    mitigate();
                }
            }
        }
    }

    fn bound(&self, guid: &BindingGuid, mut answer: Map<String, Value>) {
        answer.retain(|key, value| DETAILS.contains(&key.as_str()) && !value.is_null());
        self.succeeded(None, |tables| {
            if let Some(binding) = tables.bindings.get_mut(guid) {
                binding.details = Some(answer);
            }
        });
    }
}
