//! Operations on service instances. The label `plan` is the name of an offered plan, otherwise [`OTHER_PLAN`].

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
    time::Instant,
};

use jiff::Timestamp;
use odb_api_types::kind::OperationKind;
use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec};

use super::{Counted, Maker, Metrics};

/// Operations take minutes: one under ten seconds did nothing, one over two hours is stuck.
const OPERATIONS: &[f64] = &[
    10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0,
];

/// The plan of an operation whose plan is unknown or no longer offered.
pub(super) const OTHER_PLAN: &str = "other";

#[derive(Debug)]
pub(super) struct OperationMetrics {
    started: IntCounterVec,
    ended: IntCounterVec,
    in_flight: IntGaugeVec,
    duration: HistogramVec,
    oldest_start: IntGaugeVec,
    starts: Mutex<HashMap<OperationKind, Starts>>,
}

/// How many operations in flight began at which second since 1970.
type Starts = BTreeMap<i64, usize>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationOrigin {
    Here,
    Redirected {
        since: Instant,
    },
    /// In an earlier process, which counted it; its duration is unknown.
    Elsewhere,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationOutcome {
    Succeeded,
    Failed,
    Cancelled,
    NeverSubmitted,
}

/// An operation until its end. When dropped, it no longer counts as in flight: another process continues it, or another
/// operation has replaced it.
#[derive(Debug)]
pub struct FollowedOperation<'m> {
    metrics: &'m OperationMetrics,
    kind: OperationKind,
    plan: String,
    origin: OperationOrigin,
    since: Instant,
    began: Timestamp,
    _in_flight: Counted,
}

impl OperationMetrics {
    pub(super) fn new(made: &Maker) -> Self {
        let metrics = Self {
            started: made.counters(
                "odb_operations_started_total",
                "Operations that were submitted",
                &["operation", "plan"],
            ),
            ended: made.counters(
                "odb_operations_ended_total",
                "Operations that came to an end",
                &["operation", "plan", "outcome"],
            ),
            in_flight: made.gauges(
                "odb_operations_in_flight",
                "Operations that are being followed, those of an earlier process included",
                &["operation", "plan"],
            ),
            duration: made.histograms(
                "odb_operation_duration_seconds",
                "Time from an operation's submission to its end, of those that this process began",
                OPERATIONS,
                &["operation", "plan", "outcome"],
            ),
            oldest_start: made.gauges(
                "odb_operations_oldest_start_timestamp_seconds",
                "When the oldest operation in flight began, in seconds since 1970; 0 if there is none",
                &["operation"],
            ),
            starts: Mutex::default(),
        };
        for kind in OperationKind::ALL {
            metrics.oldest_start.with_label_values(&[&kind.to_string()]);
        }
        metrics.expect_plan(OTHER_PLAN);
        metrics
    }

    fn expect_plan(&self, plan: &str) {
        for kind in OperationKind::ALL {
            let kind = kind.to_string();
            self.started.with_label_values(&[&kind, plan]);
            self.in_flight.with_label_values(&[&kind, plan]);
            for outcome in OperationOutcome::ALL {
                self.ended.with_label_values(&[&kind, plan, outcome.name()]);
            }
        }
    }

    fn change_starts(&self, kind: OperationKind, change: impl FnOnce(&mut Starts)) {
        let mut starts = self.starts.lock().unwrap_or_else(PoisonError::into_inner);
        let of_kind = starts.entry(kind).or_default();
        change(of_kind);
        let oldest = of_kind.first_key_value().map_or(0, |(second, _)| *second);
        // Under the lock: a later change must not be overwritten by an earlier one.
        self.oldest_start
            .with_label_values(&[&kind.to_string()])
            .set(oldest);
    }
}

impl Metrics {
    /// There may be operations on this plan: a rate needs a zero to begin with.
    pub fn expect_operations(&self, plan: &str) {
        self.operations.expect_plan(plan);
    }

    /// An operation is followed; it started, here or elsewhere, at `began`. `plan` is the name of its plan if it is
    /// offered.
    #[must_use]
    pub fn follow_operation(
        &self,
        kind: OperationKind,
        plan: Option<&str>,
        origin: OperationOrigin,
        began: Timestamp,
    ) -> FollowedOperation<'_> {
        let metrics = &self.operations;
        let name = kind.to_string();
        let plan = plan.unwrap_or(OTHER_PLAN);
        let labels = [name.as_str(), plan];
        if origin == OperationOrigin::Here {
            metrics.started.with_label_values(&labels).inc();
        }
        metrics.change_starts(kind, |starts| {
            *starts.entry(began.as_second()).or_default() += 1;
        });
        FollowedOperation {
            metrics,
            kind,
            plan: plan.to_owned(),
            origin,
            since: match origin {
                OperationOrigin::Redirected { since } => since,
                OperationOrigin::Here | OperationOrigin::Elsewhere => Instant::now(),
            },
            began,
            _in_flight: Counted::in_gauge(metrics.in_flight.with_label_values(&labels)),
        }
    }
}

impl OperationOutcome {
    const ALL: [Self; 4] = [
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
        Self::NeverSubmitted,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::NeverSubmitted => "never-submitted",
        }
    }
}

impl FollowedOperation<'_> {
    pub fn ended(&self, outcome: OperationOutcome) {
        let labels = [&self.kind.to_string(), &self.plan, outcome.name()];
        self.metrics.ended.with_label_values(&labels).inc();
        if self.origin != OperationOrigin::Elsewhere {
            self.metrics
                .duration
                .with_label_values(&labels)
                .observe(self.since.elapsed().as_secs_f64());
        }
    }
}

impl Drop for FollowedOperation<'_> {
    fn drop(&mut self) {
        let second = self.began.as_second();
        self.metrics.change_starts(self.kind, |starts| {
            if let Some(count) = starts.get_mut(&second) {
                *count -= 1;
                if *count == 0 {
                    starts.remove(&second);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;

    #[test]
    fn the_start_of_the_oldest_operation_of_each_kind_is_shown_until_it_ends() {
        let metrics = Metrics::new();
        let shown = |kind: &str| {
            let name =
                format!("odb_operations_oldest_start_timestamp_seconds{{operation=\"{kind}\"}} ");
            let text = metrics.text();
            let value = text.lines().find_map(|line| line.strip_prefix(&name));
            value.map(str::to_owned)
        };
        let follow = |kind, second| {
            let began = Timestamp::from_second(second).expect("it is in range");
            metrics.follow_operation(kind, None, OperationOrigin::Elsewhere, began)
        };
        assert_eq!(shown("upgrade").as_deref(), Some("0"));

        let later = follow(OperationKind::Upgrade, 3000);
        let oldest = follow(OperationKind::Upgrade, 1000);
        let as_old = follow(OperationKind::Upgrade, 1000);
        let create = follow(OperationKind::Create, 2000);
        assert_eq!(shown("upgrade").as_deref(), Some("1000"));
        assert_eq!(shown("create").as_deref(), Some("2000"));

        drop(oldest);
        assert_eq!(shown("upgrade").as_deref(), Some("1000"));
        drop(as_old);
        assert_eq!(shown("upgrade").as_deref(), Some("3000"));
        drop(later);
        assert_eq!(shown("upgrade").as_deref(), Some("0"));
        assert_eq!(shown("create").as_deref(), Some("2000"));
        drop(create);
        assert_eq!(shown("create").as_deref(), Some("0"));
    }
}
