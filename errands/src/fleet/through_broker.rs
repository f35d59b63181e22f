//! Operations through the broker's management API (`spec/contracts/errands.md` §4.4).

use std::{cell::RefCell, collections::HashMap};

use odb_api_types::{
    ids::InstanceId,
    management::{InventoryOperation, OperationState as RecordedState, OperationStatus},
};
use odb_clients::http::StatusCode;
use odb_redaction::Chain;

use super::{
    current::Current, current::Knowledge, current::LookUp, health, members::Member,
    resumption::FailedBefore, resumption::RunUnderWay, resumption::operation_kind,
    runner::Operator,
};
use crate::{
    Console,
    broker_api::{
        BrokerApi, BrokerApiRejection, FleetOperation, LastOperationError, OperationData,
        OperationState, TriggerError, TriggerFailure, Triggered,
    },
};
use odb_rollout::{Health, Location, PollAnswer, PriorResult, TriggerAnswer};

/// Upgrades or recreates through the broker.
pub(super) struct ThroughBroker<'a> {
    broker: &'a BrokerApi,
    operation: FleetOperation,
    members: &'a [Member],
    under_way: &'a RunUnderWay,
    look_up: LookUp<'a>,
    console: &'a Console,
    /// The state of instances before their request, whatever its result.
    before: RefCell<HashMap<Location, Before>>,
}

impl<'a> ThroughBroker<'a> {
    pub(super) fn new(
        broker: &'a BrokerApi,
        operation: FleetOperation,
        members: &'a [Member],
        under_way: &'a RunUnderWay,
        console: &'a Console,
    ) -> Self {
        // A broker that records runs or has an inventory is no Go broker.
        let has_inventory =
            under_way.id().is_some() || members.iter().any(|member| member.entry.is_some());
        let knowledge = has_inventory.then_some(Knowledge::Inventory);
        Self {
            broker,
            operation,
            members,
            under_way,
            look_up: LookUp::new(broker, knowledge),
            console,
            before: RefCell::default(),
        }
    }

    /// Whether an operation requested earlier has begun without a positive answer: the answer was lost, or the broker
    /// began it after it had reported that it was busy.
    fn begun_meanwhile(&self, location: Location, current: &Current) -> Option<Begun> {
        let Current::Known {
            entry: Some(entry), ..
        } = current
        else {
            return None;
        };
        let before = self.before.borrow();
        let before = before.get(&location)?;
        let now = entry.operation.clone()?;
        let is_new = match before {
            Before::Known(None) => true,
            Before::Known(Some(before)) => {
                before.began != now.began
                    || before.request != now.request
                    || before.kind != now.kind
            }
            // An operation that a continued run has begun is not new.
            Before::Unknown => {
                let of_run = now.began.zip(self.under_way.began());
                !self.under_way.is_continued && of_run.is_some_and(|(now, run)| now >= run)
            }
        };
        if now.kind != operation_kind(self.operation) || !is_new {
            return None;
        }
        Some(match now.state {
            RecordedState::InProgress => Begun::Underway(OperationData::from(now.token?)),
            RecordedState::Succeeded => Begun::Succeeded,
            RecordedState::Failed => Begun::Failed {
                description: now.description.unwrap_or_default(),
            },
        })
    }

    fn keep_before(&self, location: Location, current: &Current) {
        let mut before = self.before.borrow_mut();
        before
            .entry(location)
            .or_insert_with(|| Before::of(current));
    }

    /// The operation in progress may be the requested one.
    async fn in_the_way(&self, location: Location) -> Option<Begun> {
        if self.look_up.knowledge() != Some(Knowledge::Inventory) {
            return None;
        }
        let current = self
            .look_up
            .current(&self.members[location].id)
            .await
            .ok()?;
        self.begun_meanwhile(location, &current)
    }

