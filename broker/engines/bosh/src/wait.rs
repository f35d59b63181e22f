//! How the broker waits: growing pauses, and the absence of what may still arrive.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use odb_config::Timings;
use tokio::time::{Instant, sleep};

pub(crate) async fn pause(length: Duration) {
    sleep(length).await;
}

#[derive(Debug)]
pub(crate) struct Backoff {
    builder: ExponentialBuilder,
    pauses: ExponentialBackoff,
}

impl Backoff {
    pub(crate) fn between_attempts(timings: &Timings) -> Self {
        Self::new(timings.first_retry, timings.longest_retry, 2.0)
    }

    pub(crate) fn between_looks(timings: &Timings) -> Self {
        Self::new(timings.first_look, timings.longest_look, 1.5)
    }

    pub(crate) fn new(first: Duration, longest: Duration, factor: f32) -> Self {
        let builder = ExponentialBuilder::new()
            .with_min_delay(first)
            .with_max_delay(longest)
            .with_factor(factor)
            .without_max_times();
        Self {
            builder,
            pauses: builder.build(),
        }
    }

    pub(crate) async fn pause(&mut self) {
        pause(self.next()).await;
    }

    pub(crate) fn next(&mut self) -> Duration {
        self.pauses.next().unwrap_or_default()
    }

    pub(crate) fn reset(&mut self) {
        self.pauses = self.builder.build();
    }
}

/// How long something has been missing without interruption: a request may arrive late.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Absence {
    since: Option<Instant>,
}

impl Absence {
    /// It was searched and is absent. Returns for how long.
    pub(crate) fn note(&mut self) -> Duration {
        self.since.get_or_insert_with(Instant::now).elapsed()
    }

    /// The same if the search was impossible until `gap`.
    pub(crate) fn note_after(&mut self, gap: Instant) -> Duration {
        let since = self.since.get_or_insert_with(Instant::now);
        gap.max(*since).elapsed()
    }

    pub(crate) fn interrupt(&mut self) {
        self.since = None;
    }

    /// Whether it has been missing since the last interruption.
    pub(crate) fn is_noted(&self) -> bool {
        self.since.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_longest_and_begin_anew() {
        let second = Duration::from_secs(1);
        let mut backoff = Backoff::new(second, 4 * second, 2.0);
        let pauses: Vec<_> = (0..5).map(|_| backoff.next().as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 4, 4]);
        backoff.reset();
        assert_eq!(backoff.next(), second);
    }

    #[test]
    fn an_absence_lasts_from_the_first_look_after_the_last_gap() {
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds));
        let mut absence = Absence::default();
        assert!(absence.note() < Duration::from_secs(1));
        absence.since = ago(30);
        assert!(absence.note() >= Duration::from_secs(30));
        assert!(absence.note_after(ago(10).unwrap()) < Duration::from_secs(20));
        absence.interrupt();
        assert!(!absence.is_noted());
        assert!(absence.note() < Duration::from_secs(1));
    }
}
