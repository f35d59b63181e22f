//! Delays the answers to failed authentication, longer each time. A request with the right password is never delayed.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use super::connection::Client;

/// Failures that are answered at once: a typing error.
const FREE: u32 = 3;
const FIRST_DELAY: Duration = Duration::from_millis(250);
/// A client without failures for this long starts anew.
const FORGOTTEN: Duration = Duration::from_mins(10);
/// Clients that are counted one by one. All others share one count.
const CLIENTS: usize = 4096;
/// How many answers are delayed at a time.
const WAITING: usize = 64;

/// Counts failed authentication by client.
#[derive(Debug)]
pub(super) struct AuthenticationThrottle {
    longest: Duration,
    known: Mutex<HashMap<Option<Client>, Failures>>,
    turns: Arc<Semaphore>,
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Instant,
}

/// When a failed authentication is answered.
#[derive(Debug)]
pub(super) enum Delay {
    /// At once.
    Now,
    /// After this time. The permit is held until then.
    After(Duration, OwnedSemaphorePermit),
    /// At once, because too many answers are delayed already. The connection is closed, so that the next attempt costs
    /// a new one.
    HangUp,
}

impl AuthenticationThrottle {
    /// No answer is delayed longer than `longest`. Zero means no delay at all.
    pub(super) fn new(longest: Duration) -> Self {
        Self {
            longest,
            known: Mutex::default(),
            turns: Arc::new(Semaphore::new(WAITING)),
        }
    }

    /// Notes that a client has failed once more.
    pub(super) fn refuse(&self, client: Option<Client>, now: Instant) -> Delay {
        if self.longest.is_zero() {
            return Delay::Now;
        }
        let count = self.count(client, now);
        let Some(step) = count.checked_sub(FREE + 1) else {
            return Delay::Now;
        };
        let delay = FIRST_DELAY
            .saturating_mul(2_u32.saturating_pow(step))
            .min(self.longest);
        match self.turns.clone().try_acquire_owned() {
            Ok(turn) => Delay::After(delay, turn),
            Err(_) => Delay::HangUp,
        }
    }

    fn count(&self, client: Option<Client>, now: Instant) -> u32 {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = |failures: &Failures| now.duration_since(failures.last) < FORGOTTEN;
        let mut client = client;
        if known.len() >= CLIENTS && !known.contains_key(&client) {
            known.retain(|_, failures| is_fresh(failures));
            if known.len() >= CLIENTS {
                client = None;
            }
        }
        let failures = known.entry(client).or_insert(Failures {
            count: 0,
            last: now,
        });
        if !is_fresh(failures) {
            failures.count = 0;
        }
        failures.count = failures.count.saturating_add(1);
        failures.last = now;
        failures.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(5);

    fn client(number: u32) -> Client {
        Client::at((number.to_be_bytes(), 5).into())
    }

    fn delay(delay: &Delay) -> Duration {
        match delay {
            Delay::Now => Duration::ZERO,
            Delay::After(delay, _) => *delay,
            Delay::HangUp => panic!("no other client waits"),
        }
    }

    #[tokio::test]
    async fn a_client_waits_longer_each_time_and_others_do_not() {
        let (throttle, now) = (AuthenticationThrottle::new(LONGEST), Instant::now());
        let delays = [0, 0, 0, 250, 500, 1000, 2000, 4000, 5000, 5000];
        for expected in delays {
            let reported = delay(&throttle.refuse(Some(client(1)), now));
            assert_eq!(reported, Duration::from_millis(expected));
        }
        assert!(delay(&throttle.refuse(Some(client(2)), now)).is_zero());
        let later = now + FORGOTTEN;
        assert!(
            delay(&throttle.refuse(Some(client(1)), later)).is_zero(),
            "it is forgotten"
        );
        assert!(
            delay(&AuthenticationThrottle::new(Duration::ZERO).refuse(Some(client(1)), now))
                .is_zero()
        );
    }

    #[tokio::test]
    async fn neither_the_table_nor_the_queue_grows_without_end() {
        let (throttle, now) = (AuthenticationThrottle::new(LONGEST), Instant::now());
        for number in 0..2 * u32::try_from(CLIENTS).unwrap() {
            throttle.refuse(Some(client(number)), now);
        }
        assert!(throttle.known.lock().unwrap().len() <= CLIENTS + 1);

        let mut waiting = Vec::new();
        for _ in 0..WAITING + usize::try_from(FREE).unwrap() {
            waiting.push(throttle.refuse(Some(client(1)), now));
        }
        let last = throttle.refuse(Some(client(1)), now);
        assert!(matches!(last, Delay::HangUp), "{last:?}");
        waiting.clear();
        let next = throttle.refuse(Some(client(1)), now);
        assert!(matches!(next, Delay::After(..)), "{next:?}");
    }
}
