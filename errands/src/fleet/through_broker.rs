//! Operations through the broker's management API (`spec/contracts/errands.md` §4.4).

use odb_api_types::{
    ids::InstanceId,
    management::{InventoryEntry, InventoryOperation, OperationState},
};
use odb_clients::http::{StatusCode, cut};
use odb_redaction::Chain;
use odb_rollout::{Health, Location, PollResponse, State, TriggerResponse};
use serde::Deserialize;
use tokio::sync::Mutex;

use super::{
    listing::Members,
    look_up::{LookUp, health},
    resumption::{RunUnderWay, operation_kind},
    run::FleetRun,
};
use crate::{
    broker_api::{BrokerApiRejection, LastOperationError, OperationData},
    runner::Requests,
};

pub(super) struct ThroughBroker<'a> {
    fleet: &'a FleetRun<'a>,
    entries: &'a [InventoryEntry],
    under_way: &'a RunUnderWay,
    look_up: LookUp<'a>,
    requests: Vec<Mutex<Request>>,
}

struct Request {
    operation: Option<OperationData>,
    /// The latest operation before the first request, whatever its result.
    before: Option<Before>,
}

enum Before {
    Known(Option<InventoryOperation>),
    /// It could not be looked up.
    Unknown,
}

/// The outcome of an operation whose answer was lost.
enum Begun {
    Underway(OperationData),
    Succeeded,
    Failed(String),
}

impl<'a> ThroughBroker<'a> {
    /// `operations` are in progress from the interrupted part of the run.
    pub(super) fn new(
        fleet: &'a FleetRun<'a>,
        members: &'a Members,
        under_way: &'a RunUnderWay,
        operations: Vec<Option<OperationData>>,
    ) -> Self {
        // A broker that records runs is no Go broker.
        let has_inventory = under_way.id().is_some() || members.has_inventory;
        let requests = operations.into_iter().map(|operation| {
            Mutex::new(Request {
                operation,
                before: None,
            })
        });
        Self {
            fleet,
            entries: &members.entries,
            under_way,
            look_up: LookUp::new(&fleet.broker, has_inventory),
            requests: requests.collect(),
        }
    }

    fn id(&self, location: Location) -> &InstanceId {
        &self.entries[location].service_instance_id
    }

    /// Whether an operation requested earlier has begun without a positive answer: the answer was lost, or the broker
    /// began it after it had reported that it was busy.
    fn begun_meanwhile(&self, request: &Request, current: &InventoryEntry) -> Option<Begun> {
        let before = request.before.as_ref()?;
        let now = current.operation.clone()?;
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
        if now.kind != operation_kind(self.fleet.operation) || !is_new {
            return None;
        }
        Some(match now.state {
            OperationState::InProgress => Begun::Underway(OperationData::from(now.token?)),
            OperationState::Succeeded => Begun::Succeeded,
            OperationState::Failed => Begun::Failed(now.description.unwrap_or_default()),
        })
    }

    /// An operation that the interrupted run may have requested just before the list was read: the broker has worked on
    /// the instance since.
    fn begun_by_the_run(&self, current: &InventoryEntry) -> Option<Begun> {
        match self.under_way.prior_state(current, true) {
            (State::Done, _) => Some(Begun::Succeeded),
            (_, operation) => operation.map(Begun::Underway),
        }
    }

    fn answer(&self, location: Location, request: &mut Request, begun: Begun) -> TriggerResponse {
        match begun {
            Begun::Underway(operation) => accept(request, operation),
            Begun::Succeeded => TriggerResponse::Succeeded,
            Begun::Failed(description) => TriggerResponse::Failed(format!(
                "[{}] Operation failed: {description}",
                self.id(location)
            )),
        }
    }

    async fn request(
        &self,
        location: Location,
        request: &mut Request,
        current: &InventoryEntry,
    ) -> TriggerResponse {
        let (id, operation) = (self.id(location), self.fleet.operation);
        let failed = |cause: String| {
            format!("operation type: {operation} failed for service instance {id}: {cause}")
        };
        let plan = current.plan_id.as_ref();
        let Some(plan) = plan.or(self.entries[location].plan_id.as_ref()) else {
            return TriggerResponse::Failed(failed("its plan is unknown".to_owned()));
        };
        let space = current.space_guid.as_deref();
        let answer = self.fleet.broker.operate(operation, id, plan, space).await;
        let can_be_looked_up = self.look_up.has_inventory();
        let (may_help, cause) = match answer {
            Err(error) => {
                let is_resolvable = can_be_looked_up || !error.may_have_taken_effect();
                (
                    error.is_transient() && is_resolvable,
                    Chain(&error).to_string(),
                )
            }
            Ok(answer) => match answer.status() {
                StatusCode::ACCEPTED => match answer.json() {
                    Ok(operation) => return accept(request, operation),
                    Err(error) => {
                        let error = Chain(&error);
                        (false, format!("cannot parse upgrade response: {error}"))
                    }
                },
                StatusCode::NO_CONTENT => return TriggerResponse::Skipped,
                StatusCode::CONFLICT => return TriggerResponse::Busy,
                status @ (StatusCode::NOT_FOUND | StatusCode::GONE) => {
                    let router = "unexpected status code: 404 for an existing instance";
                    let is_deployment = status == StatusCode::GONE;
                    return self
                        .missing(id, is_deployment, failed(router.to_owned()))
                        .await;
                }
                StatusCode::INTERNAL_SERVER_ERROR => {
                    #[derive(Deserialize)]
                    struct Body {
                        description: String,
                    }
                    let cause = match answer.json::<Body>() {
                        Ok(Body { description }) => format!("description: {}", cut(&description)),
                        Err(_) => {
                            format!("cannot parse upgrade response: '{}'", answer.error_text())
                        }
                    };
                    (false, format!("unexpected status code: 500. {cause}"))
                }
                status => {
                    let may_help = match status {
                        StatusCode::TOO_MANY_REQUESTS => true,
                        StatusCode::BAD_GATEWAY
                        | StatusCode::SERVICE_UNAVAILABLE
                        | StatusCode::GATEWAY_TIMEOUT => can_be_looked_up,
                        _ => false,
                    };
                    let (status, body) = (status.as_u16(), answer.error_text());
                    (
                        may_help,
                        format!("unexpected status code: {status}. body: {body}"),
                    )
                }
            },
        };
        let cause = odb_redaction::redact(&failed(cause)).into_owned();
        if may_help {
            TriggerResponse::Unanswered(cause)
        } else {
            TriggerResponse::Failed(cause)
        }
    }

