//! A submitted operation with its run-time state, and the context of each step of its reconciler: the upstreams, and the
//! retries of calls to them.

use std::{collections::BTreeMap, error::Error, sync::Arc, time::Duration};

use jiff::Timestamp;
use odb_api_types::{
    code::Code,
    ids::{InstanceId, RequestId},
    kind::OperationKind,
    management::{OperationState, StageStatus},
};
use odb_clients::{
    ServiceError,
    director::{ConfigId, Deployment, DeploymentName, TaskId},
    http::{Call, trace::Traceparent},
};
use odb_config::Timings;
use odb_core::{engine::Started, user_message::UserMessage};
use odb_redaction::Chain;
use tokio::{sync::watch, time::Instant};

use crate::{
    Upstreams,
    instance::{deployment, task_reference},
    instance_clients::{ClientError, InstanceClient},
    reconciler::{
        narrative::{self, Cancelling, Scene},
        next_step::{Stage, stages},
    },
    records::{
        operation_details::{self, StepLog},
        operation_record::{FoundRecord, OperationRecord, Outcome, StoredRecord},
        token::OperationToken,
    },
    wait::Backoff,
};

/// The task id of an operation whose task is unknown. No Director uses this number.
pub(crate) const UNKNOWN_TASK: TaskId = TaskId::new(0);

/// A submitted operation: its record, and the state that only this process has.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) instance: InstanceId,
    /// Made from the token where the operation has none, as one of a Go broker has.
    pub(crate) record: OperationRecord,
    /// The version of the record that the Director has; none where records cannot be written.
    pub(crate) stored: Option<ConfigId>,
    pub(crate) first_task: Option<TaskId>,
    pub(crate) begun: Begun,
    /// Its change of the instance's UAA client, as far as this process knows it: undone if nothing was submitted. A
    /// reconciler has it without the secret.
    pub(crate) client: Option<InstanceClient>,
    /// The answer that the request got, for its identical repeat.
    pub(crate) started: Option<Started>,
    /// The span of the request that ordered it, as far as this process knows it. A later process begins a new trace.
    pub(crate) trace: Option<Traceparent>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// In this process, which knows its requests.
    Here,
    /// In this process, at this time. Its reconciler was stopped for another one, so its last request may not have
    /// arrived yet.
    Redirected(Instant),
    /// By an earlier process or another broker: its last request may not have arrived yet.
    Elsewhere,
}

impl Operation {
    /// An operation that this process has not started.
    pub(crate) fn new(
        instance: &InstanceId,
        record: OperationRecord,
        stored: Option<ConfigId>,
    ) -> Self {
        Self {
            instance: instance.clone(),
            record,
            stored,
            first_task: None,
            begun: Begun::Elsewhere,
            client: None,
            started: None,
            trace: None,
        }
    }

    pub(crate) fn of_stored(instance: &InstanceId, stored: StoredRecord) -> Self {
        Self::new(instance, stored.record, Some(stored.id))
    }

    pub(crate) fn is_begun_here(&self) -> bool {
        matches!(self.begun, Begun::Here | Begun::Redirected(_))
    }

    pub(crate) fn kind(&self) -> OperationKind {
        self.record.operation
    }

    pub(crate) fn deployment(&self) -> DeploymentName {
        deployment(&self.instance)
    }

    /// Its stages, if none is known to be left out.
    pub(crate) fn stages(&self) -> Vec<Stage> {
        let mut stages = stages(self.kind(), &self.record.errands);
        if self.record.cuts_short.is_some() {
            stages.insert(0, Stage::Stop);
        }
        stages
    }

    /// The token of the operation. Of a delete that cuts an operation short it names the first task of that operation.
    pub(crate) fn token(&self, first_task: Option<TaskId>) -> String {
        let record = &self.record;
        let cut = record.cuts_short.as_ref().map(|cut| cut.first_task);
        OperationToken::new(
            self.instance.clone(),
            record.operation,
            cut.or(first_task).unwrap_or(UNKNOWN_TASK),
            record.context.clone(),
            &record.errands,
            record.digest.as_str().to_owned(),
        )
        .to_text()
    }

