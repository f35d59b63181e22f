//! Upgrades through the Cloud Controller, so that it knows of them (`spec/contracts/errands.md` §4.4).

use std::{collections::HashMap, time::Duration};

use odb_api_types::management::InventoryEntry;
use odb_clients::{
    ServiceError,
    cloud_controller::{
        CfOperationKind, CfOperationState, CfVersionedInstance, CloudController, InstanceGuid,
        PlanGuid, Upgrading,
    },
    http::Call,
};
use odb_redaction::Chain;
use odb_rollout::{Health, Location, PollResponse, TriggerResponse};
use tokio::sync::Mutex;

use super::look_up::health;
use crate::{broker_api::BrokerApi, runner::Requests};

/// The time for a step at the Cloud Controller, including retries.
const TIMEOUT: Duration = Duration::from_mins(2);

pub(super) struct ThroughPlatform<'a> {
    controller: &'a CloudController,
    broker: &'a BrokerApi,
    entries: &'a [InventoryEntry],
    /// The version of each plan, requested once.
    versions: Mutex<HashMap<PlanGuid, Option<String>>>,
    /// Of each instance its upgrade whose answer was lost: it may have started.
    lost: Vec<Mutex<Option<Lost>>>,
}

struct Lost {
    before: CfVersionedInstance,
    version: String,
}

impl Lost {
    /// The outcome of the upgrade. Another client may have begun it; its end is awaited in that case, too.
    fn outcome(&self, now: &CfVersionedInstance) -> Option<Result<TriggerResponse, Rejection>> {
        let Self { before, version } = self;
        let state = state_of(now)?;
        if is_going_on(state) {
            return Some(Ok(TriggerResponse::Accepted(None)));
        }
        if now.version.as_ref() == Some(version) {
            return Some(Ok(TriggerResponse::Succeeded));
        }
        let is_another = now.last_operation != before.last_operation
            || now.changed != before.changed
            || now.description != before.description;
        (*state == CfOperationState::Failed && is_another).then(|| {
            Err(Rejection::Reported(format!(
                "the upgrade has failed: {}",
                now.description
            )))
        })
    }
}

impl<'a> ThroughPlatform<'a> {
    pub(super) fn new(
        controller: &'a CloudController,
        broker: &'a BrokerApi,
        entries: &'a [InventoryEntry],
    ) -> Self {
        Self {
            controller,
            broker,
            entries,
            versions: Mutex::default(),
            lost: entries.iter().map(|_| Mutex::default()).collect(),
        }
    }

    /// The first caller sends the request for all.
    async fn version_of(&self, plan: &PlanGuid) -> Result<Option<String>, ServiceError> {
        let mut versions = self.versions.lock().await;
        if let Some(version) = versions.get(plan) {
            return Ok(version.clone());
        }
        let version = self.controller.version_of_plan(&call(), plan).await?;
        versions.insert(plan.clone(), version.clone());
        Ok(version)
    }

    async fn upgrade(&self, location: Location) -> Result<TriggerResponse, Rejection> {
        let lost = &mut *self.lost[location].lock().await;
        let guid = self.guid(location)?;
        let Some(instance) = self.controller.versioned_instance(&call(), &guid).await? else {
            return Ok(TriggerResponse::Deleted);
        };
        if let Some(begun) = lost.as_ref().and_then(|lost| lost.outcome(&instance)) {
            return begun;
        }
        if state_of(&instance).is_some_and(is_going_on) {
            return Ok(TriggerResponse::Busy);
        }
        if was_never_made(&instance) {
            return Ok(TriggerResponse::Skipped);
        }
        let Some(version) = self.version_of(&instance.plan).await? else {
            // Nothing that the platform could see.
            return Ok(TriggerResponse::Skipped);
        };
        if instance.version.as_ref() == Some(&version) {
            return Ok(TriggerResponse::Skipped);
        }
        let call = call();
        let asked = self.controller.upgrade_instance(&call, &guid, &version);
        match asked.await {
            Ok(Upgrading::Begun) => Ok(TriggerResponse::Accepted(None)),
            Ok(Upgrading::UpToDate) => Ok(TriggerResponse::Skipped),
            Ok(Upgrading::Failed { description }) => Err(Rejection::Reported(format!(
                "the upgrade failed immediately: {description}"
            ))),
            Ok(Upgrading::Unknown { state }) => Err(Rejection::Reported(format!(
                "unknown state of the operation: `{state}`"
            ))),
            Err(error) if error.is_busy() => Ok(TriggerResponse::Busy),
            Err(error) if error.is_not_found() => {
                match self.controller.versioned_instance(&call, &guid).await? {
                    None => Ok(TriggerResponse::Deleted),
                    Some(found) if was_never_made(&found) => Ok(TriggerResponse::Skipped),
                    Some(_) => Err(error.into()),
                }
            }
            Err(error) => {
                if error.may_have_taken_effect() {
                    lost.get_or_insert(Lost {
                        before: instance,
                        version,
                    });
                }
                Err(error.into())
            }
        }
    }

