//! Providers, consumers and links as the API shows them.

use serde_json::{Value, json};

use super::{Consumer, LinkId, Links, Owner, Provider, Table};
use crate::director::ids::DeploymentName;

impl Links {
    pub(in crate::director) fn providers(&self, deployment: &DeploymentName) -> Vec<Value> {
        let table = self.lock();
        let own = table
            .providers
            .iter()
            .filter(|(_, provider)| provider.deployment == *deployment);
        own.map(|(id, provider)| provider.view(&id.to_string()))
            .collect()
    }

    /// The consumers of a deployment, including external ones.
    pub(in crate::director) fn consumers(&self, deployment: &DeploymentName) -> Vec<Value> {
        let table = self.lock();
        let own = table
            .consumers
            .iter()
            .filter(|(_, consumer)| consumer.deployment == *deployment);
        own.map(|(id, consumer)| consumer.view(&id.to_string()))
            .collect()
    }

    pub(in crate::director) fn links(&self, deployment: &DeploymentName) -> Vec<Value> {
        let table = self.lock();
        let consumers = table.consumers.iter();
        let own = consumers.filter(|(_, consumer)| consumer.deployment == *deployment);
        own.flat_map(|(consumer, _)| {
            let links = table.links.iter();
            links.filter(move |(_, link)| link.consumer == *consumer)
        })
        .map(|(id, _)| table.link_view(*id))
        .collect()
    }
}

impl Table {
    pub(super) fn link_view(&self, id: LinkId) -> Value {
        self.links.get(&id).map_or(Value::Null, |link| {
            json!({
                "id": id.to_string(),
                "name": link.name,
                "link_consumer_id": link.consumer.to_string(),
                "link_provider_id": link.provider.to_string(),
                "created_at": link.created_at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
            })
        })
    }
}

impl Provider {
    fn view(&self, id: &str) -> Value {
        json!({
            "id": id,
            "name": self.name,
            "shared": self.shared,
            "deployment": self.deployment,
            "link_provider_definition": {"type": self.kind, "name": self.original_name},
            "owner_object": {
                "type": "job",
                "name": self.job,
                "info": {"instance_group": self.group},
            },
        })
    }
}

impl Consumer {
    fn view(&self, id: &str) -> Value {
        let owner = match &self.owner {
            Owner::Job(group, job) => {
                json!({"type": "job", "name": job, "info": {"instance_group": group}})
            }
            Owner::Variable(name) => json!({"type": "variable", "name": name}),
            Owner::External(name) => json!({"type": "external", "name": name}),
        };
        json!({
            "id": id,
            "name": self.alias.as_ref().unwrap_or(&self.name),
            "optional": self.optional,
            "deployment": self.deployment,
            "owner_object": owner,
            "link_consumer_definition": {"name": self.name, "type": self.kind},
        })
    }
}
