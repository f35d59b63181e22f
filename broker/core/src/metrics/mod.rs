//! The metrics of the process, in the text format of Prometheus (`docs/operators/reference/metrics.md` lists them).
//!
//! Like the log, metrics belong to the process: code that counts calls [`metrics`]. Labels come from enums, route
//! templates and the configuration, never from a request.

mod adapter;
mod operations;
mod process;

use std::{
    sync::LazyLock,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use odb_clients::http::{Attempt, AttemptOutcome, Observer, Service};
use prometheus::{
    Encoder, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, Registry, TextEncoder, core::Collector,
};

use adapter::AdapterMetrics;
use operations::OperationMetrics;
use process::ProcessMetrics;

pub use adapter::{AdapterCall, AdapterOutcome};
pub use operations::{FollowedOperation, OperationOrigin, OperationOutcome};

#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    adapter: AdapterMetrics,
    operations: OperationMetrics,
    process: ProcessMetrics,
    requests: IntCounterVec,
    request_duration: HistogramVec,
    requests_in_flight: IntGauge,
    failed_authentications: IntCounter,
    instances: IntGaugeVec,
    instances_counted: IntGauge,
    quota_limit: IntGaugeVec,
    quota_used: IntGaugeVec,
    queue_waiting: IntGaugeVec,
    queue_wait: HistogramVec,
    upstream_calls: IntCounterVec,
    upstream_duration: HistogramVec,
    upstream_retries: IntCounterVec,
    certificate_expiry: IntGaugeVec,
    certificate_reload_failed: IntGaugeVec,
}

/// Where requests wait for each other. Calls of the adapter have metrics of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// A service instance on which another request works.
    Instance,
    /// The submission of work to the Director, whose concurrency is limited.
    Submission,
}

impl Queue {
    fn name(self) -> &'static str {
        match self {
            Self::Instance => "instance",
            Self::Submission => "submission",
        }
    }
}

/// A waiting request. The wait ends when it is dropped.
#[derive(Debug)]
pub struct Waiting {
    _gauge: Counted,
    wait: Histogram,
    since: Instant,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.wait.observe(self.since.elapsed().as_secs_f64());
    }
}

/// Is counted in a gauge until it is dropped.
#[derive(Debug)]
pub struct Counted(IntGauge);

impl Counted {
    fn in_gauge(gauge: IntGauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The metrics of this process.
pub fn metrics() -> &'static Metrics {
    static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);
    &METRICS
}

/// The methods with a label value of their own; a client may send any word.
const METHODS: &[&str] = &["GET", "PUT", "PATCH", "DELETE", "POST", "HEAD", "OPTIONS"];

/// Answers take milliseconds with warm caches, and at most the request budget. In seconds.
const ANSWERS: &[f64] = &[
    0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 60.0,
];

impl Metrics {
    /// The `Content-Type` of [`Metrics::text`].
    pub const CONTENT_TYPE: &'static str = prometheus::TEXT_FORMAT;

