//! The current state of an instance: it may have changed its plan or be gone since it was listed.

use std::{cell::Cell, fmt};

use odb_api_types::{
    code::Code,
    ids::{InstanceId, PlanId},
    management::{Inventory, InventoryEntry},
};
use odb_clients::ServiceError;
use odb_redaction::Chain;

use super::members::Member;
use crate::broker_api::{BrokerApi, BrokerApiRejection};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Current {
    /// The platform knows it.
    Known {
        plan: Option<PlanId>,
        space: Option<String>,
        /// All that the broker knows, where it has an inventory.
        entry: Option<Box<InventoryEntry>>,
    },
    /// The platform does not know it any more.
    Gone,
}

/// What the broker can report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Knowledge {
    /// One instance at a time, with all that is known of it.
    Inventory,
    /// Only the list of all: it is a Go broker.
    List,
}

/// Looks instances up.
pub(super) struct LookUp<'a> {
    broker: &'a BrokerApi,
    knowledge: Cell<Option<Knowledge>>,
}

impl<'a> LookUp<'a> {
    /// `knowledge` is the result of earlier requests.
    pub(super) fn new(broker: &'a BrokerApi, knowledge: Option<Knowledge>) -> Self {
        Self {
            broker,
            knowledge: Cell::new(knowledge),
        }
    }

    /// What the broker can report, as far as its answers have shown.
    pub(super) fn knowledge(&self) -> Option<Knowledge> {
        self.knowledge.get()
    }

    /// Reads the current state of an instance.
    pub(super) async fn current(&self, id: &InstanceId) -> Result<Current, LookUpError> {
        if self.knowledge.get() == Some(Knowledge::List) {
            return self.listed(id).await;
        }
        let mut found = self.entry(id).await;
        if self.knowledge.get().is_none()
            && found
                .as_ref()
                .is_err_and(BrokerApiRejection::is_unknown_route)
        {
            // A router gives the same answer for an unreachable broker. If the list was answered, the broker gave it.
            let listed = self.listed(id).await?;
            found = self.entry(id).await;
            if self.knowledge.get().is_none()
                && found
                    .as_ref()
                    .is_err_and(BrokerApiRejection::is_unknown_route)
            {
                self.knowledge.set(Some(Knowledge::List));
                return Ok(listed);
            }
        }
        match found {
            Ok(found) => {
                self.knowledge.set(Some(Knowledge::Inventory));
                match found {
                    Some(entry) => self.known(entry).await,
                    None => Ok(Current::Gone),
                }
            }
            Err(error) => Err(LookUpError(Chain(&error).to_string())),
        }
    }

    /// All that is known of an instance; `None` if it is unknown.
    pub(super) async fn entry(
        &self,
        id: &InstanceId,
    ) -> Result<Option<InventoryEntry>, ServiceError> {
        let path = ["mgmt", "v1", "service_instances", id.as_str()];
        match self.broker.look_up(&path, &[]).await {
            Ok(entry) => Ok(Some(entry)),
            Err(error) if error.has_code(Code::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The Director may have an instance that the platform does not.
    async fn known(&self, entry: InventoryEntry) -> Result<Current, LookUpError> {
        let is_known = entry.space_guid.is_some() || entry.platform_operation.is_some();
        // Without spaces, only the platform's list has the instance.
        if !is_known {
            let id = entry.service_instance_id.as_str();
            let path = ["mgmt", "v1", "service_instances"];
            let listed: Inventory = self
                .broker
                .look_up(&path, &[("instance", id)])
                .await
                .map_err(|error| LookUpError(Chain(&error).to_string()))?;
            if listed.complete && listed.service_instances.is_empty() {
                return Ok(Current::Gone);
            }
        }
        Ok(Current::Known {
            plan: entry.plan_id.clone(),
            space: entry.space_guid.clone(),
            entry: Some(Box::new(entry)),
        })
    }

    async fn listed(&self, id: &InstanceId) -> Result<Current, LookUpError> {
        let listed = self.broker.list(&[]).await;
        let listed = listed.map_err(|error| LookUpError(Chain(&error).to_string()))?;
        let found = listed.into_iter().map(Member::from);
        Ok(match found.into_iter().find(|member| member.id == *id) {
            Some(member) => Current::Known {
                plan: member.plan,
                space: member.space,
                entry: None,
            },
            None => Current::Gone,
        })
    }
}

/// It could not be looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LookUpError(String);

impl fmt::Display for LookUpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
