//! The context of every step of a reconciler.

use std::sync::Arc;

use odb_clients::{
    ServiceError,
    director::{Deployment, TaskId},
    http::Call,
};
use odb_core::user_message::UserMessage;

use crate::{
    Upstreams,
    deployment::task_reference,
    reconciler::{
        operation::Operation,
        retry::{Retrier, Transient},
    },
    records::operation_records::{ReadRecordError, StoredRecord},
    wait::Backoff,
};

/// How often the clean-up of unused resources is tried.
const CLEAN_UP_ATTEMPTS: u32 = 4;

/// An operation and the upstreams that it concerns.
pub(super) struct Context {
    pub(super) upstreams: Arc<Upstreams>,
    pub(super) operation: Operation,
    pub(super) retrier: Retrier,
}

impl Context {
    pub(super) fn call(&self) -> Call {
        Call::within(self.upstreams.timings.reconciler_call)
            .with_request_id(self.operation.record.request.as_str())
    }

    /// An operator has cancelled the operation.
    pub(super) fn is_cancelled(&self) -> bool {
        self.operation.record.cancelled_by.is_some()
    }

    pub(super) async fn deployment(&self) -> Result<Deployment, ServiceError> {
        self.look_up(&self.retrier).await
    }

    /// Reads the deployment, retrying as long as `retrier` permits.
    pub(super) async fn look_up(&self, retrier: &Retrier) -> Result<Deployment, ServiceError> {
        let (director, name) = (&self.upstreams.director, &self.operation.deployment());
        let look = |call| async move { director.deployment(&call, name).await };
        retrier.retry("look the deployment up", look).await
    }

    /// The operation's operation record is the latest one of the instance.
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
        let read = |call| async move {
            match records.read(&call, instance).await {
                Ok(latest) => Ok(latest),
                Err(ReadRecordError::NotUnderstood { .. }) => Ok(None),
                Err(ReadRecordError::Director(error)) => Err(error),
            }
        };
        self.retrier.retry("read the operation record", read).await
    }

    /// Tries to clean something up. After a few attempts it is left to the next operation, or to the deletion of the
    /// instance.
    pub(super) async fn try_often<E: Transient, Trying>(
        &self,
        clean_up: impl Fn() -> Trying,
        warn: impl Fn(&E),
    ) where
        Trying: Future<Output = Result<(), E>>,
    {
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
