//! What a call may take: the deadline that it inherits from its request, and its own limits.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::time::Instant;

/// The moment at which the work that a call belongs to must be over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// Longer than any work here takes, short enough for every clock's arithmetic.
    const FURTHEST: Duration = Duration::from_hours(365 * 24);

    /// A year from now at most.
    pub fn after(duration: Duration) -> Self {
        Self(Instant::now() + duration.min(Self::FURTHEST))
    }

    /// Zero after the deadline.
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    pub fn has_passed(self) -> bool {
        self.remaining().is_zero()
    }

    /// This deadline, or the one `duration` from now if that is sooner.
    #[must_use]
    pub fn within(self, duration: Duration) -> Self {
        self.min(Self::after(duration))
    }

    pub fn instant(self) -> Instant {
        self.0
    }
}

/// The context of a call: its deadline and its request id.
#[derive(Clone, Debug)]
pub struct Call {
    pub deadline: Deadline,
    /// Sent as a header, so that the logs of platform and broker can be correlated. An invalid header value is not
    /// sent.
    pub request_id: Option<String>,
}

impl Call {
    pub fn until(deadline: Deadline) -> Self {
        Self {
            deadline,
            request_id: None,
        }
    }

    pub fn within(duration: Duration) -> Self {
        Self::until(Deadline::after(duration))
    }

    #[must_use]
    pub fn with_request_id(self, request_id: impl Into<String>) -> Self {
        Self {
            request_id: Some(request_id.into()),
            ..self
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time to establish a connection, TLS included.
    pub connect: Duration,
    /// Time for one attempt, from the first byte sent to the last byte read.
    pub attempt: Duration,
    /// Size of an answer's body in bytes. A longer one is an error.
    pub answer: usize,
    /// For a call that is safe to repeat, the first one included.
    pub attempts: usize,
    /// The pause before the second attempt. It doubles from attempt to attempt, up to
    /// [`Limits::longest_pause`], and up to its own length is added at random.
    pub first_pause: Duration,
    pub longest_pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            attempt: Duration::from_secs(30),
            answer: 32 * 1024 * 1024,
            attempts: 5,
            first_pause: Duration::from_millis(250),
            longest_pause: Duration::from_secs(4),
        }
    }
}

impl Limits {
    pub(super) fn pauses(&self) -> ExponentialBackoff {
        ExponentialBuilder::default()
            .with_min_delay(self.first_pause)
            .with_max_delay(self.longest_pause)
            .with_max_times(self.attempts.saturating_sub(1))
            .with_jitter()
            .build()
    }
}
