//! An operation outlives the connection that asked for it, and ends before the process does.

use std::{future::Future, time::Duration};

use tokio::runtime::Handle;
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
}
