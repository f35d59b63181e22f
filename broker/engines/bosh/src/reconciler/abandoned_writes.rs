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

/// The operations that were given up before anything was submitted.
#[derive(Debug, Default)]
pub(crate) struct Abandoned(Mutex<VecDeque<ContextId>>);

impl Abandoned {
    /// The operation was given up by this process, and nothing of it was ever submitted.
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
    /// It could not be looked for.
    Unclear,
}

/// Looks until nothing is left to do, or what is looked for has been absent for long enough.
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

/// Gives an operation up whose operation record may be written, or may be being written. Only the very version that was
/// given up goes: what others write meanwhile stays.
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

/// Where the Director does not let the broker, nothing is left to do. Should the operation record arrive, it is found
/// out again that nothing was submitted under it.
fn unclear(error: &ServiceError) -> Look {
    match error {
        ServiceError {
            kind: FailureKind::NotAllowed { .. },
            ..
        } => Look::Done,
        _ => Look::Unclear,
    }
}
