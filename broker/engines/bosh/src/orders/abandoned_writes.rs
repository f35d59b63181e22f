//! Abandoned writes: operation records whose write was given up or could not be rolled back, and UAA clients that were
//! made for nothing. They belong to operations that were never submitted, and may arrive long after the request was
//! answered. Each is awaited and removed.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use odb_api_types::ids::{InstanceId, RequestId};
use odb_clients::{ServiceError, director::ContextId, http::Call};
use odb_config::Timings;
use odb_core::engine::Order;
use odb_redaction::Chain;

use crate::{
    BoshEngine,
    error::is_not_allowed,
    records::operation_records::FoundRecord,
    wait::{Absence, Backoff},
};

/// How many abandoned operations are kept. A dropped one is detected again, but later.
const MOST_ABANDONED: usize = 1024;

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

    fn lock(&self) -> MutexGuard<'_, VecDeque<ContextId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Look {
    /// It is removed, or may not be.
    Done,
    /// It is not there, and may yet arrive.
    NotThere,
    Unclear,
}

/// Repeats until nothing is left to do, or the record has been absent for long enough.
async fn sweep<F: Future<Output = Look>>(timings: &Timings, look: impl Fn() -> F) {
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
pub(super) fn abandon(
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
        let look = || async move {
            let stored = match records.find(&call(), instance).await {
                Ok(Some(FoundRecord::Own(stored))) if stored.record.context == *context => stored,
                // A record of another operation or owner stays.
                Ok(_) => return Look::NotThere,
                Err(error) => {
                    tracing::debug!(error = %Chain(&error), "could not look for an operation record that was given up");
                    return unclear(&error);
                }
            };
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
        };
        sweep(&timings, look).await;
    });
}

/// Without permission at the Director, nothing is left to do. If the operation record arrives, its reader finds that
/// nothing was submitted under it.
fn unclear(error: &ServiceError) -> Look {
    if is_not_allowed(error) {
        Look::Done
    } else {
        Look::Unclear
    }
}

/// Removes a client that was made for nothing, or that may arrive when its request has long been answered. One that a
/// later request has made stays; while one is in progress nothing is removed behind its back.
pub(super) fn delete_abandoned_client(engine: &BoshEngine, order: &Order, operation: &ContextId) {
    let (upstreams, instance) = (engine.upstreams.clone(), order.instance.clone());
    let (operation, request) = (operation.clone(), order.request.clone());
    let reconcilers = engine.reconcilers.clone();
    engine.reconcilers.spawn(async move {
        let timings = upstreams.timings;
        let (upstreams, reconcilers) = (&upstreams, &reconcilers);
        let (instance, operation, request) = (&instance, &operation, &request);
        let look = || async move {
            if reconcilers.in_progress(instance).is_some() {
                return Look::Unclear;
            }
            let call = Call::within(timings.reconciler_call).with_request_id(request.as_str());
            match upstreams.clients.unmake(&call, instance, operation).await {
                Ok(true) => Look::Done,
                Ok(false) => Look::NotThere,
                Err(error) => {
                    tracing::debug!(request.id = %request, instance.id = %instance, error = %Chain(&error), "could not look for a UAA client that was made for nothing");
                    if error.is_transient() {
                        Look::Unclear
                    } else {
                        Look::Done
                    }
                }
            }
        };
        sweep(&timings, look).await;
    });
}
