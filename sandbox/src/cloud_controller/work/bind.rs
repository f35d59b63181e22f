//! Creating a binding or a key.

use serde_json::{Map, Value};

use super::{
    Operation,
    operation::{Failure, Overtaken},
    orders::Dependencies,
    polling::{Accepted, FirstPoll, GoneMeans, PollEnd},
};
use crate::cloud_controller::{
    broker_client::{BrokerFailure, Mitigation, Response, Target},
    model::{BindingGuid, BindingKind, Feature},
    rejection::ErrorKind,
};

const DETAILS: [&str; 4] = [
    "credentials",
    "syslog_drain_url",
    "volume_mounts",
    "route_service_url",
];

impl Operation {
    pub(crate) fn bind(self, binding: BindingGuid, parameters: Option<Map<String, Value>>) {
        let controller = self.controller.clone();
        controller.start(async move { self.run_bind(&binding, parameters).await });
    }

    async fn run_bind(&self, guid: &BindingGuid, parameters: Option<Map<String, Value>>) {
        let order = self.controller.0.state.read(|tables| {
            let binding = tables.bindings.get(guid)?;
            let dependencies = Dependencies::of(tables, tables.instances.get(&binding.instance)?)?;
            let limit = dependencies.plan.maximum_polling_duration;
            let retrievable = dependencies.offering.has(Feature::BindingsRetrievable);
            Some((
                dependencies.target(Some(binding))?,
                dependencies.bind(binding, parameters)?,
                dependencies.offering.requires.clone(),
                limit,
                retrievable,
            ))
        });
        let Some((target, body, requires, limit, retrievable)) = order else {
            return self.overtaken();
        };
        let client = &self.controller.0.broker_client;
        match client.bind(&target, &body, &requires, &self.identity).await {
            Response::Done(answer) => self.bound(guid, answer),
            Response::Accepted { .. } if !retrievable => {
                let failure = BrokerFailure::binding_not_retrievable();
                self.failed(Failure {
                    description: failure.to_string(),
                    error: ErrorKind::ServiceBindingInvalid
                        .with(format!("The service binding is invalid: {failure}")),
                });
            }
            Response::Accepted { operation, .. } => {
                let accepted = Accepted {
                    target: &target,
                    operation: operation.as_deref(),
                    limit,
                    first_poll: FirstPoll::AtOnce,
                };
                self.follow_bind(guid, accepted).await;
            }
            Response::Failed(failure, mitigation) => {
                self.failed(Failure::refused("bind", &failure));
                if mitigation == Mitigation::Needed {
                    self.mitigate_bind(&target);
                }
            }
        }
    }

    async fn follow_bind(&self, guid: &BindingGuid, accepted: Accepted<'_>) {
        let target = accepted.target;
        match self.poll(accepted, GoneMeans::PollOn).await {
            Ok(PollEnd::Succeeded { .. }) => {
                let client = &self.controller.0.broker_client;
                match client.fetch(target, &self.identity).await {
                    Response::Done(answer) => self.bound(guid, answer),
                    Response::Failed(failure, _) => self.failed(Failure::refused("bind", &failure)),
                    Response::Accepted { .. } => self.failed(Failure::refused(
                        "bind",
                        &BrokerFailure::binding_not_retrievable(),
                    )),
                }
            }
            // Only the last operation has the broker's reason, as on a real foundation.
            Ok(PollEnd::Failed { description }) => self.failed(Failure {
                description: description.unwrap_or_default(),
                error: ErrorKind::UnableToPerform
                    .with("bind could not be completed: VCAP::CloudController::V3::LastOperationFailedState"),
            }),
            Ok(PollEnd::TimedOut | PollEnd::Gone) => {
                self.failed(Failure::timed_out("bind"));
                self.mitigate_bind(target);
            }
            Err(Overtaken) => self.overtaken(),
        }
    }

    fn mitigate_bind(&self, target: &Target) {
        let is_key = self.controller.0.state.read(|tables| {
            let binding = target.binding.as_ref();
            let binding = binding.and_then(|guid| tables.bindings.get(guid));
            binding.is_some_and(|binding| binding.kind == BindingKind::Key)
        });
        let (target, request) = (target.clone(), self.identity.request.clone());
        if is_key {
            self.controller.mitigate_key(target, request);
        } else {
            self.controller.mitigate(target, request);
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
