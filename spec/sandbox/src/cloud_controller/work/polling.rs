//! Asking a broker how far it is (`spec/contracts/platform-apis.md`, "Polling").

use std::time::{Duration, Instant};

use super::{
    Operation,
    operation::{Failure, Overtaken},
};
use crate::cloud_controller::{
    broker_client::{Progress, Target},
    refusal::Fault,
};

const LONGEST_PAUSE: Duration = Duration::from_hours(24);

/// An operation that a broker has accepted.
pub(super) struct Accepted<'a> {
    pub(super) target: &'a Target,
    /// What the broker wants to be asked with.
    pub(super) operation: Option<&'a str>,
    /// How long the broker wants to be left alone.
    pub(super) retry_after: Option<Duration>,
    /// The limit that the plan sets.
    pub(super) limit: Option<Duration>,
}

/// How polling ended.
pub(super) enum PollEnd {
    Succeeded {
        description: Option<String>,
    },
    Failed {
        description: Option<String>,
    },
    /// The broker knows nothing of it: a delete has succeeded with that.
    Gone,
    TimedOut,
}

/// What a 410 says to the one who asks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum GoneMeans {
    Success,
    PollOn,
}

impl Operation {
    /// Polls at once, and then at the interval of the Cloud Controller or the broker's, whichever is longer.
    pub(super) async fn poll(
        &self,
        accepted: Accepted<'_>,
        gone: GoneMeans,
    ) -> Result<PollEnd, Overtaken> {
        let conduct = &self.controller.0.settings.brokers;
        let limit = accepted
            .limit
            .map_or(conduct.maximum_polling_duration, |limit| {
                limit.min(conduct.maximum_polling_duration)
            });
        let begun = Instant::now();
        let mut retry_after = accepted.retry_after;
        self.progress(None)?;
        loop {
            let client = &self.controller.0.broker_client;
            match client
                .last_operation(accepted.target, accepted.operation, &self.identity)
                .await
            {
                Progress::Succeeded { description } => {
                    return Ok(PollEnd::Succeeded { description });
                }
                Progress::Failed { description } => return Ok(PollEnd::Failed { description }),
                Progress::Gone if gone == GoneMeans::Success => return Ok(PollEnd::Gone),
                Progress::Gone => {}
                Progress::Running {
                    description,
                    retry_after: asked,
                } => {
                    self.progress(description)?;
                    retry_after = asked.or(retry_after);
                }
                Progress::Unclear { retry_after: asked } => retry_after = asked.or(retry_after),
            }
            let pause = conduct
                .polling_interval
                .max(retry_after.unwrap_or_default())
                .min(LONGEST_PAUSE);
            if begun.elapsed() + pause > limit {
                return Ok(PollEnd::TimedOut);
            }
            tokio::time::sleep(pause).await;
            // Also when the broker says nothing that could be noted.
            self.must_be_current()?;
        }
    }
}

impl Failure {
    /// The time for polling is up.
    pub(super) fn timed_out(verb: &str) -> Self {
        Self {
            description: format!("Service Broker failed to {verb} within the required time."),
            error: Fault::JobTimeout.with("The job execution has timed out."),
        }
    }

    /// The broker, asked how far it is, said that it had failed.
    pub(super) fn told(verb: &str, description: Option<String>) -> Self {
        let description = description.unwrap_or_default();
        Self {
            error: Fault::UnableToPerform
                .with(format!("{verb} could not be completed: {description}")),
            description,
        }
    }

    /// The broker refused, or its answer made no sense.
    pub(super) fn refused(verb: &str, reason: &impl ToString) -> Self {
        let reason = reason.to_string();
        Self {
            error: Fault::UnableToPerform.with(format!("{verb} could not be completed: {reason}")),
            description: reason,
        }
    }
}