    /// A started operation, as the answer to its request.
    fn answer(&self, location: Location, begun: Begun) -> (TriggerAnswer, Option<OperationData>) {
        match begun {
            Begun::Underway(data) => {
                let task = Some(data.task()).filter(|task| *task > 0);
                (TriggerAnswer::Accepted { task }, Some(data))
            }
            Begun::Succeeded => (TriggerAnswer::Succeeded, None),
            Begun::Failed { description } => {
                let id = &self.members[location].id;
                let cause = format!("[{id}] Operation failed: {description}");
                (TriggerAnswer::Failed { cause }, None)
            }
        }
    }

    /// An operation that the interrupted run may have requested just before the list was read: the broker has worked on
    /// the instance since.
    fn begun_by_the_run(&self, current: &Current) -> Option<Begun> {
        let Current::Known {
            entry: Some(entry), ..
        } = current
        else {
            return None;
        };
        let failed = FailedBefore::AreRetried;
        match self.under_way.prior_result(self.operation, entry, failed) {
            (PriorResult::Done, _) => Some(Begun::Succeeded),
            (PriorResult::Underway { .. }, data) => data.map(Begun::Underway),
            _ => None,
        }
    }

    async fn ask(
        &self,
        location: Location,
        current: Current,
    ) -> (TriggerAnswer, Option<OperationData>) {
        let member = &self.members[location];
        let (plan, space) = match current {
            Current::Known { plan, space, .. } => (plan, space),
            Current::Gone => return (TriggerAnswer::Deleted, None),
        };
        let Some(plan) = plan.or_else(|| member.plan.clone()) else {
            let cause = format!(
                "operation type: {} failed for service instance {}: its plan is unknown",
                self.operation, member.id
            );
            return (TriggerAnswer::Failed { cause }, None);
        };
        let asked = self
            .broker
            .operate(self.operation, &member.id, &plan, space.as_deref());
        match asked.await {
            Ok(Triggered::Accepted(data)) => {
                let task = Some(data.task()).filter(|task| *task > 0);
                (TriggerAnswer::Accepted { task }, Some(data))
            }
            Ok(Triggered::UpToDate) => (TriggerAnswer::Skipped, None),
            Ok(Triggered::Busy) => (TriggerAnswer::Busy, None),
            Ok(missing @ (Triggered::NotFound | Triggered::DeploymentMissing)) => {
                (self.missing(location, &missing).await, None)
            }
            Err(error) => (self.failed(&error), None),
        }
    }

    /// The Director's error. The description is for platform users and does not have it.
    async fn error_of_director(&self, id: &InstanceId) -> Option<String> {
        if self.look_up.knowledge() != Some(Knowledge::Inventory) {
            return None;
        }
        let path = ["mgmt", "v1", "service_instances", id.as_str(), "operation"];
        let status: OperationStatus = self.broker.look_up(&path, &[]).await.ok()?;
        status.stages.into_iter().find_map(|stage| stage.error)
    }

    /// There is no deployment, or no instance. If the platform does not know it any more, its user has deleted it.
    async fn missing(&self, location: Location, missing: &Triggered) -> TriggerAnswer {
        let id = &self.members[location].id;
        let current = self.look_up.current(id).await;
        if current == Ok(Current::Gone) {
            return TriggerAnswer::Deleted;
        }
        if let (Triggered::NotFound, Err(error)) = (missing, current) {
            let cause = format!("[{id}] could not read the instance: {error}");
            return TriggerAnswer::Unanswered { cause };
        }
        match (missing, self.look_up.knowledge()) {
            (Triggered::DeploymentMissing, _) => TriggerAnswer::Orphan,
            // The broker knows it, so that another owner has answered: a router that does not know the broker.
            (_, Some(Knowledge::Inventory)) => TriggerAnswer::Unanswered {
                cause: format!(
                    "operation type: {} failed for service instance {id}: unexpected status code: 404 for an existing instance",
                    self.operation
                ),
            },
            _ => TriggerAnswer::Deleted,
        }
    }

