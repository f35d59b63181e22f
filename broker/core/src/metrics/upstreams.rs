//! The metrics of calls to Director, UAA, Cloud Controller and other upstreams.

use odb_clients::http::{Attempt, AttemptOutcome, Observer, Service};
use prometheus::{HistogramVec, IntCounterVec};

use super::{ANSWERS, Maker};

/// Calls to the upstreams. Each attempt counts.
#[derive(Debug)]
pub struct UpstreamMetrics {
    calls: IntCounterVec,
    duration: HistogramVec,
    retries: IntCounterVec,
}

impl UpstreamMetrics {
    pub(super) fn new(made: &Maker) -> Self {
        let metrics = Self {
            calls: made.counters(
                "odb_upstream_calls_total",
                "Calls to upstreams, each attempt counted",
                &["upstream", "status"],
            ),
            duration: made.histograms(
                "odb_upstream_call_duration_seconds",
                "Time of one attempt at a call to an upstream",
                ANSWERS,
                &["upstream"],
            ),
            retries: made.counters(
                "odb_upstream_call_retries_total",
                "Attempts at a call to an upstream after which it was tried again",
                &["upstream"],
            ),
        };
        for upstream in Service::ALL {
            metrics.retries.with_label_values(&[upstream.name()]);
        }
        metrics
    }
}

impl Observer for UpstreamMetrics {
    fn observe(&self, attempt: &Attempt) {
        let upstream = attempt.service.name();
        let status = match attempt.outcome {
            AttemptOutcome::Answered(status) => match status.as_u16() / 100 {
                1 => "1xx",
                2 => "2xx",
                3 => "3xx",
                4 => "4xx",
                _ => "5xx",
            },
            AttemptOutcome::Failed => "none",
        };
        self.calls.with_label_values(&[upstream, status]).inc();
        self.duration
            .with_label_values(&[upstream])
            .observe(attempt.taken.as_secs_f64());
        if attempt.is_repeated {
            self.retries.with_label_values(&[upstream]).inc();
        }
    }
}
