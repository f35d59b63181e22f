//! Abandoned writes: operation records whose write was given up, or that could not be rolled back. They belong to
//! operations that were never submitted, and may reach the Director long after the request was answered. Each is
//! awaited and removed.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use odb_api_types::ids::{InstanceId, RequestId};
use odb_clients::{FailureKind, ServiceError, director::ContextId, http::Call};
use odb_config::Timings;
use odb_redaction::Chain;

use crate::{
    BoshEngine,
    records::operation_records::ReadRecordError,
    wait::{Absence, Backoff},
};

/// How many abandoned operations are kept. A dropped one is detected again, but later.
const MOST_ABANDONED: usize = 1024;

/// The operations that were abandoned before a submission.
#[derive(Debug, Default)]
pub(crate) struct Abandoned(Mutex<VecDeque<ContextId>>);

impl Abandoned {
    /// This process abandoned the operation, and nothing of it was ever submitted.
    pub(crate) fn includes(&self, context: &ContextId) -> bool {
        self.lock().contains(context)
    }

    fn add(&self, context: ContextId) {
        let mut contexts = self.lock();
        if contexts.len() == MOST_ABANDONED {
            contexts.pop_front();
        }
        contexts.push_back(context);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<ContextId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The result of looking for an abandoned write.
pub(crate) enum Look {
    /// It is removed, or may not be.
    Done,
    /// It is not there, and may yet arrive.
    NotThere,
    /// The search failed.
    Unclear,
}

/// Repeats until nothing is left to do, or the record has been absent for long enough.
pub(crate) async fn sweep<Looking>(timings: &Timings, look: impl Fn() -> Looking)
where
    Looking: Future<Output = Look>,
{
    let mut backoff = Backoff::between_attempts(timings);
    let mut absence = Absence::default();
    loop {
        backoff.pause().await;
        match look().await {
            Look::Done => return,
            Look::NotThere if absence.note() >= timings.lost_answer => return,
            Look::NotThere => backoff.reset(),
            Look::Unclear => absence.interrupt(),
        }
    }
}

/// Abandons an operation whose operation record may be written, or is being written. Only this version is removed:
/// later versions of other operations stay.
pub(crate) fn abandon(
    engine: &BoshEngine,
    instance: &InstanceId,
    context: &ContextId,
    request: &RequestId,
) {
    engine.upstreams.abandoned.add(context.clone());
    let (upstreams, instance) = (engine.upstreams.clone(), instance.clone());
    let (context, request) = (context.clone(), request.clone());
    engine.reconcilers.spawn(async move {
        let (timings, records) = (upstreams.timings, &upstreams.records);
        let (instance, context, request) = (&instance, &context, &request);
        let call = &|| Call::within(timings.reconciler_call).with_request_id(request.as_str());
        let look = || async move { match records.read(&call(), instance).await {
            Ok(Some(stored)) if stored.record.context == *context => {
                match records.roll_back(&call(), &stored.id).await {
                    Ok(()) => {
                        tracing::info!(request.id = %request, instance.id = %instance, %context, "removed an operation record that had arrived late");
                        Look::Done
                    }
                    Err(error) => {
                        tracing::debug!(error = %Chain(&error), "could not remove an operation record that had arrived late");
                        unclear(&error)
                    }
                }
            }
            // An unreadable record belongs to another owner.
            Ok(_) | Err(ReadRecordError::NotUnderstood { .. }) => Look::NotThere,
            Err(ReadRecordError::Director(error)) => {
                tracing::debug!(error = %Chain(&error), "could not look for an operation record that was given up");
                unclear(&error)
            }
        } };
        sweep(&timings, look).await;
    });
}

/// Without permission at the Director, nothing is left to do. If the operation record arrives, its reader finds that
/// nothing was submitted under it.
fn unclear(error: &ServiceError) -> Look {
    match error {
        ServiceError {
            kind: FailureKind::NotAllowed { .. },
            ..
        } => Look::Done,
        _ => Look::Unclear,
    }
}
