//! Polls a broker (`spec/contracts/platform-apis.md`, "Polling").
//!
//! Waits for a broker's first answer. Jobs of v3 do not wait; v2 answers its own request with it.

use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::{Operation, operation::Overtaken, orders::Dependencies};
use crate::cloud_controller::broker_client::{AcceptsIncomplete, BrokerFailure, Progress, Target};

const LONGEST_PAUSE: Duration = Duration::from_hours(24);

pub(super) struct Accepted<'a> {
    pub(super) target: &'a Target,
    pub(super) operation: Option<&'a str>,
    pub(super) limit: Option<Duration>,
    pub(super) first_poll: FirstPoll,
}

/// When a broker is asked for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstPoll {
    /// In the same run of the job, as in v3.
    AtOnce,
    /// After a pause, as in v2, whose request has been answered by then.
    AfterPause,
}

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

/// The meaning of a 410 for this poll.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum GoneMeans {
    Success,
    PollOn,
}

impl Operation {
    /// Polls at the interval of the Cloud Controller or the broker's, whichever is longer. The behaviour may change
    /// meanwhile.
    pub(super) async fn poll(
        &self,
        accepted: Accepted<'_>,
        gone: GoneMeans,
    ) -> Result<PollEnd, Overtaken> {
        let begun = Instant::now();
        let mut pauses = Pauses::default();
        self.progress(None)?;
        if accepted.first_poll == FirstPoll::AfterPause {
            tokio::time::sleep(self.controller.behaviour().polling_interval).await;
            self.must_be_current()?;
        }
        loop {
            let client = &self.controller.0.broker_client;
            let target = self.as_registered_now(accepted.target);
            match client
                .last_operation(&target, accepted.operation, &self.identity)
                .await
            {
                Progress::Succeeded { description } => {
                    return Ok(PollEnd::Succeeded { description });
                }
                Progress::Failed { description } => return Ok(PollEnd::Failed { description }),
                Progress::Gone if gone == GoneMeans::Success => return Ok(PollEnd::Gone),
                Progress::Running {
                    description,
                    retry_after,
                } => {
                    self.progress(description)?;
                    pauses.asked = retry_after.or(pauses.asked);
                }
                Progress::Gone | Progress::Unclear => {}
            }
            let behaviour = self.controller.behaviour();
            let limit = accepted
                .limit
                .map_or(behaviour.maximum_polling_duration, |limit| {
                    limit.min(behaviour.maximum_polling_duration)
                });
            let pause = pauses.next(behaviour.polling_interval, behaviour.polling_factor);
            if begun.elapsed() + pause > limit {
                return Ok(PollEnd::TimedOut);
            }
            tokio::time::sleep(pause).await;
            // Also when the broker says nothing that could be noted.
            self.must_be_current()?;
        }
    }

    /// Where the broker is by now, and what it is asked with: either may have changed since the order.
    fn as_registered_now(&self, target: &Target) -> Target {
        let broker = self.controller.0.state.read(|tables| {
            let instance = tables.instances.get(&target.instance)?;
            Some(Dependencies::of(tables, instance)?.target(None)?.broker)
        });
        Target {
            broker: broker.unwrap_or_else(|| target.broker.clone()),
            ..target.clone()
        }
    }
}

#[derive(Default)]
struct Pauses {
    /// The broker's last `Retry-After`.
    asked: Option<Duration>,
    made: i32,
}

impl Pauses {
    /// At least the interval, at most a day; each is longer than the one before by the factor.
    fn next(&mut self, interval: Duration, factor: f64) -> Duration {
        let base = interval
            .max(self.asked.unwrap_or_default())
            .min(LONGEST_PAUSE);
        let grown = base.as_secs_f64() * factor.powi(self.made);
        self.made = self.made.saturating_add(1);
        Duration::try_from_secs_f64(grown)
            .unwrap_or(LONGEST_PAUSE)
            .min(LONGEST_PAUSE)
    }
}

/// A broker's first answer.
#[derive(Debug)]
pub(crate) enum FirstResponse {
    Done,
    /// The broker is at it, and asked how far it is.
    Begun,
    Refused(BrokerFailure),
}

/// How a broker is asked, and who waits for its first answer.
pub(super) struct Asker {
    pub(super) accepts_incomplete: AcceptsIncomplete,
    pub(super) first_poll: FirstPoll,
    reported: Option<oneshot::Sender<FirstResponse>>,
}

impl Asker {
    /// A job: no request waits for the broker's answer.
    pub(super) fn job() -> Self {
        Self {
            accepts_incomplete: AcceptsIncomplete::Asynchronous,
            first_poll: FirstPoll::AtOnce,
            reported: None,
        }
    }

    /// A request that waits for the answer. The work continues when the request has ended.
    pub(super) fn request(
        accepts_incomplete: AcceptsIncomplete,
    ) -> (Self, oneshot::Receiver<FirstResponse>) {
        let (reported, answer) = oneshot::channel();
        (
            Self {
                accepts_incomplete,
                first_poll: FirstPoll::AfterPause,
                reported: Some(reported),
            },
            answer,
        )
    }

    /// Passes the answer on. Later ones are of no interest.
    pub(super) fn receives(&mut self, answer: FirstResponse) {
        if let Some(reported) = self.reported.take() {
            // The caller may have disconnected.
            let _ = reported.send(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_the_longer_of_both_settings_and_grow() {
        let minute = Duration::from_mins(1);
        let mut pauses = Pauses::default();
        assert_eq!(pauses.next(minute, 1.0), minute);
        assert_eq!(pauses.next(minute, 1.0), minute);
        pauses.asked = Some(Duration::from_secs(5));
        assert_eq!(pauses.next(minute, 1.0), minute, "not more often");
        pauses.asked = Some(Duration::from_mins(2));
        assert_eq!(pauses.next(minute, 1.0), Duration::from_mins(2));
        pauses.asked = Some(Duration::from_hours(48));
        assert_eq!(pauses.next(minute, 1.0), LONGEST_PAUSE);

        let mut growing = Pauses::default();
        let pauses: Vec<_> = (0..4)
            .map(|_| growing.next(minute, 1.5).as_millis())
            .collect();
        assert_eq!(pauses, [60_000, 90_000, 135_000, 202_500]);
    }
}
