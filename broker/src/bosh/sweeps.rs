//! Markers whose writing was given up, or that could not be taken back: they speak of operations that were never handed
//! over, and may arrive at the Director when their requests have long been answered. Each is waited for and removed.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use odb_api_types::ids::{InstanceId, RequestId};
use odb_platform::{
    director::{ContextId, DirectorError},
    http::Call,
};
use tokio::time::{Instant, sleep};

use super::{Instances, Neighbours, ReadMarkerError};
use crate::telemetry::Chain;

/// So many operations are remembered as given up. What is forgotten is found out again, in more time.
const REMEMBERED: usize = 1024;

/// The longest pause between two looks while the Director answers.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The operations that were given up before anything was handed over.
#[derive(Debug, Default)]
pub(super) struct GivenUp(Mutex<VecDeque<ContextId>>);

impl GivenUp {
    /// The operation was given up by this process, and nothing of it was ever handed over.
    pub(super) fn includes(&self, context: &ContextId) -> bool {
        self.lock().contains(context)
    }

    fn add(&self, context: ContextId) {
        let mut contexts = self.lock();
        if contexts.len() == REMEMBERED {
            contexts.pop_front();
        }
        contexts.push_back(context);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<ContextId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Instances {
    /// Gives an operation up whose marker may be written, or may be being written.
    pub(super) fn give_up(&self, instance: &InstanceId, context: &ContextId, request: &RequestId) {
        self.neighbours.given_up.add(context.clone());
        let (neighbours, instance) = (self.neighbours.clone(), instance.clone());
        let (context, request) = (context.clone(), request.clone());
        self.drivers
            .spawn(async move { sweep(neighbours, &instance, &context, &request).await });
    }
}

/// Looks for the marker until it has been removed, or the Director has been seen without it for long enough. Only the very
/// version that was given up goes: what others write meanwhile stays.
async fn sweep(
    neighbours: Arc<Neighbours>,
    instance: &InstanceId,
    context: &ContextId,
    request: &RequestId,
) {
    let (timings, markers) = (&neighbours.timings, &neighbours.markers);
    let call = || Call::within(timings.driver_call).with_request_id(request.as_str());
    let mut pause = timings.first_retry;
    let mut seen_without_since = None;
    loop {
        sleep(pause).await;
        pause = (pause * 3 / 2).min(timings.longest_retry);
        match markers.read(&call(), instance).await {
            Ok(Some(stored)) if stored.marker.context == *context => {
                match markers.take_back(&call(), &stored.id).await {
                    Ok(()) => {
                        tracing::info!(request.id = %request, instance.id = %instance, %context, "removed a marker that had arrived late");
                        return;
                    }
                    Err(error) => {
                        tracing::debug!(error = %Chain(&error), "could not remove a marker that had arrived late");
                        if is_lasting(&error) {
                            return;
                        }
                    }
                }
            }
            // What is not understood is another's.
            Ok(_) | Err(ReadMarkerError::NotUnderstood { .. }) => {
                pause = pause.min(LONGEST_PAUSE);
                let since = *seen_without_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= timings.lost_answer {
                    return;
                }
            }
            Err(ReadMarkerError::Director(error)) => {
                tracing::debug!(error = %Chain(&error), "could not look for a marker that was given up");
                if is_lasting(&error) {
                    return;
                }
                seen_without_since = None;
            }
        }
    }
}

/// The Director does not let the broker. Should the marker arrive, it is found out again that it speaks of nothing.
fn is_lasting(error: &DirectorError) -> bool {
    matches!(error, DirectorError::NotAllowed { .. })
}
