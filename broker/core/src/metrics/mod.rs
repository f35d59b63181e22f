//! The metrics of the process, in the text format of Prometheus (`docs/operators/reference/metrics.md` lists them).
//!
//! Like the log, metrics belong to the process: code that counts calls [`metrics`]. Labels come from enums, route
//! templates and the configuration, never from a request.
//!
//! | file | metrics |
//! | --- | --- |
//! | `requests` | requests to the broker |
//! | `operations` | operations on service instances |
//! | `fleet` | service instances and quotas |
//! | `queues` | waiting requests |
//! | `adapter` | calls of the service adapter |
//! | `upstreams` | calls of Director, UAA, Cloud Controller and other upstreams |
//! | `certificates` | the expiry of certificates |
//! | `process` | the resources of the process |

mod adapter;
mod certificates;
mod fleet;
mod operations;
mod process;
mod queues;
mod requests;
mod upstreams;

use std::sync::LazyLock;

use prometheus::{
    Encoder, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, Registry, TextEncoder, core::Collector,
};

pub use adapter::{AdapterCall, AdapterMetrics, AdapterOutcome};
pub use certificates::CertificateMetrics;
pub use fleet::{FleetMetrics, InstanceCount, QuotaScope, QuotaUse};
pub use operations::{FollowedOperation, OperationMetrics, OperationOrigin, OperationOutcome};
pub use queues::{Queue, QueueMetrics, Waiting};
pub use requests::{RequestInFlight, RequestMetrics};
pub use upstreams::UpstreamMetrics;

/// Everything that is counted.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Requests to the broker.
    pub requests: RequestMetrics,
    /// Operations on service instances.
    pub operations: OperationMetrics,
    /// Which service instances there are.
    pub fleet: FleetMetrics,
    /// Where requests wait for each other.
    pub queues: QueueMetrics,
    /// Calls of the service adapter.
    pub adapter: AdapterMetrics,
    /// Calls of the upstreams.
    pub upstreams: UpstreamMetrics,
    /// When certificates expire.
    pub certificates: CertificateMetrics,
}

/// The metrics of this process.
pub fn metrics() -> &'static Metrics {
    static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);
    &METRICS
}

impl Metrics {
    /// The `Content-Type` of [`Metrics::text`].
    pub const CONTENT_TYPE: &'static str = prometheus::TEXT_FORMAT;

    fn new() -> Self {
        let made = Maker(Registry::new());
        let metrics = Self {
            requests: RequestMetrics::new(&made),
            operations: OperationMetrics::new(&made),
            fleet: FleetMetrics::new(&made),
            queues: QueueMetrics::new(&made),
            adapter: AdapterMetrics::new(&made),
            upstreams: UpstreamMetrics::new(&made),
            certificates: CertificateMetrics::new(&made),
            registry: made.0.clone(),
        };
        made.registered(process::ProcessMetrics::new());
        let build = made.gauges(
            "odb_build_info",
            "1, with the version of the broker",
            &["version"],
        );
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        metrics
    }

    /// Everything, in the text format of Prometheus.
    pub fn text(&self) -> String {
        let mut text = Vec::new();
        TextEncoder::new()
            .encode(&self.registry.gather(), &mut text)
            .expect("a vector takes everything");
        String::from_utf8(text).expect("names, helps and labels are text")
    }
}

/// Makes metrics and registers them.
struct Maker(Registry);

const MADE_ONCE: &str = "the name is a valid one and used once";

impl Maker {
    fn registered<C: Collector + Clone + 'static>(&self, metric: C) -> C {
        self.0.register(Box::new(metric.clone())).expect(MADE_ONCE);
        metric
    }

    fn counter(&self, name: &str, help: &str) -> IntCounter {
        self.registered(IntCounter::new(name, help).expect(MADE_ONCE))
    }

    fn counters(&self, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
        self.registered(IntCounterVec::new(Opts::new(name, help), labels).expect(MADE_ONCE))
    }

    fn gauge(&self, name: &str, help: &str) -> IntGauge {
        self.registered(IntGauge::new(name, help).expect(MADE_ONCE))
    }

    fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
        self.registered(IntGaugeVec::new(Opts::new(name, help), labels).expect(MADE_ONCE))
    }

    fn histogram(&self, name: &str, help: &str, buckets: &[f64]) -> Histogram {
        let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
        self.registered(Histogram::with_opts(options).expect(MADE_ONCE))
    }

    fn histograms(&self, name: &str, help: &str, buckets: &[f64], labels: &[&str]) -> HistogramVec {
        let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
        self.registered(HistogramVec::new(options, labels).expect(MADE_ONCE))
    }
}

/// Answers take milliseconds with warm caches, and at most the request budget.
const ANSWERS: &[f64] = &[
    0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 60.0,
];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_counted_is_in_the_text() {
        let metrics = Metrics::new();
        drop(metrics.requests.begin());
        metrics
            .requests
            .answered("/v2/catalog", "GET", 200, Duration::from_millis(7));
        metrics
            .requests
            .answered("other", "BREW", 404, Duration::ZERO);

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
}
