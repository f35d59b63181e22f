//! Whether an instance runs.

use odb_api_types::{
    ids::InstanceId,
    management::{Health as Reported, InstanceHealth},
};
use odb_redaction::Chain;

use crate::broker_api::{BrokerApi, BrokerApiRejection};
use odb_rollout::Health;

/// Reads the health of an instance. Without an answer it does not count as healthy.
pub(super) async fn of(broker: &BrokerApi, id: &InstanceId) -> Health {
    let path = ["mgmt", "v1", "service_instances", id.as_str(), "health"];
    match broker.get::<Reported>(&path, &[]).await {
        Ok(reported) if reported.healthy => Health::Healthy,
        Ok(reported) => {
            let unhealthy: Vec<String> = reported
                .instances
                .iter()
                .filter(|instance| !instance.healthy)
                .map(in_words)
                .collect();
            let said = if unhealthy.is_empty() {
                "it has no instances".to_owned()
            } else {
                unhealthy.join(", ")
            };
            Health::NotYet { said }
        }
        Err(error) if error.is_gone() => Health::Gone,
        Err(error) => Health::NotYet {
            said: Chain(&error).to_string(),
        },
    }
}

/// `redis-server/0 is failing`.
fn in_words(instance: &InstanceHealth) -> String {
    let InstanceHealth {
        instance_group,
        index,
        state,
        ..
    } = instance;
    match index {
        Some(index) => format!("{instance_group}/{index} is `{state}`"),
        None => format!("{instance_group} is `{state}`"),
    }
}
