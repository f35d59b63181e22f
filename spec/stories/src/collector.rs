//! A collector of traces: records what a broker exports over OTLP/HTTP.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";

#[derive(Debug)]
pub struct Collector {
    url: String,
    received: Arc<Mutex<Vec<Received>>>,
    task: JoinHandle<()>,
}

#[derive(Clone, Debug)]
struct Received {
    head: String,
    body: Value,
}

/// A span as it was exported.
#[derive(Clone, Debug)]
pub struct ExportedSpan(Value);

/// The names of spans, and of those within them. Spans of the same name side by side are one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanTree(BTreeMap<String, SpanTree>);

impl Collector {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let received = Arc::<Mutex<Vec<Received>>>::default();
        let task = tokio::spawn({
            let received = received.clone();
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    if let Some(request) = receive(stream).await {
                        let mut received = received.lock().unwrap_or_else(PoisonError::into_inner);
                        received.push(request);
                    }
                }
            }
        });
        Self {
            url: format!("http://{address}"),
            received,
            task,
        }
    }

    /// A script that starts a broker which exports to it, without a delay that a test would wait for.
    pub fn start_script(&self) -> String {
        let url = &self.url;
        format!(
            "export OTEL_EXPORTER_OTLP_ENDPOINT={url} OTEL_BSP_SCHEDULE_DELAY=100\n\
             export OTEL_EXPORTER_OTLP_HEADERS=authorization=recorded OTEL_RESOURCE_ATTRIBUTES=deployment=test\n\
             exec \"$@\""
        )
    }

    /// The heads of the requests received.
    pub fn heads(&self) -> Vec<String> {
        self.received().into_iter().map(|it| it.head).collect()
    }

    /// The attributes of the exporter's resource.
    pub fn resource(&self) -> Value {
        let received = self.received();
        let first = received.first().expect("something was exported");
        first.body["resourceSpans"][0]["resource"]["attributes"].clone()
    }

    pub fn spans(&self) -> Vec<ExportedSpan> {
        let received = self.received();
        let members =
            |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
        let resources = received
            .iter()
            .flat_map(|it| members(&it.body, "resourceSpans"));
        let scopes = resources.flat_map(|resource| members(&resource, "scopeSpans"));
        scopes
            .flat_map(|scope| members(&scope, "spans"))
            .map(ExportedSpan)
            .collect()
    }

    pub fn spans_of(&self, trace: &str) -> Vec<ExportedSpan> {
        let mut spans = self.spans();
        spans.retain(|span| span.text("traceId") == trace);
        spans
    }

    fn received(&self) -> Vec<Received> {
        let received = self.received.lock();
        received.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ExportedSpan {
    pub fn text(&self, member: &str) -> &str {
        self.0[member].as_str().unwrap_or_default()
    }

    pub fn name(&self) -> &str {
        self.text("name")
    }

    /// An attribute as text, whatever its type is.
    pub fn attribute(&self, name: &str) -> Option<String> {
        let attributes = self.0["attributes"].as_array()?;
        let attribute = attributes.iter().find(|it| it["key"] == name)?;
        let value = attribute["value"].as_object()?.values().next()?;
        Some(
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned),
        )
    }
}

impl SpanTree {
    /// The tree below a span that this process has not exported: that of the caller.
    pub fn of(spans: &[ExportedSpan], parent: &str) -> Self {
        let mut tree = Self::default();
        for span in spans.iter().filter(|it| it.text("parentSpanId") == parent) {
            let below = Self::of(spans, span.text("spanId"));
            tree.0
                .entry(span.name().to_owned())
                .or_default()
                .merge(below);
        }
        tree
    }

    /// The tree that a document prints, with two spaces for each level.
    pub fn read(text: &str) -> Self {
        let mut tree = Self::default();
        let mut path: Vec<&str> = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let name = line.trim_start();
            path.truncate((line.len() - name.len()) / 2);
            path.push(name);
            let mut location = &mut tree;
            for name in &path {
                location = location.0.entry((*name).to_owned()).or_default();
            }
        }
        tree
    }

    fn merge(&mut self, other: Self) {
        for (name, below) in other.0 {
            self.0.entry(name).or_default().merge(below);
        }
    }
}

async fn receive(mut stream: TcpStream) -> Option<Received> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok())?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let body = serde_json::from_slice(&body).expect("the broker exports JSON");
    stream.write_all(ANSWER).await.ok()?;
    Some(Received { head, body })
}
