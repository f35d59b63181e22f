//! Waiting for a condition.

use std::time::{Duration, Instant};

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(25);

/// Polls until the condition holds, and returns the result. `look` returns its observation while the condition does not
/// hold; after the deadline the last one is in the message of the failing test.
pub async fn eventually<T>(
    what: &str,
    within: Duration,
    mut look: impl AsyncFnMut() -> Result<T, String>,
) -> T {
    let until = Instant::now() + within;
    loop {
        match look().await {
            Ok(found) => return found,
            Err(seen) if Instant::now() >= until => {
                panic!("not within {within:?}: {what}; last seen: {seen}")
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
