//! The metrics of adapter calls.

use std::time::{Duration, Instant};

use odb_adapter_sdk::protocol::Subcommand;
use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge};

use super::{ANSWERS, Maker};

/// Calls of the service adapter.
#[derive(Debug)]
pub struct AdapterMetrics {
    calls: IntCounterVec,
    duration: HistogramVec,
    running: IntGauge,
    waiting: IntGauge,
    wait: Histogram,
    orphans: IntCounter,
}

/// The outcome of an adapter call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdapterOutcome {
    /// It ended well.
    Answered,
    /// The adapter failed.
    Failed,
    /// Its time was up.
    Hung,
    /// It printed more than is accepted.
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
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Running,
    Ended,
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

    /// Counts a call that waits for its turn.
    #[must_use]
    pub fn wait(&self, call: Subcommand) -> AdapterCall<'_> {
        self.waiting.inc();
        AdapterCall {
            metrics: self,
            call,
            since: Instant::now(),
            stage: Stage::Waiting,
        }
    }

    /// Processes that had left their group were killed.
    pub fn killed_orphans(&self, count: usize) {
        self.orphans.inc_by(count as u64);
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
    /// The call starts now.
    pub fn run(&mut self) {
        self.metrics
            .wait
            .observe(self.since.elapsed().as_secs_f64());
        self.turn_to(Stage::Running);
        self.since = Instant::now();
    }

    /// How long it has waited, or run.
    pub fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    /// It came to an end.
    pub fn ended(mut self, outcome: AdapterOutcome) {
        self.end(outcome);
    }

    fn end(&mut self, outcome: AdapterOutcome) {
        let call = self.call.name();
        if self.stage == Stage::Running {
            self.metrics
                .duration
                .with_label_values(&[call])
                .observe(self.since.elapsed().as_secs_f64());
        }
        self.metrics
            .calls
            .with_label_values(&[call, outcome.name()])
            .inc();
        self.turn_to(Stage::Ended);
    }

    fn turn_to(&mut self, stage: Stage) {
        if let Some(gauge) = self.gauge() {
            gauge.dec();
        }
        self.stage = stage;
        if let Some(gauge) = self.gauge() {
            gauge.inc();
        }
    }

    fn gauge(&self) -> Option<&IntGauge> {
        match self.stage {
            Stage::Waiting => Some(&self.metrics.waiting),
            Stage::Running => Some(&self.metrics.running),
            Stage::Ended => None,
        }
    }
}

impl Drop for AdapterCall<'_> {
    fn drop(&mut self) {
        if self.stage != Stage::Ended {
            self.end(AdapterOutcome::Abandoned);
        }
    }
}
