//! Where requests wait for each other.

use std::time::Instant;

use prometheus::{HistogramVec, IntGauge, IntGaugeVec};

use super::{ANSWERS, Maker};

/// Waiting requests, by queue, with their durations. Calls of the adapter have metrics of their own.
#[derive(Debug)]
pub struct QueueMetrics {
    waiting: IntGaugeVec,
    wait: HistogramVec,
}

/// The queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// A service instance on which another owner works.
    Instance,
    /// The submission of work to the Director, whose concurrency is limited.
    Submission,
}

/// A waiting request. The wait ends when it is dropped.
#[derive(Debug)]
pub struct Waiting<'m> {
    metrics: &'m QueueMetrics,
    queue: Queue,
    since: Instant,
    gauge: IntGauge,
}

impl QueueMetrics {
    pub(super) fn new(made: &Maker) -> Self {
        let metrics = Self {
            waiting: made.gauges(
                "odb_queue_waiting",
                "Requests and reconcilers that wait their turn",
                &["queue"],
            ),
            wait: made.histograms(
                "odb_queue_wait_seconds",
                "Time that requests and reconcilers waited their turn",
                ANSWERS,
                &["queue"],
            ),
        };
        for queue in [Queue::Instance, Queue::Submission] {
            metrics.waiting.with_label_values(&[queue.name()]);
            metrics.wait.with_label_values(&[queue.name()]);
        }
        metrics
    }

    /// Starts a wait.
    #[must_use]
    pub fn wait(&self, queue: Queue) -> Waiting<'_> {
        let gauge = self.waiting.with_label_values(&[queue.name()]);
        gauge.inc();
        Waiting {
            metrics: self,
            queue,
            since: Instant::now(),
            gauge,
        }
    }
}

impl Queue {
    fn name(self) -> &'static str {
        match self {
            Self::Instance => "instance",
            Self::Submission => "submission",
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.gauge.dec();
        self.metrics
            .wait
            .with_label_values(&[self.queue.name()])
            .observe(self.since.elapsed().as_secs_f64());
    }
}
