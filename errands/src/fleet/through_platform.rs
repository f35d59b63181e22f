//! Upgrades through the Cloud Controller, so that it knows of them (`spec/contracts/errands.md` §4.4).

use std::{cell::RefCell, collections::HashMap, time::Duration};

use odb_clients::{
    ServiceError,
    cloud_controller::{
        CfOperationKind, CfOperationState, CfVersionedInstance, CloudController, InstanceGuid,
        PlanGuid, Upgrading,
    },
    http::Call,
};
use odb_redaction::Chain;
use tokio::sync::Mutex;

use super::{health, members::Member, runner::Operator};
use crate::broker_api::BrokerApi;
use odb_rollout::{Health, Location, PollAnswer, TriggerAnswer};

/// The time for a step at the Cloud Controller, including retries.
const TIMEOUT: Duration = Duration::from_mins(2);

/// Upgrades through the Cloud Controller.
pub(super) struct ThroughPlatform<'a> {
    controller: &'a CloudController,
    broker: &'a BrokerApi,
    members: &'a [Member],
    /// The version of each plan, requested once.
    versions: Mutex<HashMap<PlanGuid, Option<String>>>,
    /// Upgrades whose answers were lost: they may have started.
    lost: RefCell<HashMap<Location, Lost>>,
}

/// An upgrade whose answer was lost.
struct Lost {
    /// The instance before the request.
    before: CfVersionedInstance,
    /// The requested version.
    version: String,
}

impl<'a> ThroughPlatform<'a> {
    pub(super) fn new(
        controller: &'a CloudController,
        broker: &'a BrokerApi,
        members: &'a [Member],
    ) -> Self {
        Self {
            controller,
            broker,
            members,
            versions: Mutex::default(),
            lost: RefCell::default(),
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

    async fn upgrade(&self, location: Location) -> Result<TriggerAnswer, Rejection> {
        let guid = self.guid(location)?;
        let Some(instance) = self.controller.versioned_instance(&call(), &guid).await? else {
            return Ok(TriggerAnswer::Deleted);
        };
        if let Some(begun) = self.begun_meanwhile(location, &instance) {
            return begun;
        }
        if state_of(&instance).is_some_and(is_going_on) {
            return Ok(TriggerAnswer::Busy);
        }
        if was_never_made(&instance) {
            return Ok(TriggerAnswer::Skipped);
        }
        let Some(version) = self.version_of(&instance.plan).await? else {
            // Nothing that the platform could see.
            return Ok(TriggerAnswer::Skipped);
        };
        if instance.version.as_ref() == Some(&version) {
            return Ok(TriggerAnswer::Skipped);
        }
        let call = call();
        let asked = self.controller.upgrade_instance(&call, &guid, &version);
        match asked.await {
            Ok(Upgrading::Begun) => Ok(TriggerAnswer::Accepted { task: None }),
            Ok(Upgrading::UpToDate) => Ok(TriggerAnswer::Skipped),
            Ok(Upgrading::Failed { description }) => Err(Rejection::Reported(format!(
                "the upgrade failed immediately: {description}"
            ))),
            Ok(Upgrading::Unknown { state }) => Err(Rejection::Reported(format!(
                "unknown state of the operation: `{state}`"
            ))),
            Err(error) if error.is_busy() => Ok(TriggerAnswer::Busy),
            Err(error) if error.is_not_found() => {
                match self.controller.versioned_instance(&call, &guid).await? {
                    None => Ok(TriggerAnswer::Deleted),
                    Some(found) if was_never_made(&found) => Ok(TriggerAnswer::Skipped),
                    Some(_) => Err(error.into()),
                }
            }
            Err(error) => {
                if error.may_have_taken_effect() {
                    let mut lost = self.lost.borrow_mut();
                    lost.entry(location).or_insert(Lost {
                        before: instance,
                        version,
                    });
                }
                Err(error.into())
            }
        }
    }

    /// The outcome of an upgrade whose answer was lost. Another client may have begun it; its end is awaited in that
    /// case, too.
    fn begun_meanwhile(
        &self,
        location: Location,
        now: &CfVersionedInstance,
    ) -> Option<Result<TriggerAnswer, Rejection>> {
        let lost = self.lost.borrow();
        let Lost { before, version } = lost.get(&location)?;
        let state = state_of(now)?;
        if is_going_on(state) {
            return Some(Ok(TriggerAnswer::Accepted { task: None }));
        }
        if now.version.as_ref() == Some(version) {
            return Some(Ok(TriggerAnswer::Succeeded));
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

    fn guid(&self, location: Location) -> Result<InstanceGuid, Rejection> {
        let id = self.members[location].id.as_str();
        id.parse()
            .map_err(|error| Rejection::Reported(Chain(&error).to_string()))
    }
}

/// Why there is no upgrade.
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
    fn may_pass(&self) -> bool {
        match self {
            Self::Reported(_) => false,
            Self::CloudController(error) => error.is_transient(),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Reported(text) => text.clone(),
            Self::CloudController(error) => Chain(error.as_ref()).to_string(),
        }
    }
}

impl Operator for ThroughPlatform<'_> {
    type Underway = ();

    async fn trigger(&self, location: Location, _is_repeat: bool) -> (TriggerAnswer, Option<()>) {
        let id = &self.members[location].id;
        let answer = self.upgrade(location).await.unwrap_or_else(|rejection| {
            let text = rejection.text();
            let cause = format!("failed to trigger operation for instance \"{id}\": {text}");
            if rejection.may_pass() {
                TriggerAnswer::Unanswered { cause }
            } else {
                TriggerAnswer::Failed { cause }
            }
        });
        let underway = matches!(answer, TriggerAnswer::Accepted { .. }).then_some(());
        (answer, underway)
    }

    async fn poll(&self, location: Location, (): &()) -> PollAnswer {
        let id = &self.members[location].id;
        let failed =
            |text: String| format!("failed to check operation for instance \"{id}\": {text}");
        let found = match self.guid(location) {
            Ok(guid) => self.controller.versioned_instance(&call(), &guid).await,
            Err(rejection) => {
                return PollAnswer::Senseless {
                    cause: failed(rejection.text()),
                };
            }
        };
        match found {
            Ok(Some(instance)) => match state_of(&instance) {
                Some(state) if is_going_on(state) => PollAnswer::InProgress,
                Some(CfOperationState::Succeeded) => PollAnswer::Succeeded,
                Some(CfOperationState::Failed) => PollAnswer::Failed {
                    description: instance.description,
                },
                state => PollAnswer::Senseless {
                    cause: failed(format!("unknown state of the operation: {state:?}")),
                },
            },
            Ok(None) => PollAnswer::Gone,
            Err(error) if error.is_transient() => PollAnswer::Unanswered {
                cause: failed(Chain(&error).to_string()),
            },
            Err(error) => PollAnswer::Senseless {
                cause: failed(Chain(&error).to_string()),
            },
        }
    }

    async fn examine(&self, location: Location) -> Health {
        health::of(self.broker, &self.members[location].id).await
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
