//! The current state of an instance: it may have changed its plan or be gone since it was listed. And its health.

use std::cell::Cell;

use odb_api_types::{
    code::Code,
    ids::InstanceId,
    management::{Health as Reported, InstanceHealth, Inventory, InventoryEntry},
};
use odb_clients::ServiceError;
use odb_redaction::Chain;
use odb_rollout::Health;

use super::listing::entry_of;
use crate::broker_api::{BrokerApi, BrokerApiRejection};

/// What the broker can report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Knowledge {
    /// One instance at a time, with all that is known of it.
    Inventory,
    /// Only the list of all: it is a Go broker.
    List,
}

pub(super) struct LookUp<'a> {
    broker: &'a BrokerApi,
    /// As far as the broker's answers have shown it.
    knowledge: Cell<Option<Knowledge>>,
}

impl<'a> LookUp<'a> {
    pub(super) fn new(broker: &'a BrokerApi, has_inventory: bool) -> Self {
        Self {
            broker,
            knowledge: Cell::new(has_inventory.then_some(Knowledge::Inventory)),
        }
    }

    /// The broker has reported all that it knows of an instance.
    pub(super) fn has_inventory(&self) -> bool {
        self.knowledge.get() == Some(Knowledge::Inventory)
    }

    /// Reads the current state of an instance; `None` if the platform does not know it any more.
    pub(super) async fn current(&self, id: &InstanceId) -> Result<Option<InventoryEntry>, String> {
        if self.knowledge.get() == Some(Knowledge::List) {
            return self.listed(id).await;
        }
        let mut found = self.entry(id).await;
        if self.is_without_inventory(&found) {
            // A router gives the same answer for an unreachable broker. If the list was answered, the broker gave it.
            let listed = self.listed(id).await?;
            found = self.entry(id).await;
            if self.is_without_inventory(&found) {
                self.knowledge.set(Some(Knowledge::List));
                return Ok(listed);
            }
        }
        let found = found.map_err(|error| Chain(&error).to_string())?;
        self.knowledge.set(Some(Knowledge::Inventory));
        match found {
            Some(entry) if self.is_known(&entry).await? => Ok(Some(entry)),
            _ => Ok(None),
        }
    }

    fn is_without_inventory<T>(&self, found: &Result<T, ServiceError>) -> bool {
        self.knowledge.get().is_none()
            && found
                .as_ref()
                .is_err_and(BrokerApiRejection::is_unknown_route)
    }

    /// All that is known of an instance; `None` if it is unknown.
    async fn entry(&self, id: &InstanceId) -> Result<Option<InventoryEntry>, ServiceError> {
        let path = ["mgmt", "v1", "service_instances", id.as_str()];
        match self.broker.look_up(&path, &[]).await {
            Ok(entry) => Ok(Some(entry)),
            Err(error) if error.has_code(Code::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether the platform knows an instance that the Director has.
    async fn is_known(&self, entry: &InventoryEntry) -> Result<bool, String> {
        // Without spaces, only the platform's list has the instance.
        if entry.space_guid.is_some() || entry.platform_operation.is_some() {
            return Ok(true);
        }
        let query = [("instance", entry.service_instance_id.as_str())];
        let path = ["mgmt", "v1", "service_instances"];
        let listed: Result<Inventory, _> = self.broker.look_up(&path, &query).await;
        let listed = listed.map_err(|error| Chain(&error).to_string())?;
        Ok(!listed.complete || !listed.service_instances.is_empty())
    }

    async fn listed(&self, id: &InstanceId) -> Result<Option<InventoryEntry>, String> {
        let listed = self.broker.list(&[]).await;
        let listed = listed.map_err(|error| Chain(error.as_ref()).to_string())?;
        let mut listed = listed.into_iter();
        let found = listed.find(|listed| listed.service_instance_id == *id);
        Ok(found.map(entry_of))
    }
}

/// Reads the health of an instance. Without an answer it does not count as healthy.
pub(super) async fn health(broker: &BrokerApi, id: &InstanceId) -> Health {
    let path = ["mgmt", "v1", "service_instances", id.as_str(), "health"];
    match broker.get::<Reported>(&path, &[]).await {
        Ok(reported) if reported.healthy => Health::Healthy,
        Ok(reported) => {
            let instances = reported.instances.iter();
            let unhealthy = instances.filter(|instance| !instance.healthy);
            let unhealthy: Vec<String> = unhealthy.map(in_words).collect();
            Health::NotYet(if unhealthy.is_empty() {
                "it has no instances".to_owned()
            } else {
                unhealthy.join(", ")
            })
        }
        Err(error) if error.is_gone() => Health::Gone,
        Err(error) => Health::NotYet(Chain(&error).to_string()),
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
