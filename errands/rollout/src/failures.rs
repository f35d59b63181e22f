//! Retries of unanswered calls, with growing pauses, for a limited time: the operation of the instance continues
//! meanwhile.

use std::time::Duration;

use super::Moment;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Since when a call gets no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Failures {
    since: Moment,
    pause: Duration,
}

impl Failures {
    /// When the call is to be repeated; never when it has been repeated for `timeout`.
    pub(super) fn retry_at(
        failures: &mut Option<Self>,
        now: Moment,
        timeout: Duration,
    ) -> Option<Moment> {
        let failures = failures.get_or_insert(Self {
            since: now,
            pause: FIRST_PAUSE,
        });
        let end = failures.since + timeout;
        if now >= end {
            return None;
        }
        let at = (now + failures.pause).min(end);
        failures.pause = (failures.pause * 2).min(LONGEST_PAUSE);
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_the_last_attempt_is_at_the_timeout() {
        let (mut failures, mut now, mut at) = (None, Moment::from_secs(100), Vec::new());
        while let Some(next) = Failures::retry_at(&mut failures, now, Duration::from_mins(1)) {
            at.push(next.as_secs());
            now = next;
        }
        assert_eq!(at, [101, 103, 107, 115, 131, 160]);
    }

    #[test]
    fn without_a_timeout_nothing_is_repeated() {
        let at = Failures::retry_at(&mut None, Moment::ZERO, Duration::ZERO);
        assert_eq!(at, None);
    }
}
