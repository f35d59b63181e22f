//! An operation outlives the connection that asked for it, and ends before the process does.

use std::{future::Future, time::Duration};

use tokio::{runtime::Handle, task::JoinHandle};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument;

/// Runs requests as tasks of their own. A task spawned on an HTTP worker would die with the worker.
#[derive(Clone, Debug)]
pub struct Lifecycle {
    runtime: Handle,
    requests: TaskTracker,
    stopping: CancellationToken,
}

/// The request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Cut {
    /// Its task panicked, or was stopped with the process.
    #[error("the request was cut off")]
    Off(#[source] tokio::task::JoinError),
    /// The process is stopping and takes no more requests.
    #[error("the broker is stopping")]
    Stopping,
}

impl Lifecycle {
    /// Requests run on `runtime`.
    pub fn new(runtime: Handle) -> Self {
        Self {
            runtime,
            requests: TaskTracker::new(),
            stopping: CancellationToken::new(),
        }
    }

    /// Tells everything that goes on in the background to stop.
    pub fn stopping(&self) -> CancellationToken {
        self.stopping.clone()
    }

    /// Where background work belongs.
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Runs a request to its end, whether or not somebody still waits for the answer.
    pub async fn finish<T: Send + 'static>(
        &self,
        request: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Cut> {
        if self.stopping.is_cancelled() {
            return Err(Cut::Stopping);
        }
        self.requests
            .spawn_on(request.in_current_span(), &self.runtime)
            .await
            .map_err(Cut::Off)
    }

    /// Does what a request leaves to be done when it has been answered. The process does not end before it has, as far as
    /// the patience of [`drain`](Self::drain) goes.
    pub fn go_on(&self, work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        self.requests
            .spawn_on(work.in_current_span(), &self.runtime)
    }

    /// Stops the background work, which a restart picks up, and waits for requests, at most `patience`. Gives the
    /// number of those that were cut off.
    pub async fn drain(&self, patience: Duration) -> usize {
        self.stopping.cancel();
        self.requests.close();
        match tokio::time::timeout(patience, self.requests.wait()).await {
            Ok(()) => 0,
            Err(_) => self.requests.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_that_panics_is_cut_off_and_others_go_on() {
        let lifecycle = Lifecycle::new(Handle::current());
        let broken = lifecycle.finish(async { Vec::<u8>::new()[1] }).await;
        let cut = broken.unwrap_err();
        assert!(matches!(cut, Cut::Off(_)), "{cut:?}");
        assert_eq!(cut.to_string(), "the request was cut off");
        assert_eq!(lifecycle.finish(async { 7 }).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn the_process_waits_for_what_a_request_left_to_be_done() {
        let lifecycle = Lifecycle::new(Handle::current());
        let (open, gate) = tokio::sync::oneshot::channel::<()>();
        let left = lifecycle.go_on(async move {
            // The sender is never dropped without a word.
            let _ = gate.await;
        });
        assert_eq!(lifecycle.drain(Duration::ZERO).await, 1);
        open.send(()).unwrap();
        assert_eq!(lifecycle.drain(Duration::from_secs(9)).await, 0);
        left.await.unwrap();
    }
}
