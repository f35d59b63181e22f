//! How errands wait: for the end of an operation, and before another attempt.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use odb_clients::http::Deadline;
use odb_redaction::Chain;
use tokio::time::{Instant, sleep};

use crate::Console;

/// How long a broker may give no answer while an operation is followed: it may be being deployed anew.
const LONGEST_SILENCE: Duration = Duration::from_mins(10);
/// Between two attempts at the platform.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// Pauses that grow by `factor` from `first` to `longest`, without an end.
pub fn growing(first: Duration, factor: f32, longest: Duration) -> impl Iterator<Item = Duration> {
    let pauses = ExponentialBuilder::new()
        .with_min_delay(first)
        .with_max_delay(longest)
        .with_factor(factor);
    pauses.without_max_times().build()
}

/// Polls an operation after each pause until it has ended. The operation continues while the broker does not answer:
/// transient errors end the wait only after ten minutes without any other result.
pub async fn follow<T, E>(
    pauses: impl Iterator<Item = Duration>,
    mut look: impl AsyncFnMut() -> Result<Option<T>, E>,
    is_transient: impl Fn(&E) -> bool,
) -> Result<T, E> {
    let mut answered = Instant::now();
    let mut pause = Duration::ZERO;
    let mut pauses = pauses;
    loop {
        pause = pauses.next().unwrap_or(pause);
        sleep(pause).await;
        match look().await {
            Ok(Some(end)) => return Ok(end),
            Ok(None) => answered = Instant::now(),
            Err(error) if is_transient(&error) && answered.elapsed() <= LONGEST_SILENCE => {}
            Err(error) => return Err(error),
        }
    }
}

/// Retries transient errors until `limit` after the first one.
pub(crate) async fn retry<T>(
    limit: Duration,
    console: &Console,
    attempt: impl AsyncFn() -> anyhow::Result<T>,
    is_transient: impl Fn(&anyhow::Error) -> bool,
) -> anyhow::Result<T> {
    let mut end = None;
    let mut pauses = growing(FIRST_PAUSE, 2.0, LONGEST_PAUSE);
    loop {
        let error = match attempt().await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        // From the first failure, whatever the duration of the attempt.
        let end = *end.get_or_insert_with(|| Deadline::after(limit));
        let pause = pauses.next().unwrap_or(LONGEST_PAUSE);
        if !is_transient(&error) || end.remaining() <= pause {
            return Err(error);
        }
        console.log(format_args!(
            "{}; retrying in {} s",
            Chain(error.as_ref()),
            pause.as_secs()
        ));
        sleep(pause).await;
    }
}

#[cfg(test)]
mod tests {
    use std::iter::repeat;

    use super::*;

    #[tokio::test]
    async fn an_operation_is_followed_over_transient_errors_to_its_end() {
        let mut looks = vec![Ok(Some("done")), Err("busy"), Ok(None)];
        let ended = follow(
            repeat(Duration::ZERO),
            async || looks.pop().unwrap_or(Err("asked too often")),
            |error| *error == "busy",
        );
        assert_eq!(ended.await, Ok("done"));
    }

    #[tokio::test]
    async fn a_rejection_ends_the_wait() {
        let ended = follow(
            repeat(Duration::ZERO),
            async || Err::<Option<()>, _>("refused"),
            |error| *error == "busy",
        );
        assert_eq!(ended.await, Err("refused"));
    }

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let pauses = growing(Duration::from_secs(1), 2.0, Duration::from_secs(8));
        let seconds: Vec<_> = pauses.take(6).map(|pause| pause.as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 8, 8]);
    }
}