    /// There is no deployment, or no instance. If the platform does not know it any more, its user has deleted it.
    /// `router` is the cause if only a router has answered.
    async fn missing(
        &self,
        id: &InstanceId,
        is_deployment: bool,
        router: String,
    ) -> TriggerResponse {
        match self.look_up.current(id).await {
            Ok(None) => TriggerResponse::Deleted,
            _ if is_deployment => TriggerResponse::Orphan,
            Err(error) => {
                TriggerResponse::Unanswered(format!("[{id}] could not read the instance: {error}"))
            }
            // The broker knows it, so that another owner has answered: a router that does not know the broker.
            Ok(Some(_)) if self.look_up.has_inventory() => TriggerResponse::Unanswered(router),
            Ok(Some(_)) => TriggerResponse::Deleted,
        }
    }

    /// The Director's error. The description is for platform users and does not have it.
    async fn error_of_director(&self, id: &InstanceId) -> Option<String> {
        if !self.look_up.has_inventory() {
            return None;
        }
        let status = self.fleet.broker.operation(id).await.ok()?;
        status.stages.into_iter().find_map(|stage| stage.error)
    }
}

fn accept(request: &mut Request, operation: OperationData) -> TriggerResponse {
    let task = operation.task();
    request.operation = Some(operation);
    TriggerResponse::Accepted(task)
}

impl Requests for ThroughBroker<'_> {
    async fn trigger(&self, location: Location, is_repeat: bool) -> TriggerResponse {
        let request = &mut *self.requests[location].lock().await;
        let id = self.id(location);
        let mut is_known = true;
        let current = match self.look_up.current(id).await {
            Ok(Some(current)) => current,
            Ok(None) => return TriggerResponse::Deleted,
            // A lost answer can be resolved only if the state before is known.
            Err(error) if is_repeat || self.look_up.has_inventory() => {
                return TriggerResponse::Unanswered(format!(
                    "[{id}] could not read the instance: {error}"
                ));
            }
            Err(error) => {
                self.fleet.console.log(format_args!(
                    "[{id}] Failed to get refreshed list of instances. Continuing with previously fetched info. ({error})"
                ));
                is_known = false;
                self.entries[location].clone()
            }
        };
        is_known &= self.look_up.has_inventory();
        if is_known {
            let begun = self.begun_by_the_run(&current);
            if let Some(begun) = begun.or_else(|| self.begun_meanwhile(request, &current)) {
                return self.answer(location, request, begun);
            }
        }
        request.before.get_or_insert_with(|| {
            if is_known {
                Before::Known(current.operation.clone())
            } else {
                Before::Unknown
            }
        });
        let answer = self.request(location, request, &current).await;
        // The operation in the way may be the requested one.
        if answer == TriggerResponse::Busy
            && self.look_up.has_inventory()
            && let Ok(Some(current)) = self.look_up.current(id).await
            && let Some(begun) = self.begun_meanwhile(request, &current)
        {
            return self.answer(location, request, begun);
        }
        answer
    }

    async fn poll(&self, location: Location) -> PollResponse {
        let (id, broker) = (self.id(location), &self.fleet.broker);
        let request = self.requests[location].lock().await;
        let Some(operation) = &request.operation else {
            let cause = "an operation is in progress and cannot be polled".to_owned();
            return PollResponse::Senseless(cause);
        };
        let error = match broker.last_operation(id, operation).await {
            Ok(reported) => {
                return match reported.state {
                    OperationState::InProgress => PollResponse::InProgress,
                    OperationState::Succeeded => PollResponse::Succeeded,
                    OperationState::Failed => {
                        let mut description = reported.description;
                        if let Some(error) = self.error_of_director(id).await {
                            description = format!("{description}: {error}");
                        }
                        PollResponse::Failed(description)
                    }
                };
            }
            Err(error) => error,
        };
        let cause = format!("[{id}] {}", Chain(&error));
        let mut may_help = error.is_transient();
        if let LastOperationError::Request(error) = &error {
            let is_another_end = matches!(
                error.status(),
                Some(StatusCode::GONE | StatusCode::NOT_FOUND)
            );
            if is_another_end && self.look_up.current(id).await == Ok(None) {
                return PollResponse::Gone;
            }
            // A router that does not know the broker answers 404.
            may_help |= error.is_unknown_route();
        }
        if may_help {
            PollResponse::Unanswered(cause)
        } else {
            PollResponse::Senseless(cause)
        }
    }

    async fn examine(&self, location: Location) -> Health {
        health(&self.fleet.broker, self.id(location)).await
    }
}
