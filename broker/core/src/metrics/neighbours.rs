//! What is asked of Director, UAA, Cloud Controller and the others.

use odb_clients::http::{Attempt, AttemptOutcome, Observer, Service};
use prometheus::{HistogramVec, IntCounterVec};

use super::{ANSWERS, Maker};

/// Calls to the neighbours. Each attempt counts.
#[derive(Debug)]
pub struct NeighbourMetrics {
    calls: IntCounterVec,
    duration: HistogramVec,
    retries: IntCounterVec,
}

impl NeighbourMetrics {
    pub(super) fn new(made: &Maker) -> Self {
        let metrics = Self {
            calls: made.counters(
                "odb_neighbour_calls_total",
                "Calls to neighbours, each attempt counted",
                &["neighbour", "status"],
            ),
            duration: made.histograms(
                "odb_neighbour_call_duration_seconds",
                "Time of one attempt at a call to a neighbour",
                ANSWERS,
                &["neighbour"],
            ),
            retries: made.counters(
                "odb_neighbour_call_retries_total",
                "Attempts at a call to a neighbour after which it was tried again",
                &["neighbour"],
            ),
        };
        for neighbour in Service::ALL {
            metrics.retries.with_label_values(&[neighbour.name()]);
        }
        metrics
    }
}

impl Observer for NeighbourMetrics {
    fn observe(&self, attempt: &Attempt) {
        let neighbour = attempt.service.name();
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
        self.calls.with_label_values(&[neighbour, status]).inc();
        self.duration
            .with_label_values(&[neighbour])
            .observe(attempt.taken.as_secs_f64());
        if attempt.is_repeated {
            self.retries.with_label_values(&[neighbour]).inc();
        }
    }
}
