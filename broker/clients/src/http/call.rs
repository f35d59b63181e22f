//! The context that an upstream call inherits from its request.

use std::time::Duration;

use tokio::time::Instant;

/// The moment at which the work that a call belongs to must be over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// Longer than any work here takes, short enough for every clock's arithmetic.
    const FURTHEST: Duration = Duration::from_hours(365 * 24);

    /// The deadline that is `duration` away from now (a year at most).
    pub fn after(duration: Duration) -> Self {
        Self(Instant::now() + duration.min(Self::FURTHEST))
    }

    /// The remaining time; zero after the deadline.
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Whether nothing is left.
    pub fn has_passed(self) -> bool {
        self.remaining().is_zero()
    }

    /// This deadline, or the one `duration` from now if that is sooner.
    #[must_use]
    pub fn within(self, duration: Duration) -> Self {
        self.min(Self::after(duration))
    }

    /// The moment itself.
    pub fn instant(self) -> Instant {
        self.0
    }
}

/// The context of a call: its deadline and its request id.
#[derive(Clone, Debug)]
pub struct Call {
    /// When the work that the call is part of must be over.
    pub deadline: Deadline,
    /// Sent as a header, so that the logs of platform and broker can be correlated. An invalid header value is not
    /// sent.
    pub request_id: Option<String>,
}

impl Call {
    /// A call without a request id.
    pub fn until(deadline: Deadline) -> Self {
        Self {
            deadline,
            request_id: None,
        }
    }

    /// A call without a request id that may take `duration`.
    pub fn within(duration: Duration) -> Self {
        Self::until(Deadline::after(duration))
    }

    /// The same call under a request id.
    #[must_use]
    pub fn with_request_id(self, request_id: impl Into<String>) -> Self {
        Self {
            request_id: Some(request_id.into()),
            ..self
        }
    }
}
