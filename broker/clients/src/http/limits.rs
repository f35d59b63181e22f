//! How long and how much.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

/// The limits of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time to establish a connection, TLS included.
    pub connect: Duration,
    /// Time for one attempt, from the first byte sent to the last byte read.
    pub attempt: Duration,
    /// Size of an answer's body in bytes. A longer one is an error.
    pub answer: usize,
    /// How often a call that is safe to repeat is tried in all.
    pub attempts: usize,
    /// The pause before the second attempt. It doubles from attempt to attempt, up to
    /// [`Limits::longest_pause`], and up to its own length is added at random.
    pub first_pause: Duration,
    /// The longest pause between two attempts.
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