    pub(crate) fn answer(&self, first_task: Option<TaskId>) -> Started {
        Started {
            token: self.token(first_task),
            dashboard_url: self.record.dashboard_url.clone(),
            labels: self.record.labels.clone(),
        }
    }

    /// The cancellation as users read it. A delete that cuts another operation short cancels it, too.
    pub(crate) fn cancelling(&self, plea: Option<Plea>) -> Cancelling {
        match (plea, self.record.cancelled_by.is_some()) {
            (Some(Plea::Refused), false) => Cancelling::RefusedToDeletion,
            (Some(Plea::Refused), true) => Cancelling::Refused,
            (Some(Plea::Granted) | None, true) => Cancelling::ByOperator,
            (Some(Plea::Granted) | None, false) => Cancelling::No,
        }
    }

    /// The snapshot for polls before the reconciler's first look.
    pub(crate) fn first_snapshot(&self) -> Snapshot {
        let (kind, stages) = (self.kind(), self.stages());
        let description = narrative::in_progress(&Scene {
            kind,
            stages: &stages,
            stage: 0,
            log: &StepLog::default(),
            cancelling: self.cancelling(None),
        });
        let reports = operation_details::reports(kind, &stages, &[], &BTreeMap::new());
        Snapshot {
            first_task: self.first_task,
            since: Instant::now(),
            is_without_news: false,
            plea: None,
            stages: Arc::new(reports),
            state: SnapshotState::InProgress(description),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) first_task: Option<TaskId>,
    /// When this process began to follow it.
    pub(crate) since: Instant,
    /// A server that the operation needs, mostly the Director, has not answered for a while.
    pub(crate) is_without_news: bool,
    /// The Director's answer to the cancellation of a task, if there is one.
    pub(crate) plea: Option<Plea>,
    /// For operators: its stages and how far each is.
    pub(crate) stages: Arc<Vec<StageStatus>>,
    pub(crate) state: SnapshotState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plea {
    /// The task ends at its next checkpoint.
    Granted,
    /// Only an administrator of the Director may cancel tasks: the task runs to its own end.
    Refused,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SnapshotState {
    InProgress(String),
    Ended {
        outcome: Outcome,
        /// The time, which the operation record with the outcome has, too.
        at: Timestamp,
    },
    /// Nothing was ever submitted: its process ended before, or the submission did not arrive.
    NeverSubmitted,
}

impl Snapshot {
    /// The message for users while the operation is in progress.
    pub(crate) fn description(&self) -> Option<String> {
        match &self.state {
            SnapshotState::InProgress(description) if self.is_without_news => {
                Some(narrative::without_news(description))
            }
            SnapshotState::InProgress(description) => Some(description.clone()),
            SnapshotState::Ended { .. } | SnapshotState::NeverSubmitted => None,
        }
    }

    pub(crate) fn operation_state(&self) -> OperationState {
        match &self.state {
            SnapshotState::InProgress(_) => OperationState::InProgress,
            SnapshotState::Ended { outcome, .. } if outcome.is_success() => {
                OperationState::Succeeded
            }
            SnapshotState::Ended { .. } | SnapshotState::NeverSubmitted => OperationState::Failed,
        }
    }

    pub(crate) fn is_in_progress(&self) -> bool {
        matches!(self.state, SnapshotState::InProgress(_))
    }
}

/// How often the clean-up of unused resources is tried.
const CLEAN_UP_ATTEMPTS: u32 = 4;

pub(super) struct Context {
    pub(super) upstreams: Arc<Upstreams>,
    pub(super) operation: Operation,
    pub(super) retrier: Retrier,
}

impl Context {
    pub(super) fn call(&self) -> Call {
        self.retrier.call()
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.operation.record.cancelled_by.is_some()
    }

    pub(super) async fn deployment(&self) -> Result<Deployment, ServiceError> {
        self.look_up(&self.retrier).await
    }

    pub(super) async fn look_up(&self, retrier: &Retrier) -> Result<Deployment, ServiceError> {
        let (director, name) = (&self.upstreams.director, &self.operation.deployment());
        let look = |call| async move { director.deployment(&call, name).await };
        retrier.retry("look the deployment up", look).await
    }

    pub(super) async fn is_latest(&self) -> Result<bool, ServiceError> {
        let Some(stored) = &self.operation.stored else {
            return Ok(true);
        };
        let latest = self.latest_record().await?;
        Ok(latest.is_some_and(|latest| latest.id == *stored))
    }

    /// The operation record of the instance, if it is one that this broker understands.
    pub(super) async fn latest_record(&self) -> Result<Option<StoredRecord>, ServiceError> {
        let (records, instance) = (&self.upstreams.records, &self.operation.instance);
        let find = |call| async move { records.find(&call, instance).await };
        let found = self
            .retrier
            .retry("read the operation record", find)
            .await?;
        Ok(match found {
            Some(FoundRecord::Own(stored)) => Some(*stored),
            Some(FoundRecord::Foreign(_)) | None => None,
        })
    }

    /// Tries to clean something up. After a few attempts it is left to the next operation, or to the deletion of the
    /// instance.
    pub(super) async fn try_often<E: Transient, F: Future<Output = Result<(), E>>>(
        &self,
        clean_up: impl Fn() -> F,
        warn: impl Fn(&E),
    ) {
        let mut backoff = Backoff::between_attempts(&self.upstreams.timings);
        for attempt in 1..=CLEAN_UP_ATTEMPTS {
            let Err(error) = clean_up().await else {
                return;
            };
            warn(&error);
            if attempt == CLEAN_UP_ATTEMPTS || !error.is_transient() {
                return;
            }
            backoff.pause().await;
        }
    }

    pub(super) fn user_message(&self, task: Option<TaskId>) -> UserMessage<'_> {
        UserMessage {
            service: &self.upstreams.offering.name,
            instance: &self.operation.instance,
            request: &self.operation.record.request,
            reference: task.or(self.operation.first_task).map(task_reference),
            operation: Some(self.operation.kind().to_string()),
        }
    }
}

/// A name that another team has by now is not the instance's any more.
pub(super) fn is_absent(found: &Deployment) -> bool {
    matches!(found, Deployment::Absent | Deployment::ForeignTeam)
}

/// Attempts before the last operation mentions the failures. Until then only the log has them.
const UNREPORTED: u32 = 4;

/// Attempts between two lines of the log. With the longest pause that is one an hour.
const LOG_EVERY: u32 = 128;

/// An error that may be transient: the service is down, overloaded, or rotates its secrets.
pub(super) trait Transient: Error + Sized + 'static {
    fn is_transient(&self) -> bool;
}

/// Retries safe calls on behalf of one operation. An operation that cannot be observed for a while is still in progress:
/// its last operation says why there is no news, and the log repeats it at growing intervals.
#[derive(Clone)]
pub(super) struct Retrier {
    timings: Timings,
    request: RequestId,
    snapshot: watch::Sender<Snapshot>,
    /// The deadline; without one it retries forever.
    end: Option<Instant>,
}

impl Retrier {
    /// Polls read in `snapshot` that calls fail.
    pub(super) fn new(
        timings: &Timings,
        request: RequestId,
        snapshot: watch::Sender<Snapshot>,
    ) -> Self {
        Self {
            timings: *timings,
            request,
            snapshot,
            end: None,
        }
    }

