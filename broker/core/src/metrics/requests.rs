//! The metrics of requests to the broker.

use std::time::Duration;

use prometheus::{HistogramVec, IntCounter, IntCounterVec, IntGauge};

use super::{ANSWERS, Maker};

/// The methods with a label value of their own; a client may send any word.
const METHODS: &[&str] = &["GET", "PUT", "PATCH", "DELETE", "POST", "HEAD", "OPTIONS"];

/// The metrics of requests to the broker.
#[derive(Debug)]
pub struct RequestMetrics {
    total: IntCounterVec,
    duration: HistogramVec,
    in_flight: IntGauge,
    failed_authentications: IntCounter,
}

/// A request that has no answer yet. Dropped, it is not in flight any more.
#[derive(Debug)]
pub struct RequestInFlight(IntGauge);

impl RequestMetrics {
    pub(super) fn new(made: &Maker) -> Self {
        Self {
            total: made.counters(
                "odb_http_requests_total",
                "Requests that were answered",
                &["route", "method", "status"],
            ),
            duration: made.histograms(
                "odb_http_request_duration_seconds",
                "Time from a request's arrival to its answer",
                ANSWERS,
                &["route", "method"],
            ),
            in_flight: made.gauge(
                "odb_http_requests_in_flight",
                "Requests that have no answer yet",
            ),
            failed_authentications: made.counter(
                "odb_http_failed_authentications_total",
                "Requests with wrong or without credentials",
            ),
        }
    }

    /// A request has arrived.
    #[must_use]
    pub fn begin(&self) -> RequestInFlight {
        self.in_flight.inc();
        RequestInFlight(self.in_flight.clone())
    }

    /// A request was answered. `route` is the route's template, never the requested path.
    pub fn answered(&self, route: &str, method: &str, status: u16, taken: Duration) {
        let known = METHODS.iter().find(|known| **known == method);
        let method = known.copied().unwrap_or("other");
        self.total
            .with_label_values(&[route, method, &status.to_string()])
            .inc();
        self.duration
            .with_label_values(&[route, method])
            .observe(taken.as_secs_f64());
    }

    /// Counts a failed authentication.
    pub fn failed_authentication(&self) {
        self.failed_authentications.inc();
    }
}

impl Drop for RequestInFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}
