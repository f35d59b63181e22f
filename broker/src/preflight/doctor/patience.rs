//! How long a neighbour may take.

use std::{future::Future, time::Duration};

use odb_clients::http::{Call, Deadline, Limits};
use tokio::time::{Instant, timeout_at};

/// After so many steps that take all their time the rest is not asked.
const STEPS: u32 = 5;

/// How long each step may take, and all of them together.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    step: Duration,
    end: Deadline,
}

/// The time of a step was over.
pub(crate) struct TooSlow {
    pub(crate) limit: Duration,
}

impl Patience {
    /// Each step, such as a call, may take so long, and everything five times as long.
    pub fn of(step: Duration) -> Self {
        Self {
            step,
            end: Deadline::after(step * STEPS),
        }
    }

    /// How long the next step may take.
    pub(crate) fn next(self) -> Duration {
        self.step.min(self.end.remaining())
    }

    /// The context of the next call.
    pub(crate) fn call(self) -> Call {
        Call::until(self.end)
    }

    /// The context of something that takes several calls.
    pub(crate) fn work(self) -> Call {
        Call::within(self.end.remaining().min(self.step * 2))
    }

    /// Each call is made once: what fails now and then should be seen.
    pub(crate) fn limits(self) -> Limits {
        Limits {
            connect: self.step,
            attempt: self.step,
            attempts: 1,
            ..Limits::default()
        }
    }

    /// Waits for a step, and measures it.
    pub(crate) async fn wait<T>(
        self,
        step: impl Future<Output = T>,
    ) -> Result<(T, Duration), TooSlow> {
        let (limit, began) = (self.next(), Instant::now());
        match timeout_at(began + limit, step).await {
            Ok(outcome) => Ok((outcome, began.elapsed())),
            Err(_) => Err(TooSlow { limit }),
        }
    }
}