    /// The same, with a deadline `limit` from now.
    pub(super) fn within(&self, limit: Duration) -> Self {
        Self {
            end: Some(Instant::now() + limit),
            ..self.clone()
        }
    }

    /// Retries until a success or a lasting failure.
    pub(super) async fn retry<T, E: Transient, F: Future<Output = Result<T, E>>>(
        &self,
        what: &str,
        ask: impl Fn(Call) -> F,
    ) -> Result<T, E> {
        let (answer, _) = self.retry_counting(what, ask).await?;
        Ok(answer)
    }

    /// Retries, and returns how many attempts failed before the last one.
    pub(super) async fn retry_counting<T, E: Transient, F: Future<Output = Result<T, E>>>(
        &self,
        what: &str,
        ask: impl Fn(Call) -> F,
    ) -> Result<(T, u32), E> {
        let mut backoff = Backoff::between_attempts(&self.timings);
        let mut unanswered = 0_u32;
        loop {
            let error = match Box::pin(ask(self.call())).await {
                Err(error) if error.is_transient() => error,
                answered => {
                    self.note(0);
                    return answered.map(|answer| (answer, unanswered));
                }
            };
            unanswered = unanswered.saturating_add(1);
            self.note(unanswered);
            log(unanswered, &error, what);
            if self.end.is_some_and(|end| end <= Instant::now()) {
                return Err(error);
            }
            backoff.pause().await;
        }
    }

