//! Why an instance is not deleted.

use std::{fmt, time::Duration};

use odb_clients::{FailureKind, ServiceError, cloud_controller::CfOperationKind};
use odb_redaction::Chain;

use super::rules::word;

/// Why an instance is not deleted. The texts are those of the Go program where it has one (`spec/contracts/errands.md`
/// §5); they follow `Result: failed to delete service instance …`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The Cloud Controller or the broker rejected the request, or cannot be called.
    #[error("Error: {}.", Chain(.0))]
    Refused(Box<ServiceError>),
    /// An object that depends on the instance cannot be deleted.
    #[error("Error: {what} could not be deleted: {}.", Chain(.cause))]
    Binding {
        /// Which binding.
        what: String,
        /// The error of the Cloud Controller.
        cause: Box<ServiceError>,
    },
    /// The deleted object is still listed.
    #[error("Error: {what} still exists, although its deletion has succeeded several times.")]
    Lingering {
        /// Which binding.
        what: String,
    },
    /// The deletion was accepted, but another operation is in progress.
    #[error("Unexpected operation type: '{}'.", word(.0))]
    UnexpectedOperation(CfOperationKind),
    /// The broker could not delete it.
    #[error("Delete operation failed.{}", Said(.reason))]
    Failed {
        /// The platform's reason; may be empty.
        reason: String,
    },
    /// The time for one instance is used up.
    #[error("Error: gave up after {}: {activity}.", RetryAfter(*.after))]
    GaveUp {
        /// The time for one instance.
        after: Duration,
        /// The activity at that time.
        activity: String,
    },
    /// The Cloud Controller has not answered any request for a long time.
    #[error("Error: the Cloud Controller has not answered for {}: {}.", RetryAfter(*.silence), Chain(.cause))]
    Silence {
        /// For how long.
        silence: Duration,
        /// The last error.
        cause: Box<ServiceError>,
    },
    /// The errand was interrupted.
    #[error("the errand was stopped")]
    Stopped {
        /// Whether the deletion continues without the errand.
        progress: Progress,
    },
}

/// How far a deletion has come that is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Its deletion was not requested.
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

    /// Whether the deletion has failed with no operation left in progress, as far as is known.
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

/// The error is about our credentials, not about the request.
fn is_about_us(error: &ServiceError) -> bool {
    matches!(error.kind, FailureKind::NoToken { .. })
        || error.status().is_some_and(|status| status.as_u16() == 401)
}

/// The description, if there is one.
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