    fn guid(&self, location: Location) -> Result<InstanceGuid, Rejection> {
        let id = &self.entries[location].service_instance_id;
        id.as_str()
            .parse()
            .map_err(|error| Rejection::Reported(Chain(&error).to_string()))
    }
}

enum Rejection {
    Reported(String),
    CloudController(Box<ServiceError>),
}

impl From<ServiceError> for Rejection {
    fn from(error: ServiceError) -> Self {
        Self::CloudController(Box::new(error))
    }
}

impl Rejection {
    /// The text, and whether a retry may help.
    fn into_parts(self) -> (String, bool) {
        match self {
            Self::Reported(text) => (text, false),
            Self::CloudController(error) => {
                (Chain(error.as_ref()).to_string(), error.is_transient())
            }
        }
    }
}

impl Requests for ThroughPlatform<'_> {
    async fn trigger(&self, location: Location, _is_repeat: bool) -> TriggerResponse {
        let id = &self.entries[location].service_instance_id;
        self.upgrade(location).await.unwrap_or_else(|rejection| {
            let (text, may_help) = rejection.into_parts();
            let cause = format!("failed to trigger operation for instance \"{id}\": {text}");
            if may_help {
                TriggerResponse::Unanswered(cause)
            } else {
                TriggerResponse::Failed(cause)
            }
        })
    }

    async fn poll(&self, location: Location) -> PollResponse {
        let call = call();
        let found = async {
            let guid = self.guid(location)?;
            Ok(self.controller.versioned_instance(&call, &guid).await?)
        };
        let (text, may_help) = match found.await {
            Ok(None) => return PollResponse::Gone,
            Ok(Some(instance)) => match state_of(&instance) {
                Some(state) if is_going_on(state) => return PollResponse::InProgress,
                Some(CfOperationState::Succeeded) => return PollResponse::Succeeded,
                Some(CfOperationState::Failed) => {
                    return PollResponse::Failed(instance.description);
                }
                state => (format!("unknown state of the operation: {state:?}"), false),
            },
            Err(rejection) => Rejection::into_parts(rejection),
        };
        let id = &self.entries[location].service_instance_id;
        let cause = format!("failed to check operation for instance \"{id}\": {text}");
        if may_help {
            PollResponse::Unanswered(cause)
        } else {
            PollResponse::Senseless(cause)
        }
    }

    async fn examine(&self, location: Location) -> Health {
        health(self.broker, &self.entries[location].service_instance_id).await
    }
}

fn call() -> Call {
    Call::within(TIMEOUT)
}

/// Its creation has failed: there is nothing that the platform could upgrade, and it refuses to. The broker may know
/// better.
fn was_never_made(instance: &CfVersionedInstance) -> bool {
    let operation = instance.last_operation.as_ref();
    operation.is_some_and(|operation| {
        operation.kind == CfOperationKind::Create && operation.state == CfOperationState::Failed
    })
}

fn state_of(instance: &CfVersionedInstance) -> Option<&CfOperationState> {
    instance
        .last_operation
        .as_ref()
        .map(|operation| &operation.state)
}

fn is_going_on(state: &CfOperationState) -> bool {
    matches!(
        state,
        CfOperationState::Initial | CfOperationState::InProgress
    )
}