    fn new() -> Self {
        let made = Maker(Registry::new());
        let metrics = Self {
            registry: made.0.clone(),
            adapter: AdapterMetrics::new(&made),
            operations: OperationMetrics::new(&made),
            process: ProcessMetrics::new(&made),
            requests: made.counters(
                "odb_http_requests_total",
                "Requests that were answered",
                &["route", "method", "status"],
            ),
            request_duration: made.histograms(
                "odb_http_request_duration_seconds",
                "Time from a request's arrival to its answer",
                ANSWERS,
                &["route", "method"],
            ),
            requests_in_flight: made.gauge(
                "odb_http_requests_in_flight",
                "Requests that have no answer yet",
            ),
            failed_authentications: made.counter(
                "odb_http_failed_authentications_total",
                "Requests with wrong or without credentials",
            ),
            instances: made.gauges(
                "odb_service_instances",
                "Service instances that the platform knows",
                &["plan", "state"],
            ),
            instances_counted: made.gauge(
                "odb_service_instances_counted_timestamp_seconds",
                "When the service instances were counted, in seconds since 1970; 0 if they never were",
            ),
            quota_limit: made.gauges(
                "odb_quota_limit",
                "How much of something there may be",
                &["scope", "plan", "resource"],
            ),
            quota_used: made.gauges(
                "odb_quota_used",
                "Usage of each limited resource",
                &["scope", "plan", "resource"],
            ),
            queue_waiting: made.gauges(
                "odb_queue_waiting",
                "Requests and reconcilers that wait their turn",
                &["queue"],
            ),
            queue_wait: made.histograms(
                "odb_queue_wait_seconds",
                "Time that requests and reconcilers waited their turn",
                ANSWERS,
                &["queue"],
            ),
            upstream_calls: made.counters(
                "odb_upstream_calls_total",
                "Calls to upstreams, each attempt counted",
                &["upstream", "status"],
            ),
            upstream_duration: made.histograms(
                "odb_upstream_call_duration_seconds",
                "Time of one attempt at a call to an upstream",
                ANSWERS,
                &["upstream"],
            ),
            upstream_retries: made.counters(
                "odb_upstream_call_retries_total",
                "Attempts at a call to an upstream after which it was tried again",
                &["upstream"],
            ),
            certificate_expiry: made.gauges(
                "odb_certificate_expiry_timestamp_seconds",
                "When a certificate expires, in seconds since 1970",
                &["certificate"],
            ),
            certificate_reload_failed: made.gauges(
                "odb_certificate_reload_failed",
                "1 if the changed files of a certificate cannot be used",
                &["certificate"],
            ),
        };
        for queue in [Queue::Instance, Queue::Submission] {
            metrics.queue_waiting.with_label_values(&[queue.name()]);
            metrics.queue_wait.with_label_values(&[queue.name()]);
        }
        for upstream in Service::ALL {
            let retries = &metrics.upstream_retries;
            retries.with_label_values(&[upstream.name()]);
        }
        let build = made.gauges(
            "odb_build_info",
            "1, with the version of the broker",
            &["version"],
        );
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        metrics
    }

    pub fn text(&self) -> String {
        self.process.read();
        let mut text = Vec::new();
        TextEncoder::new()
            .encode(&self.registry.gather(), &mut text)
            .expect("a vector takes everything");
        String::from_utf8(text).expect("names, helps and labels are text")
    }

    /// A request has arrived. Dropped, the result is no longer in flight.
    #[must_use]
    pub fn request_arrived(&self) -> Counted {
        Counted::in_gauge(self.requests_in_flight.clone())
    }

    /// `route` is the route's template, never the requested path.
    pub fn request_answered(&self, route: &str, method: &str, status: u16, taken: Duration) {
        let known = METHODS.iter().find(|known| **known == method);
        let method = known.copied().unwrap_or("other");
        self.requests
            .with_label_values(&[route, method, &status.to_string()])
            .inc();
        self.request_duration
            .with_label_values(&[route, method])
            .observe(taken.as_secs_f64());
    }

    pub fn failed_authentication(&self) {
        self.failed_authentications.inc();
    }

    #[must_use]
    pub fn wait(&self, queue: Queue) -> Waiting {
        let gauge = self.queue_waiting.with_label_values(&[queue.name()]);
        Waiting {
            _gauge: Counted::in_gauge(gauge),
            wait: self.queue_wait.with_label_values(&[queue.name()]),
            since: Instant::now(),
        }
    }

    /// The instances of a plan in a state. Without a plan: of all that are not offered any more.
    pub fn instances(&self, plan: Option<&str>, state: &str, count: u64) {
        let plan = plan.unwrap_or(operations::OTHER_PLAN);
        let instances = self.instances.with_label_values(&[plan, state]);
        instances.set(signed(count));
    }

    pub fn quota(&self, plan: Option<&str>, resource: &str, limit: u64, used: u64) {
        let (scope, plan) = plan.map_or(("global", ""), |plan| ("plan", plan));
        let labels = [scope, plan, resource];
        let gauge = |metric: &IntGaugeVec| metric.with_label_values(&labels);
        gauge(&self.quota_limit).set(signed(limit));
        gauge(&self.quota_used).set(signed(used));
    }

    pub fn instances_counted_now(&self) {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        let seconds = since_1970.map_or(0, |since| signed(since.as_secs()));
        self.instances_counted.set(seconds);
    }

    /// `certificate` is the key of the configuration that names it, `not_after` in seconds since 1970.
    pub fn certificate_expires(&self, certificate: &str, not_after: i64) {
        let expiry = self.certificate_expiry.with_label_values(&[certificate]);
        expiry.set(not_after);
    }

