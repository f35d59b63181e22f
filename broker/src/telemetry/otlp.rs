//! Exports spans over OTLP/HTTP, as the standard variables `OTEL_*` configure it.
//!
//! The queue is bounded. A thread of its own sends what has ended, in batches; no request waits for it.

use std::{
    env, fs, io,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use odb_clients::http::{
    Call, HttpClient, Limits, Method, Repeat, Request, StatusCode, Trust, Url, trace::SPANS,
};
use odb_redaction::Chain;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{Bytes, HttpError};
use opentelemetry_otlp::{SpanExporter, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    trace::{SdkTracer, SdkTracerProvider},
};
use tokio::runtime::{Builder, Runtime};
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::{
    Layer, Registry, filter::filter_fn, fmt, layer::SubscriberExt, util::SubscriberInitExt,
};

use super::{JsonLines, LogFilter, LogFormat, LogStream, start_log, writer};

const SERVICE: &str = "on-demand-broker";

const JSON: &str = "application/json";

/// As the specification of OTLP has it.
const TIMEOUT: Duration = Duration::from_secs(10);

/// At most one failure in this time is logged.
const BETWEEN_REPORTS: Duration = Duration::from_mins(1);

/// How much is read of an answer.
const LONGEST_ANSWER: usize = 64 * 1024;

/// The export of this process.
#[derive(Debug)]
pub struct Exporter(SdkTracerProvider);

/// The export was asked for and cannot begin.
#[derive(Debug, thiserror::Error)]
#[error("traces cannot be exported")]
pub(super) struct ExportError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl Exporter {
    /// `None` while no endpoint is set, or `OTEL_SDK_DISABLED` is `true`.
    pub(super) fn from_environment() -> Result<Option<Self>, ExportError> {
        let is_set = |name| variable(name).is_some();
        let is_disabled = variable("OTEL_SDK_DISABLED")
            .is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
        let has_endpoint =
            is_set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") || is_set("OTEL_EXPORTER_OTLP_ENDPOINT");
        if is_disabled || !has_endpoint {
            return Ok(None);
        }
        let sender = Sender::from_environment()?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(sender)
            .build()
            .map_err(|error| ExportError(error.into()))?;
        let names_service = is_set("OTEL_SERVICE_NAME")
            || variable("OTEL_RESOURCE_ATTRIBUTES")
                .is_some_and(|attributes| attributes.contains("service.name="));
        let mut resource = Resource::builder();
        if !names_service {
            resource = resource.with_service_name(SERVICE);
        }
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.build())
            .with_batch_exporter(exporter)
            .build();
        Ok(Some(Self(provider)))
    }

    /// Takes the spans that are meant to be exported, and nothing of the log.
    pub(super) fn layer(&self) -> impl Layer<Registry> + Send + Sync + use<> {
        let layer: OpenTelemetryLayer<Registry, SdkTracer> =
            OpenTelemetryLayer::new(self.0.tracer(SERVICE));
        layer
            .with_context_activation(false)
            .with_tracked_inactivity(false)
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_filter(filter_fn(|metadata| metadata.target() == SPANS))
    }

    /// Sends what has ended, and ends.
    pub fn flush(&self, limit: Duration) {
        if let Err(error) = self.0.shutdown_with_timeout(limit) {
            tracing::warn!(error = %Chain(&error), "the last spans could not be exported");
        }
    }
}

/// Starts logging, and the export of traces if the environment asks for it.
pub fn start_log_and_traces(
    stream: LogStream,
    format: LogFormat,
    filter: &LogFilter,
) -> Option<Exporter> {
    let exporter = match Exporter::from_environment() {
        Ok(Some(exporter)) => exporter,
        outcome => {
            start_log(stream, format, filter);
            if let Err(error) = outcome {
                tracing::error!(error = %Chain(&error), "the broker runs without traces");
            }
            return None;
        }
    };
    let writer = writer(stream);
    let log = match format {
        LogFormat::Json => JsonLines::new(writer).boxed(),
        LogFormat::Text => fmt::layer().with_writer(writer).boxed(),
    };
    // The exporter's layer is the first, for it finds its spans in the registry.
    let layers = tracing_subscriber::registry().with(exporter.layer());
    // Only tests start a log twice; the first one stays.
    drop(layers.with(log.with_filter(filter.0.clone())).try_init());
    Some(exporter)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the library reads the other variables of the standard itself, at the same time"
)]
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Sends batches on the thread of the exporter.
#[derive(Debug)]
struct Sender {
    http: HttpClient,
    runtime: Runtime,
    limit: Duration,
    reported: Mutex<Option<Instant>>,
}

impl Sender {
    fn from_environment() -> Result<Self, ExportError> {
        let limit = [
            "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
            "OTEL_EXPORTER_OTLP_TIMEOUT",
        ]
        .into_iter()
        .find_map(|name| variable(name)?.trim().parse().ok())
        .map_or(TIMEOUT, Duration::from_millis);
        let limits = Limits {
            connect: limit,
            attempt: limit,
            answer: LONGEST_ANSWER,
            attempts: 1,
            ..Limits::default()
        };
        Ok(Self {
            http: HttpClient::new(&trust()?, limits)
                .map_err(|error| ExportError(error.into()))?
                .silent(),
            runtime: Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| ExportError(error.into()))?,
            limit,
            reported: Mutex::default(),
        })
    }

    fn send(
        &self,
        request: opentelemetry_http::Request<Bytes>,
    ) -> Result<opentelemetry_http::Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let url = Url::parse(&head.uri.to_string())?;
        let mut sent = Request::new(Method::POST, url, Repeat::WhileUnsent).body(JSON, body);
        for (name, value) in &head.headers {
            sent = sent.header(name.clone(), value.clone());
        }
        let call = Call::within(self.limit);
        let answer = self.runtime.block_on(self.http.send(&call, &sent))?;
        let body = Bytes::copy_from_slice(answer.bytes());
        let mut response = opentelemetry_http::Response::new(body);
        *response.status_mut() = answer.status();
        Ok(response)
    }

    fn report(&self, status: Option<StatusCode>, error: Option<&HttpError>) {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.is_some_and(|at| at.elapsed() < BETWEEN_REPORTS) {
            return;
        }
        *reported = Some(Instant::now());
        tracing::warn!(
            status = status.map(|status| status.as_u16()),
            error = error.map(|error| tracing::field::display(Chain(&**error))),
            "spans could not be exported and are dropped"
        );
    }
}

/// The certificates of `OTEL_EXPORTER_OTLP_CERTIFICATE`, and those of the system.
fn trust() -> Result<Trust, ExportError> {
    let file = variable("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE")
        .or_else(|| variable("OTEL_EXPORTER_OTLP_CERTIFICATE"));
    let trust = match file {
        Some(file) => {
            let pem = fs::read_to_string(&file).map_err(|error| {
                ExportError(io::Error::new(error.kind(), format!("{file}: {error}")).into())
            })?;
            Trust::system_and(&pem)
        }
        None => Trust::system(),
    };
    trust.map_err(|error| ExportError(error.into()))
}

#[async_trait]
impl opentelemetry_http::HttpClient for Sender {
    /// Blocks: the exporter calls it on a thread of its own.
    async fn send_bytes(
        &self,
        request: opentelemetry_http::Request<Bytes>,
    ) -> Result<opentelemetry_http::Response<Bytes>, HttpError> {
        let outcome = self.send(request);
        match &outcome {
            Ok(response) if response.status().is_success() => {}
            Ok(response) => self.report(Some(response.status()), None),
            Err(error) => self.report(None, Some(error)),
        }
        outcome
    }
}