    fn failed(&self, error: &TriggerError) -> TriggerAnswer {
        let cause = Chain(error).to_string();
        let can_be_looked_up = self.look_up.knowledge() == Some(Knowledge::Inventory);
        let may_help = match &error.failure {
            TriggerFailure::NoAnswer(error) => {
                error.is_transient() && (can_be_looked_up || !error.may_have_taken_effect())
            }
            TriggerFailure::Unexpected { status, .. } => match *status {
                StatusCode::TOO_MANY_REQUESTS => true,
                StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT => can_be_looked_up,
                _ => false,
            },
            TriggerFailure::Described { .. }
            | TriggerFailure::Undescribed { .. }
            | TriggerFailure::NotUnderstood(_) => false,
        };
        if may_help {
            TriggerAnswer::Unanswered { cause }
        } else {
            TriggerAnswer::Failed { cause }
        }
    }
}

/// The latest operation on an instance before its request.
enum Before {
    Known(Option<InventoryOperation>),
    /// It could not be looked up.
    Unknown,
}

impl Before {
    fn of(current: &Current) -> Self {
        match current {
            Current::Known {
                entry: Some(entry), ..
            } => Self::Known(entry.operation.clone()),
            _ => Self::Unknown,
        }
    }
}

/// The outcome of an operation whose answer was lost.
enum Begun {
    Underway(OperationData),
    Succeeded,
    Failed { description: String },
}

impl Operator for ThroughBroker<'_> {
    type Underway = OperationData;

    async fn trigger(
        &self,
        location: Location,
        is_repeat: bool,
    ) -> (TriggerAnswer, Option<OperationData>) {
        let member = &self.members[location];
        let current = match self.look_up.current(&member.id).await {
            Ok(current) => current,
            // A lost answer can be resolved only if the state before is known.
            Err(error) if is_repeat || self.look_up.knowledge() == Some(Knowledge::Inventory) => {
                let cause = format!("[{}] could not read the instance: {error}", member.id);
                return (TriggerAnswer::Unanswered { cause }, None);
            }
            Err(error) => {
                self.console.say(format_args!(
                    "[{}] Failed to get refreshed list of instances. Continuing with previously fetched info. ({error})",
                    member.id
                ));
                Current::Known {
                    plan: member.plan.clone(),
                    space: member.space.clone(),
                    entry: None,
                }
            }
        };
        let begun = self.begun_by_the_run(&current);
        if let Some(begun) = begun.or_else(|| self.begun_meanwhile(location, &current)) {
            return self.answer(location, begun);
        }
        self.keep_before(location, &current);
        let (answer, underway) = self.ask(location, current).await;
        if answer == TriggerAnswer::Busy
            && let Some(begun) = self.in_the_way(location).await
        {
            return self.answer(location, begun);
        }
        (answer, underway)
    }

    async fn poll(&self, location: Location, underway: &OperationData) -> PollAnswer {
        let id = &self.members[location].id;
        match self.broker.last_operation(id, underway).await {
            Ok(reported) => match reported.state {
                OperationState::InProgress => PollAnswer::InProgress,
                OperationState::Succeeded => PollAnswer::Succeeded,
                OperationState::Failed => {
                    let mut description = reported.description;
                    if let Some(error) = self.error_of_director(id).await {
                        description = format!("{description}: {error}");
                    }
                    PollAnswer::Failed { description }
                }
            },
            Err(error) => {
                let is_reported_another_end = matches!(
                    &error,
                    LastOperationError::Request(error)
                        if matches!(error.status(), Some(StatusCode::GONE | StatusCode::NOT_FOUND))
                );
                if is_reported_another_end && self.look_up.current(id).await == Ok(Current::Gone) {
                    return PollAnswer::Gone;
                }
                let cause = format!("[{id}] {}", Chain(&error));
                // A router that does not know the broker answers 404.
                let is_of_a_router = matches!(
                    &error,
                    LastOperationError::Request(error) if error.is_unknown_route()
                );
                if error.is_transient() || is_of_a_router {
                    PollAnswer::Unanswered { cause }
                } else {
                    PollAnswer::Senseless { cause }
                }
            }
        }
    }

    async fn examine(&self, location: Location) -> Health {
        health::of(self.broker, &self.members[location].id).await
    }
}