    fn call(&self) -> Call {
        Call::within(self.timings.reconciler_call).with_request_id(self.request.as_str())
    }

    fn note(&self, unanswered: u32) {
        let is_without_news = unanswered >= UNREPORTED;
        self.snapshot.send_if_modified(|snapshot| {
            let has_changed = snapshot.is_without_news != is_without_news;
            snapshot.is_without_news = is_without_news;
            has_changed
        });
    }
}

/// Logs a failed attempt: the first ones as warnings, later ones as errors at growing intervals.
pub(super) fn log<E: Error + 'static>(attempt: u32, error: &E, what: &str) {
    if is_alarming(attempt) {
        tracing::error!(
            code = %Code::Follow,
            attempts = attempt,
            error = %Chain(error),
            "could not {what} for some time, which delays an operation; retrying"
        );
    } else if attempt < UNREPORTED {
        tracing::warn!(code = %Code::Follow, error = %Chain(error), "could not {what}, trying again");
    } else {
        tracing::debug!(code = %Code::Follow, error = %Chain(error), "could not {what}, trying again");
    }
}

fn is_alarming(attempt: u32) -> bool {
    attempt >= UNREPORTED && (attempt.is_power_of_two() || attempt.is_multiple_of(LOG_EVERY))
}

impl Transient for ServiceError {
    fn is_transient(&self) -> bool {
        ServiceError::is_transient(self)
    }
}

impl Transient for ClientError {
    fn is_transient(&self) -> bool {
        ClientError::is_transient(self)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use odb_clients::{
        FailureKind, Service,
        http::{Method, TransportError},
    };

    use super::*;
    use crate::reconciler::operation::Operation;
    use crate::records::operation_record;
    use odb_api_types::{ids::InstanceId, kind::OperationKind};

    fn no_answer(source: TransportError) -> ServiceError {
        let kind = FailureKind::NoResponse { source };
        ServiceError::new(Service::Director, Method::GET, "/tasks/1/output", kind)
    }

    #[test]
    fn the_operator_is_reported_at_growing_intervals_but_never_left_alone() {
        let reported: Vec<u32> = (0..600).filter(|attempt| is_alarming(*attempt)).collect();
        assert_eq!(reported, [4, 8, 16, 32, 64, 128, 256, 384, 512]);
    }

    #[tokio::test]
    async fn what_has_an_end_gives_up_on_a_server_that_goes_on_failing() {
        let instance = InstanceId::try_from("one".to_owned()).unwrap();
        let record = operation_record::example(OperationKind::Delete);
        let operation = Operation::new(&instance, record, None);
        let (snapshot, _polled) = watch::channel(operation.first_snapshot());
        let timings = Timings::default();
        let retrier = Retrier::new(&timings, RequestId::random(), snapshot);
        let asked = AtomicU32::new(0);

        let answer: Result<(), _> = retrier
            .within(Duration::ZERO)
            .retry("remove it", async |_| {
                asked.fetch_add(1, Ordering::Relaxed);
                Err(no_answer(TransportError::TooSlow { limit_ms: 1000 }))
            })
            .await;

        assert!(answer.unwrap_err().is_transient());
        assert_eq!(asked.into_inner(), 1);
    }

    #[test]
    fn an_answer_that_is_too_long_is_not_waited_for() {
        assert!(!no_answer(TransportError::TooLong { limit: 1000 }).is_transient());
        assert!(no_answer(TransportError::TooSlow { limit_ms: 1000 }).is_transient());
    }
}
