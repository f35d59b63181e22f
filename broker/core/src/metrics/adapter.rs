//! The metrics of adapter calls.

use std::time::{Duration, Instant};

use odb_adapter_sdk::protocol::Subcommand;
use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge};

use super::{ANSWERS, Counted, Maker, Metrics};

#[derive(Debug)]
pub(super) struct AdapterMetrics {
    calls: IntCounterVec,
    duration: HistogramVec,
    running: IntGauge,
    waiting: IntGauge,
    wait: Histogram,
    orphans: IntCounter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdapterOutcome {
    Answered,
    Failed,
    Hung,
    TooMuchOutput,
    /// It could not be started, or not be read.
    Broken,
    /// Too many others ran all the time.
    NoLocation,
    /// Its request has ended.
    Abandoned,
}

/// A call that waits for its turn, then runs. If it is dropped without an outcome, it was abandoned.
#[derive(Debug)]
pub struct AdapterCall<'m> {
    metrics: &'m AdapterMetrics,
    call: Subcommand,
    since: Instant,
    is_running: bool,
    counted: Option<Counted>,
}

impl AdapterMetrics {
    pub(super) fn new(made: &Maker) -> Self {
        let metrics = Self {
            calls: made.counters(
                "odb_adapter_calls_total",
                "Calls of the service adapter that came to an end",
                &["call", "outcome"],
            ),
            duration: made.histograms(
                "odb_adapter_call_duration_seconds",
                "Time that a call of the service adapter ran",
                ANSWERS,
                &["call"],
            ),
            running: made.gauge("odb_adapter_calls_running", "Calls of the service adapter that run"),
            waiting: made.gauge(
                "odb_adapter_calls_waiting",
                "Calls of the service adapter that wait until others have ended",
            ),
            wait: made.histogram(
                "odb_adapter_wait_seconds",
                "Time that a call of the service adapter waited until it could run",
                ANSWERS,
            ),
            orphans: made.counter(
                "odb_adapter_residual_processes_killed_total",
                "Processes that adapters left behind outside their process group and that were killed",
            ),
        };
        for call in Subcommand::ALL {
            for outcome in AdapterOutcome::ALL {
                let labels = [call.name(), outcome.name()];
                metrics.calls.with_label_values(&labels);
            }
        }
        metrics
    }
}

impl Metrics {
    #[must_use]
    pub fn adapter_call(&self, call: Subcommand) -> AdapterCall<'_> {
        AdapterCall {
            metrics: &self.adapter,
            call,
            since: Instant::now(),
            is_running: false,
            counted: Some(Counted::in_gauge(self.adapter.waiting.clone())),
        }
    }

    pub fn killed_orphans(&self, count: usize) {
        self.adapter.orphans.inc_by(count as u64);
    }
}

impl AdapterOutcome {
    const ALL: [Self; 7] = [
        Self::Answered,
        Self::Failed,
        Self::Hung,
        Self::TooMuchOutput,
        Self::Broken,
        Self::NoLocation,
        Self::Abandoned,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Failed => "failed",
            Self::Hung => "hung",
            Self::TooMuchOutput => "too-much-output",
            Self::Broken => "broken",
            Self::NoLocation => "no-place",
            Self::Abandoned => "abandoned",
        }
    }
}

impl AdapterCall<'_> {
    pub fn run(&mut self) {
        let wait = &self.metrics.wait;
        wait.observe(self.since.elapsed().as_secs_f64());
        self.is_running = true;
        self.since = Instant::now();
        self.counted = Some(Counted::in_gauge(self.metrics.running.clone()));
    }

    pub fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    pub fn ended(mut self, outcome: AdapterOutcome) {
        self.end(outcome);
    }

    fn end(&mut self, outcome: AdapterOutcome) {
        let call = self.call.name();
        if self.is_running {
            let duration = self.metrics.duration.with_label_values(&[call]);
            duration.observe(self.since.elapsed().as_secs_f64());
        }
        let labels = [call, outcome.name()];
        self.metrics.calls.with_label_values(&labels).inc();
        self.counted = None;
    }
}

impl Drop for AdapterCall<'_> {
    fn drop(&mut self) {
        if self.counted.is_some() {
            self.end(AdapterOutcome::Abandoned);
        }
    }
}
