//! What is done to service instances.

use std::time::Instant;

use prometheus::{HistogramVec, IntCounterVec, IntGauge, IntGaugeVec};

use super::Maker;
use crate::kind::OperationKind;

/// Operations take minutes: one under ten seconds did nothing, one over two hours is stuck.
const OPERATIONS: &[f64] = &[
    10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0,
];

/// Operations on service instances.
#[derive(Debug)]
pub struct OperationMetrics {
    started: IntCounterVec,
    ended: IntCounterVec,
    in_flight: IntGaugeVec,
    duration: HistogramVec,
}

/// Where an operation was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationOrigin {
    /// In this process.
    Here,
    /// Before this process: it was counted then, and nobody knows how long it has taken.
    Elsewhere,
}

/// What an operation came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationOutcome {
    /// It did what it should.
    Succeeded,
    /// It did not.
    Failed,
    /// It was never handed over to the Director.
    NeverSubmitted,
}

/// An operation that is followed to its end. Dropped, it is not in flight any more: another process goes on with it, or
/// another operation has taken its place.
#[derive(Debug)]
pub struct FollowedOperation<'m> {
    metrics: &'m OperationMetrics,
    kind: OperationKind,
    origin: OperationOrigin,
    since: Instant,
    in_flight: IntGauge,
}

impl OperationMetrics {
    pub(super) fn new(made: &Maker) -> Self {
        let metrics = Self {
            started: made.counters(
                "odb_operations_started_total",
                "Operations that were handed over",
                &["operation"],
            ),
            ended: made.counters(
                "odb_operations_ended_total",
                "Operations that came to an end",
                &["operation", "outcome"],
            ),
            in_flight: made.gauges(
                "odb_operations_in_flight",
                "Operations that are being followed, those of an earlier process included",
                &["operation"],
            ),
            duration: made.histograms(
                "odb_operation_duration_seconds",
                "Time from an operation's hand-over to its end, of those that this process began",
                OPERATIONS,
                &["operation", "outcome"],
            ),
        };
        // A rate needs a zero to begin with.
        for kind in OperationKind::ALL {
            let kind = kind.to_string();
            metrics.started.with_label_values(&[&kind]);
            metrics.in_flight.with_label_values(&[&kind]);
            for outcome in OperationOutcome::ALL {
                metrics.ended.with_label_values(&[&kind, outcome.name()]);
            }
        }
        metrics
    }

    /// An operation is followed from now on.
    #[must_use]
    pub fn follow(&self, kind: OperationKind, origin: OperationOrigin) -> FollowedOperation<'_> {
        let name = kind.to_string();
        if origin == OperationOrigin::Here {
            self.started.with_label_values(&[&name]).inc();
        }
        let in_flight = self.in_flight.with_label_values(&[&name]);
        in_flight.inc();
        FollowedOperation {
            metrics: self,
            kind,
            origin,
            since: Instant::now(),
            in_flight,
        }
    }
}

impl OperationOutcome {
    const ALL: [Self; 3] = [Self::Succeeded, Self::Failed, Self::NeverSubmitted];

    fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::NeverSubmitted => "never-submitted",
        }
    }
}

impl FollowedOperation<'_> {
    /// It came to an end.
    pub fn ended(&self, outcome: OperationOutcome) {
        let labels = [&self.kind.to_string(), outcome.name()];
        self.metrics.ended.with_label_values(&labels).inc();
        if self.origin == OperationOrigin::Here {
            self.metrics
                .duration
                .with_label_values(&labels)
                .observe(self.since.elapsed().as_secs_f64());
        }
    }
}

impl Drop for FollowedOperation<'_> {
    fn drop(&mut self) {
        self.in_flight.dec();
    }
}
