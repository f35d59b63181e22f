//! How often a broker is started again that ends by itself.

use std::time::{Duration, Instant};

/// The first pause. It doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// How often that is done in a row.
const LIMIT: u32 = 5;

/// A broker that has run for so long does not end because of what it was started with.
const WELL: Duration = Duration::from_mins(1);

/// The starts in a row after which the broker did not run for long.
#[derive(Debug, Default)]
pub(super) struct Restarts {
    count: u32,
    /// When the broker came up that runs or has just ended.
    up: Option<Instant>,
}

impl Restarts {
    pub(super) fn came_up(&mut self, now: Instant) {
        self.up = Some(now);
    }

    pub(super) fn ended(&mut self, now: Instant) {
        let up = self.up.take();
        if up.is_some_and(|up| now.saturating_duration_since(up) >= WELL) {
            self.count = 0;
        }
    }

    /// How long to wait before the next start; `None` when there have been enough.
    pub(super) fn next(&mut self) -> Option<Duration> {
        if self.count == LIMIT {
            return None;
        }
        let pause = FIRST_PAUSE * 2_u32.pow(self.count);
        self.count += 1;
        Some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts_until_abandoned(each_runs: Duration) -> usize {
        let mut restarts = Restarts::default();
        let mut now = Instant::now();
        let mut starts = 0;
        while starts < 100 && restarts.next().is_some() {
            starts += 1;
            restarts.came_up(now);
            now += each_runs;
            restarts.ended(now);
        }
        starts
    }

    #[test]
    fn only_a_broker_that_keeps_ending_at_once_is_abandoned() {
        assert_eq!(starts_until_abandoned(Duration::from_secs(1)), 5);
        assert_eq!(starts_until_abandoned(Duration::from_secs(90)), 100);
    }
}
