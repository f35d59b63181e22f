//! Why an instance is not deleted.

use std::{fmt, time::Duration};

use odb_clients::{FailureKind, ServiceError, cloud_controller::CfOperationKind};
use odb_redaction::Chain;

use super::rules::word;

/// Why an instance is not deleted. The texts are those of the Go program where it has one for the case
/// (`spec/contracts/errands.md` §5): they stand behind `Result: failed to delete service instance …`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The Cloud Controller or the broker said no, or nobody can be asked.
    #[error("Error: {}.", Chain(.0))]
    Refused(Box<ServiceError>),
    /// What hangs on the instance does not go away.
    #[error("Error: {what} could not be deleted: {}.", Chain(.cause))]
    Binding {
        /// Which binding.
        what: String,
        /// What the Cloud Controller said.
        cause: Box<ServiceError>,
    },
    /// What was deleted is listed all the same.
    #[error("Error: {what} is still there, although its deletion has succeeded several times.")]
    Lingering {
        /// Which binding.
        what: String,
    },
    /// The deletion was taken, and something else goes on.
    #[error("Unexpected operation type: '{}'.", word(.0))]
    UnexpectedOperation(CfOperationKind),
    /// The broker could not delete it.
    #[error("Delete operation failed.{}", Said(.reason))]
    Failed {
        /// What was said of it; may be empty.
        reason: String,
    },
    /// The time for one instance is over.
    #[error("Error: gave up after {}: {activity}.", RetryAfter(*.after))]
    GaveUp {
        /// The time for one instance.
        after: Duration,
        /// What was waited for.
        activity: String,
    },
    /// The Cloud Controller has answered nobody for a long time.
    #[error("Error: the Cloud Controller has not answered for {}: {}.", RetryAfter(*.silence), Chain(.cause))]
    Silence {
        /// For how long.
        silence: Duration,
        /// What happened last.
        cause: Box<ServiceError>,
    },
    /// The errand is told to stop.
    #[error("the errand was stopped")]
    Stopped {
        /// Whether the deletion goes on without it.
        progress: Progress,
    },
}

/// How far a deletion has come that is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Its deletion has not been asked for.
    NotBegun,
    /// It is being deleted.
    UnderWay,
}

impl Error {
    /// The next instance would meet the same.
    pub(crate) fn is_everybodys(&self) -> bool {
        match self {
            Self::Silence { .. } => true,
            Self::Refused(error) | Self::Binding { cause: error, .. } => is_about_us(error),
            Self::UnexpectedOperation(_)
            | Self::Lingering { .. }
            | Self::Failed { .. }
            | Self::GaveUp { .. }
            | Self::Stopped { .. } => false,
        }
    }

    /// The instance has failed to be deleted, and nothing goes on with it as far as is known.
    pub(crate) fn is_the_end(&self) -> bool {
        match self {
            Self::Refused(_)
            | Self::Binding { .. }
            | Self::Lingering { .. }
            | Self::Failed { .. } => true,
            Self::UnexpectedOperation(_)
            | Self::GaveUp { .. }
            | Self::Silence { .. }
            | Self::Stopped { .. } => false,
        }
    }
}

/// It is about our credentials, and not about what was asked.
fn is_about_us(error: &ServiceError) -> bool {
    matches!(error.kind, FailureKind::NoToken { .. })
        || error.status().is_some_and(|status| status.as_u16() == 401)
}

/// What was said, if anything was.
struct Said<'a>(&'a str);

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            Ok(())
        } else {
            write!(f, " {}", self.0)
        }
    }
}

/// A duration for people.
struct RetryAfter(Duration);

impl fmt::Display for RetryAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            seconds @ 0..120 => write!(f, "{seconds} s"),
            seconds @ 120..7200 => write!(f, "{} min", seconds / 60),
            seconds => write!(f, "{} h", seconds / 3600),
        }
    }
}
