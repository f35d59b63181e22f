//! The latest result of a costly read. One request at a time makes a new one, and the others wait for it.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;

#[derive(Debug)]
pub(super) struct Latest<T>(Mutex<Option<Dated<T>>>);

/// A result with its time.
#[derive(Debug)]
pub(super) struct Dated<T> {
    pub(super) at: Timestamp,
    pub(super) value: Arc<T>,
}

impl<T> Clone for Dated<T> {
    fn clone(&self) -> Self {
        let (at, value) = (self.at, self.value.clone());
        Self { at, value }
    }
}

impl<T> Default for Latest<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Latest<T> {
    /// The latest result, or a new one if that is older. An error is not kept.
    pub(super) async fn get<E>(
        &self,
        longest: SignedDuration,
        make: impl Future<Output = Result<T, E>>,
    ) -> Result<Dated<T>, E> {
        let mut latest = self.0.lock().await;
        let is_fresh = |dated: &&Dated<T>| Timestamp::now().duration_since(dated.at) < longest;
        if let Some(dated) = latest.as_ref().filter(is_fresh) {
            return Ok(dated.clone());
        }
        let value = Arc::new(make.await?);
        let at = Timestamp::now();
        let dated = Dated { at, value };
        *latest = Some(dated.clone());
        Ok(dated)
    }

    /// The next request makes a new one.
    pub(super) async fn forget(&self) {
        *self.0.lock().await = None;
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[tokio::test]
    async fn a_result_is_kept_for_its_time_and_an_error_is_not() {
        let latest = Latest::default();
        let long = SignedDuration::from_hours(1);
        let failed = latest.get(long, async { Err::<u8, u8>(7) }).await;
        assert_eq!(failed.unwrap_err(), 7);
        for (longest, made, expected) in [
            (long, 1, 1),
            (long, 2, 1),
            (SignedDuration::ZERO, 3, 3),
            (long, 4, 3),
        ] {
            let got = latest
                .get(longest, async { Ok::<_, Infallible>(made) })
                .await;
            assert_eq!(*got.unwrap().value, expected);
        }
        latest.forget().await;
        let got = latest.get(long, async { Ok::<_, Infallible>(5) }).await;
        assert_eq!(*got.unwrap().value, 5);
    }
}
