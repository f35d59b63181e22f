//! Keeps clients that do not authenticate from filling the log: beyond a rate their requests are counted, and one line
//! sums them up.

use std::{
    cell::Cell,
    cmp::Reverse,
    collections::HashMap,
    rc::Rc,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use actix_web::{HttpMessage, HttpRequest, dev::ServiceRequest, web::Data};
use odb_api_types::code::Code;
use odb_core::operations::Lifecycle;
use tokio::time::Instant;

const IN_FULL: u64 = 20;
const PERIOD: Duration = Duration::from_mins(1);
/// How many addresses are counted separately in one period. There can be more: an attacker may have a complete network.
const ADDRESSES: usize = 256;
const NAMED: usize = 5;

/// Whether the lines of a request are left out, because the summary counts it. Shared by all that write such lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Summarized(Rc<Cell<bool>>);

impl Summarized {
    pub(super) fn is_set(&self) -> bool {
        self.0.get()
    }
}

#[derive(Clone, Debug)]
pub(super) struct UnauthenticatedLog {
    period: Arc<Mutex<Period>>,
    lifecycle: Lifecycle,
}

#[derive(Debug, Default)]
struct Period {
    begun: Option<Instant>,
    requests: u64,
    by_address: HashMap<String, u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    InFull,
    /// The first request of its period that is only counted: it must write the summary when the period ends.
    FirstCounted {
        period_ends: Instant,
    },
    Counted,
}

impl UnauthenticatedLog {
    pub(super) fn new(lifecycle: Lifecycle) -> Self {
        Self {
            period: Arc::default(),
            lifecycle,
        }
    }

    /// Notes a request that is refused before its client is authenticated. Beyond the rate its lines are left out.
    pub(super) fn note(request: &HttpRequest) {
        let Some(log) = request.app_data::<Data<Self>>() else {
            return;
        };
        let address = address(request);
        match lock(&log.period).note(&address, Instant::now()) {
            Entry::InFull => return,
            Entry::FirstCounted { period_ends } => log.sum_up_at(period_ends),
            Entry::Counted => {}
        }
        if let Some(summarized) = request.extensions().get::<Summarized>() {
            summarized.0.set(true);
        }
    }

    /// The summary is written at the end of the period, and not lost when the broker stops before.
    fn sum_up_at(&self, period_ends: Instant) {
        let (period, stopping) = (self.period.clone(), self.lifecycle.stopping());
        drop(self.lifecycle.go_on(async move {
            let _ = tokio::time::timeout_at(period_ends, stopping.cancelled()).await;
            let ended = std::mem::take(&mut *lock(&period));
            ended.log();
        }));
    }
}

impl Period {
    fn note(&mut self, address: &str, now: Instant) -> Entry {
        // A period without omitted lines has no summary.
        if self.requests <= IN_FULL
            && self
                .begun
                .is_some_and(|begun| now.duration_since(begun) >= PERIOD)
        {
            *self = Self::default();
        }
        let begun = *self.begun.get_or_insert(now);
        self.requests += 1;
        if self.requests <= IN_FULL {
            return Entry::InFull;
        }
        if let Some(count) = self.by_address.get_mut(address) {
            *count += 1;
        } else if self.by_address.len() < ADDRESSES {
            self.by_address.insert(address.to_owned(), 1);
        }
        if self.requests == IN_FULL + 1 {
            Entry::FirstCounted {
                period_ends: begun + PERIOD,
            }
        } else {
            Entry::Counted
        }
    }

    fn named(&self) -> String {
        let mut addresses: Vec<_> = self.by_address.iter().collect();
        addresses.sort_by_key(|(address, count)| (Reverse(**count), address.as_str()));
        let named = addresses.iter().take(NAMED);
        let named: Vec<String> = named
            .map(|(address, count)| format!("{address} ({count})"))
            .collect();
        named.join(", ")
    }

    fn log(&self) {
        tracing::warn!(
            code = %Code::Unauthorized,
            requests = self.requests - self.requests.min(IN_FULL),
            client.addresses = self.named(),
            "more requests without valid credentials; the log has the first {IN_FULL} of a minute in full"
        );
    }
}

/// Where a request comes from; behind a router this is the router.
pub(super) fn address(request: &HttpRequest) -> String {
    request
        .peer_addr()
        .map(|address| address.ip().to_canonical().to_string())
        .unwrap_or_default()
}

pub(super) fn mark(request: &ServiceRequest) -> Summarized {
    let summarized = Summarized::default();
    request.extensions_mut().insert(summarized.clone());
    summarized
}

fn lock(period: &Mutex<Period>) -> MutexGuard<'_, Period> {
    period.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_rate_requests_are_counted_and_summed_up_once() {
        let (mut period, now) = (Period::default(), Instant::now());
        for _ in 0..IN_FULL {
            assert_eq!(period.note("10.0.0.1", now), Entry::InFull);
        }
        let first = period.note("10.0.0.2", now + PERIOD / 2);
        let period_ends = now + PERIOD;
        assert_eq!(first, Entry::FirstCounted { period_ends });
        // The task that sums up may be late.
        for _ in 0..3 {
            assert_eq!(period.note("10.0.0.1", now + PERIOD * 2), Entry::Counted);
        }
        assert_eq!(period.requests, IN_FULL + 4);
        assert_eq!(period.named(), "10.0.0.1 (3), 10.0.0.2 (1)");
    }

    #[test]
    fn a_quiet_period_ends_by_itself() {
        let (mut period, now) = (Period::default(), Instant::now());
        for _ in 0..IN_FULL {
            period.note("10.0.0.1", now);
        }
        assert_eq!(period.note("10.0.0.1", now + PERIOD), Entry::InFull);
        assert_eq!(period.requests, 1);
    }

    #[test]
    fn a_network_of_attackers_costs_no_memory_and_no_long_line() {
        let (mut period, now) = (Period::default(), Instant::now());
        for number in 0..4 * ADDRESSES {
            period.note(&format!("10.0.{}.{}", number / 256, number % 256), now);
        }
        assert_eq!(period.by_address.len(), ADDRESSES);
        assert_eq!(period.named().matches(", ").count(), NAMED - 1);
    }

    #[tokio::test]
    async fn the_summary_is_written_when_the_period_ends_or_the_broker_stops() {
        let lifecycle = Lifecycle::new(tokio::runtime::Handle::current());
        let log = UnauthenticatedLog::new(lifecycle.clone());
        lock(&log.period).requests = IN_FULL + 1;
        log.sum_up_at(Instant::now());
        while lock(&log.period).requests > 0 {
            tokio::task::yield_now().await;
        }

        lock(&log.period).requests = IN_FULL + 1;
        log.sum_up_at(Instant::now() + PERIOD);
        assert_eq!(lifecycle.drain(PERIOD).await, 0);
        assert_eq!(lock(&log.period).requests, 0);
    }
}
