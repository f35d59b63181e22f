//! An operation outlives its client's connection, and ends before the process does.

use std::{future::Future, time::Duration};

use tokio::{runtime::Handle, task::JoinHandle};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};
use tracing::Instrument;

/// Runs requests as tasks of their own. A task spawned on an HTTP worker would die with the worker.
#[derive(Clone, Debug)]
pub struct Lifecycle {
    runtime: Handle,
    requests: TaskTracker,
    /// Requests that have no answer yet, those without a task included.
    unanswered: TaskTracker,
    stopping: CancellationToken,
}

#[derive(Debug, thiserror::Error)]
pub enum Cut {
    #[error("the request was cut off")]
    Off(#[source] tokio::task::JoinError),
    /// The process is stopping and takes no more requests.
    #[error("the broker is stopping")]
    Stopping,
}

impl Lifecycle {
    pub fn new(runtime: Handle) -> Self {
        Self {
            runtime,
            requests: TaskTracker::new(),
            unanswered: TaskTracker::new(),
            stopping: CancellationToken::new(),
        }
    }

    pub fn stopping(&self) -> CancellationToken {
        self.stopping.clone()
    }

    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Registers a request, which has its answer when the token is dropped. The process does not end before, or before
    /// [`drain`](Self::drain) times out.
    pub fn attend(&self) -> TaskTrackerToken {
        self.unanswered.token()
    }

    /// Runs a request to its end, even if its client disconnects. The task begins with this call, so the returned
    /// future is small, however large that of the request is.
    pub fn finish<T, R>(
        &self,
        request: R,
    ) -> impl Future<Output = Result<T, Cut>> + Send + use<T, R>
    where
        T: Send + 'static,
        R: Future<Output = T> + Send + 'static,
    {
        let task = if self.stopping.is_cancelled() {
            Err(Cut::Stopping)
        } else {
            let request = Box::pin(request.in_current_span());
            Ok(self.requests.spawn_on(request, &self.runtime))
        };
        async move { task?.await.map_err(Cut::Off) }
    }

    /// Runs the remaining work after a request has its answer. The process does not end before it is done, or before
    /// [`drain`](Self::drain) times out.
    pub fn go_on(&self, work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        self.requests
            .spawn_on(work.in_current_span(), &self.runtime)
    }

    /// Stops the background work, which a restart resumes, and waits for requests, at most `timeout`. Returns the
    /// number of requests that were cut off.
    pub async fn drain(&self, timeout: Duration) -> usize {
        self.stopping.cancel();
        self.requests.close();
        self.unanswered.close();
        let done = async { tokio::join!(self.requests.wait(), self.unanswered.wait()) };
        match tokio::time::timeout(timeout, done).await {
            Ok(_) => 0,
            Err(_) => self.in_progress(),
        }
    }

    /// How many requests are in progress. A request with a task is in both lists, one whose client disconnected only in
    /// the first.
    pub fn in_progress(&self) -> usize {
        self.requests.len().max(self.unanswered.len())
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
    async fn the_process_waits_for_a_request_that_has_no_task_until_it_has_its_answer() {
        let lifecycle = Lifecycle::new(Handle::current());
        let in_progress = lifecycle.attend();
        assert_eq!(lifecycle.drain(Duration::ZERO).await, 1);
        drop(in_progress);
        assert_eq!(lifecycle.drain(Duration::from_secs(9)).await, 0);
    }

    #[tokio::test]
    async fn what_waits_for_a_request_is_small_however_large_the_request_is() {
        let lifecycle = Lifecycle::new(Handle::current());
        let large = [7_u8; 8 * 1024];
        let waiting = lifecycle.finish(async move {
            tokio::task::yield_now().await;
            large.len()
        });
        assert!(size_of_val(&waiting) < 256, "{}", size_of_val(&waiting));
        assert_eq!(waiting.await.unwrap(), large.len());
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
