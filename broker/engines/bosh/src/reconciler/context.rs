//! The context of every step of a reconciler: its operation, the upstreams, and the retries of calls to them.

use std::{error::Error, sync::Arc, time::Duration};

use odb_api_types::{code::Code, ids::RequestId};
use odb_clients::{
    ServiceError,
    director::{Deployment, TaskId},
    http::Call,
};
use odb_config::Timings;
use odb_core::user_message::UserMessage;
use odb_redaction::Chain;
use tokio::{sync::watch, time::Instant};

use crate::{
    Upstreams,
    instance::task_reference,
    instance_clients::ClientError,
    reconciler::operation::{Operation, Snapshot},
    records::operation_records::{FoundRecord, StoredRecord},
    wait::Backoff,
};

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
        let kind = FailureKind::NoAnswer { source };
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
