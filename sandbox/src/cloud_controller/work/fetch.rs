//! Questions to a broker that a user waits for, without a job.

use serde_json::{Map, Value};

use super::orders::Dependencies;
use crate::cloud_controller::{
    CloudController,
    broker_client::{Answer, Identity, Target},
    model::{Binding, Feature, Instance, Tables},
    rejection::{ErrorKind, Rejection},
};

impl Tables {
    /// How the broker knows an instance.
    pub(crate) fn target(&self, instance: &Instance) -> Option<Target> {
        Dependencies::of(self, instance)?.target(None)
    }

    /// The same, if the offering lets its instances be asked for.
    pub(crate) fn fetchable(&self, instance: &Instance) -> Option<Target> {
        let dependencies = Dependencies::of(self, instance)?;
        if dependencies.offering.has(Feature::InstancesRetrievable) {
            dependencies.target(None)
        } else {
            None
        }
    }

    /// How the broker knows a binding, if the offering lets its bindings be asked for.
    pub(crate) fn fetchable_binding(&self, binding: &Binding) -> Option<Target> {
        let dependencies = Dependencies::of(self, self.instances.get(&binding.instance)?)?;
        if dependencies.offering.has(Feature::BindingsRetrievable) {
            dependencies.target(Some(binding))
        } else {
            None
        }
    }
}

impl CloudController {
    pub(crate) async fn fetched(
        &self,
        target: &Target,
        identity: &Identity,
    ) -> Result<Map<String, Value>, Rejection> {
        match self.0.broker_client.fetch(target, identity).await {
            Answer::Done(body) => Ok(body),
            Answer::Failed(failure, _) => Err(ErrorKind::BrokerFailed.with(failure.to_string())),
            Answer::Accepted { .. } => {
                Err(ErrorKind::BrokerFailed.with("The service broker answered a question with 202"))
            }
        }
    }
}
