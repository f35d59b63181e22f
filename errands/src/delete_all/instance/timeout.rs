//! Time limits and retries.

use std::{sync::PoisonError, time::Duration};

use odb_clients::{ServiceError, cloud_controller::CloudController, http::Call};
use odb_redaction::Chain;
use tokio::time::{Instant, sleep};

use super::{
    Deleter, Error, Task,
    rules::{Again, again, is_heard, is_under_way, passes},
};

/// The time for one read request, including retries.
const REQUEST: Duration = Duration::from_mins(2);
/// The shortest pause between two polls: even with an interval of 0 the errand does not load the Cloud Controller.
pub(super) const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause before something is tried again, however long the polling interval.
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// How long the Cloud Controller may leave every request unanswered before requests stop waiting.
const LONGEST_SILENCE: Duration = Duration::from_mins(10);
/// How many rejections without an operation in progress an instance gets before its deletion fails.
const MOST_REJECTIONS: u32 = 5;

/// The call of one read request.
pub(super) fn call() -> Call {
    Call::within(REQUEST)
}

impl Deleter {
    pub(super) fn retry_pause(&self) -> Duration {
        self.pace.interval.clamp(SHORTEST_PAUSE, LONGEST_RETRY)
    }

    pub(super) fn polling_pause(&self) -> Duration {
        self.pace.interval.max(SHORTEST_PAUSE)
    }

    /// Records an answer, or returns how long there has been none for any request.
    pub(super) fn observe<T>(&self, answer: &Result<T, ServiceError>) -> Duration {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if answer.as_ref().err().is_none_or(is_heard) {
            *heard = Instant::now();
        }
        heard.elapsed()
    }
}

impl Task<'_> {
    /// Repeats a request until it has a meaningful answer.
    pub(super) async fn ask<T>(
        &self,
        question: impl AsyncFn(&CloudController, &Call) -> Result<T, ServiceError>,
    ) -> Result<T, Error> {
        loop {
            self.must_go_on()?;
            let call = call();
            let answer = question(&self.deleter.cloud_controller, &call);
            let answer = self.unless_stopped(answer).await?;
            let silence = self.deleter.observe(&answer);
            match answer {
                Ok(answer) => return Ok(answer),
                Err(error) => self.must_pass(error, silence)?,
            }
            self.pause(self.deleter.retry_pause()).await?;
        }
    }

    /// Pauses or ends after a request that changed nothing or whose effect is unknown.
    pub(super) async fn after_rejection(
        &mut self,
        error: ServiceError,
        silence: Duration,
        into_error: impl FnOnce(Box<ServiceError>) -> Error,
    ) -> Result<(), Error> {
        match again(&error) {
            Again::Never => return Err(into_error(Box::new(error))),
            Again::Unanswered => self.must_not_be_silent(error, silence)?,
            Again::Busy => {}
            Again::InTheWay => {
                let last_operation = self.look().await?;
                let explains_itself = last_operation.is_ok_and(|last_operation| {
                    last_operation.is_none_or(|status| is_under_way(status.last_operation.as_ref()))
                });
                if !explains_itself {
                    self.count_rejection(Again::InTheWay, || into_error(Box::new(error)))?;
                }
            }
        }
        self.pause(self.deleter.retry_pause()).await
    }

    /// Counts a rejection. A few without a visible reason are allowed.
    pub(super) fn count_rejection(
        &mut self,
        again: Again,
        error: impl FnOnce() -> Error,
    ) -> Result<(), Error> {
        if again == Again::Busy {
            return Ok(());
        }
        self.rejections += 1;
        if self.rejections < MOST_REJECTIONS {
            Ok(())
        } else {
            Err(error())
        }
    }

    /// Fails on an error that is not transient.
    pub(super) fn must_pass(&self, error: ServiceError, silence: Duration) -> Result<(), Error> {
        if passes(&error) {
            self.must_not_be_silent(error, silence)
        } else {
            Err(Error::Refused(Box::new(error)))
        }
    }

    fn must_not_be_silent(&self, cause: ServiceError, silence: Duration) -> Result<(), Error> {
        if silence > LONGEST_SILENCE {
            return Err(Error::Silence {
                silence,
                cause: Box::new(cause),
            });
        }
        self.say(format_args!(
            "service instance {}: {}; retrying",
            self.instance,
            Chain(&cause)
        ));
        Ok(())
    }

    /// Fails if the errand was interrupted or the time is used up.
    pub(super) fn must_go_on(&self) -> Result<(), Error> {
        if self.deleter.dependencies.stopping.is_cancelled() {
            return Err(self.stopped());
        }
        if self.deadline.has_passed() {
            return Err(Error::GaveUp {
                after: self.deleter.pace.limit,
                activity: self.activity.clone(),
            });
        }
        Ok(())
    }

    pub(super) async fn pause(&self, length: Duration) -> Result<(), Error> {
        let length = length.min(self.deadline.remaining());
        self.unless_stopped(sleep(length)).await?;
        self.must_go_on()
    }

    /// Does something that may be broken off: it only asks, or only waits.
    pub(super) async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, Error> {
        let done = self.deleter.dependencies.unless_stopped(work).await;
        done.map_err(|_| self.stopped())
    }

    fn stopped(&self) -> Error {
        Error::Stopped {
            progress: self.progress,
        }
    }
}