    /// The files of a certificate have changed, and the previous one stays in use or not.
    pub fn certificate_reload_failed(&self, certificate: &str, has_failed: bool) {
        let gauge = &self.certificate_reload_failed;
        gauge
            .with_label_values(&[certificate])
            .set(has_failed.into());
    }
}

impl Observer for Metrics {
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
        self.upstream_calls
            .with_label_values(&[upstream, status])
            .inc();
        self.upstream_duration
            .with_label_values(&[upstream])
            .observe(attempt.taken.as_secs_f64());
        if attempt.is_repeated {
            self.upstream_retries.with_label_values(&[upstream]).inc();
        }
    }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

struct Maker(Registry);

impl Maker {
    fn registered<C>(&self, metric: prometheus::Result<C>) -> C
    where
        C: Collector + Clone + 'static,
    {
        let metric = metric.expect("the name is a valid one");
        let registered = self.0.register(Box::new(metric.clone()));
        registered.expect("each name is used once");
        metric
    }

    fn counter(&self, name: &str, help: &str) -> IntCounter {
        self.registered(IntCounter::new(name, help))
    }

    fn counters(&self, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
        self.registered(IntCounterVec::new(Opts::new(name, help), labels))
    }

    fn gauge(&self, name: &str, help: &str) -> IntGauge {
        self.registered(IntGauge::new(name, help))
    }

    fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
        self.registered(IntGaugeVec::new(Opts::new(name, help), labels))
    }

    fn histogram(&self, name: &str, help: &str, buckets: &[f64]) -> Histogram {
        let histograms = self.histograms(name, help, buckets, &[]);
        histograms.with_label_values::<&str>(&[])
    }

    fn histograms(&self, name: &str, help: &str, buckets: &[f64], labels: &[&str]) -> HistogramVec {
        let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
        self.registered(HistogramVec::new(options, labels))
    }
}

#[cfg(test)]
mod tests {
    use odb_clients::http::StatusCode;

    use super::*;

    #[test]
    fn what_is_counted_is_in_the_text() {
        let metrics = Metrics::new();
        drop(metrics.request_arrived());
        metrics.request_answered("/v2/catalog", "GET", 200, Duration::from_millis(7));
        metrics.request_answered("other", "BREW", 404, Duration::ZERO);

        let text = metrics.text();

        for line in [
            "odb_http_requests_total{method=\"GET\",route=\"/v2/catalog\",status=\"200\"} 1",
            "odb_http_requests_total{method=\"other\",route=\"other\",status=\"404\"} 1",
            "odb_http_request_duration_seconds_bucket{method=\"GET\",route=\"/v2/catalog\",le=\"0.025\"} 1",
            "odb_http_requests_in_flight 0",
            "odb_operations_started_total{operation=\"force-delete\",plan=\"other\"} 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn the_process_mentions_itself() {
        let text = Metrics::new().text();
        for name in [
            "process_cpu_seconds_total",
            "process_resident_memory_bytes",
            "process_open_fds",
            "process_max_fds",
            "process_threads",
            "process_start_time_seconds",
        ] {
            let value = text
                .lines()
                .find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
            assert!(value.is_some_and(|value| value > 0.0), "{name}\n{text}");
        }
    }

    #[test]
    fn each_attempt_at_a_call_is_counted_by_its_status_and_a_repeated_one_as_retry() {
        let metrics = Metrics::new();
        let unavailable = AttemptOutcome::Answered(StatusCode::SERVICE_UNAVAILABLE);
        let fine = AttemptOutcome::Answered(StatusCode::OK);
        for (outcome, is_repeated) in [
            (unavailable, true),
            (AttemptOutcome::Failed, true),
            (fine, false),
        ] {
            metrics.observe(&Attempt {
                service: Service::Director,
                outcome,
                taken: Duration::ZERO,
                is_repeated,
            });
        }

        let text = metrics.text();

        for line in [
            "odb_upstream_calls_total{status=\"5xx\",upstream=\"director\"} 1",
            "odb_upstream_calls_total{status=\"none\",upstream=\"director\"} 1",
            "odb_upstream_calls_total{status=\"2xx\",upstream=\"director\"} 1",
            "odb_upstream_call_retries_total{upstream=\"director\"} 2",
            "odb_upstream_call_retries_total{upstream=\"uaa\"} 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
