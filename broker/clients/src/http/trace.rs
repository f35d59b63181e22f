//! Traces: the spans that are exported, and the header `traceparent` (W3C Trace Context) that joins those of one process
//! with those of another.
//!
//! An exported span has the target [`SPANS`], which no log has: while traces are off, it costs nothing. How a span is
//! exported is known to the [`Traces`] of the process only.

use std::{fmt, str::FromStr, sync::OnceLock};

use reqwest::header::{HeaderName, HeaderValue};
use tracing::{Span, field};

use super::{Request, Response, Service, TransportError};

/// The target of exported spans.
pub const SPANS: &str = "odb::trace";

pub(super) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The length of `00-`, a trace id, a span id and flags. Later versions may append to it.
const LENGTH: usize = 55;

/// A span of a trace, as one process names it to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traceparent {
    pub trace: u128,
    pub span: u64,
    /// The lowest bit: the caller records this trace.
    pub flags: u8,
}

/// A value that a receiver has to ignore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value of `traceparent` is invalid")]
pub struct InvalidTraceparent;

impl Traceparent {
    /// The trace id as logs and collectors show it.
    pub fn trace_id(self) -> String {
        format!("{:032x}", self.trace)
    }

    pub(super) fn header(self) -> HeaderValue {
        HeaderValue::try_from(self.to_string()).expect("digits and hyphens are a header's value")
    }
}

impl fmt::Display for Traceparent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trace, span, flags } = self;
        write!(f, "00-{trace:032x}-{span:016x}-{flags:02x}")
    }
}

impl FromStr for Traceparent {
    type Err = InvalidTraceparent;

    fn from_str(text: &str) -> Result<Self, InvalidTraceparent> {
        let (known, later) = text.split_at_checked(LENGTH).ok_or(InvalidTraceparent)?;
        let mut parts = known.split('-');
        let mut part = |length| {
            parts
                .next()
                .filter(|part| part.len() == length && part.bytes().all(is_hexadecimal))
                .ok_or(InvalidTraceparent)
        };
        let (version, trace, span, flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
        let is_complete = match version {
            "ff" => false,
            "00" => later.is_empty(),
            _ => later.is_empty() || later.starts_with('-'),
        };
        let number = |part| u128::from_str_radix(part, 16).map_err(|_| InvalidTraceparent);
        let this = Self {
            trace: number(trace)?,
            span: u64::from_str_radix(span, 16).map_err(|_| InvalidTraceparent)?,
            flags: u8::from_str_radix(flags, 16).map_err(|_| InvalidTraceparent)?,
        };
        if is_complete && this.trace != 0 && this.span != 0 {
            Ok(this)
        } else {
            Err(InvalidTraceparent)
        }
    }
}

fn is_hexadecimal(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// The traces of a process.
pub trait Traces: Send + Sync {
    /// This span in its trace, or else the nearest one around it.
    fn of(&self, span: &Span) -> Option<Traceparent>;

    /// Makes a new exported span a child of one in another task or process.
    fn join(&self, span: &Span, parent: Traceparent);

    /// Makes a new exported span a child of the one around the current span.
    fn attach(&self, span: &Span);

    /// Stands in for an exported span around this one, to pass on a trace that this process does not export.
    fn keep(&self, span: &Span, parent: Traceparent);
}

static TRACES: OnceLock<&'static dyn Traces> = OnceLock::new();

/// Registers the traces of this process. A second registration has no effect.
pub fn register_traces(traces: &'static dyn Traces) {
    // The first ones stay.
    let _ = TRACES.set(traces);
}

/// The span around the current code in its trace.
pub fn current() -> Option<Traceparent> {
    TRACES.get()?.of(&Span::current())
}

/// What a process that is called from within this span gets as its parent.
pub fn traceparent(exported: &Span) -> Option<Traceparent> {
    if exported.is_disabled() {
        current()
    } else {
        TRACES.get()?.of(exported)
    }
}

/// A new exported span as a child of the one around the current code.
#[must_use]
pub fn attached(exported: Span) -> Span {
    if let Some(traces) = TRACES.get().filter(|_| !exported.is_disabled()) {
        traces.attach(&exported);
    }
    exported
}

/// The span for the log of work that begins in a trace, within its exported span. Its field `trace.id` is set.
pub fn entered(
    exported: &Span,
    parent: Option<Traceparent>,
    log_span: impl FnOnce() -> Span,
) -> (Span, Option<Traceparent>) {
    let traces = TRACES.get();
    if let (Some(traces), Some(parent), false) = (traces, parent, exported.is_disabled()) {
        traces.join(exported, parent);
    }
    let span = exported.in_scope(log_span);
    let position = if exported.is_disabled() {
        parent
    } else {
        traces.and_then(|traces| traces.of(exported))
    };
    if let Some(position) = position {
        span.record("trace.id", position.trace_id());
        if let (Some(traces), true) = (traces, exported.is_disabled()) {
            traces.keep(&span, position);
        }
    }
    // A log filter may turn off the span of the log, and with it the way to the exported one.
    if span.is_disabled() {
        (exported.clone(), position)
    } else {
        (span, position)
    }
}

/// The span of one attempt to call an upstream.
pub(super) fn of_attempt(service: Service, request: &Request, attempt: usize) -> Span {
    attached(tracing::trace_span!(
        target: SPANS,
        "call",
        otel.kind = "client",
        otel.name = %Template(service, request),
        otel.status_code = field::Empty,
        peer.service = service.name(),
        http.request.method = request.method().as_str(),
        url.path = request.path(),
        http.response.status_code = field::Empty,
        attempt,
        error.type = field::Empty,
    ))
}

/// `None`: it took too long.
pub(super) fn note_outcome(span: &Span, outcome: Option<&Result<Response, TransportError>>) {
    let failure = match outcome {
        Some(Ok(answer)) => {
            span.record("http.response.status_code", answer.status.as_u16());
            let has_failed = answer.status.is_client_error() || answer.status.is_server_error();
            if has_failed {
                span.record("otel.status_code", "ERROR");
            }
            return;
        }
        Some(Err(TransportError::NotConnected { .. })) => "not_connected",
        Some(Err(TransportError::Handshake { .. })) => "handshake",
        Some(Err(_)) => "broken",
        None => "timeout",
    };
    span.record("otel.status_code", "ERROR");
    span.record("error.type", failure);
}

/// The request of a span's name: its path without ids, so that equal requests have equal names.
struct Template<'a>(Service, &'a Request);

impl fmt::Display for Template<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(service, request) = self;
        write!(f, "{} {} ", service.name(), request.method())?;
        for segment in request.path().split('/').skip(1) {
            let is_version = segment.len() == 2 && segment.starts_with('v');
            if segment.bytes().any(|byte| byte.is_ascii_digit()) && !is_version {
                f.write_str("/{id}")?;
            } else {
                write!(f, "/{segment}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use reqwest::Method;
    use url::Url;

    use super::*;
    use crate::http::Repeat;

    const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_read_and_written_unchanged() {
        let read: Traceparent = VALID.parse().unwrap();
        assert_eq!(read.to_string(), VALID);
        assert_eq!(read.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        let later = VALID.replacen("00-", "cc-", 1);
        for text in [later.clone(), format!("{later}-what-follows")] {
            assert_eq!(text.parse(), Ok(read), "{text}");
        }
    }

    #[test]
    fn an_invalid_traceparent_is_ignored() {
        for text in [
            "",
            "00",
            &VALID.to_uppercase(),
            &VALID[..54],
            &format!("{VALID}-01"),
            &format!("{VALID}0"),
            &VALID.replacen("00-", "ff-", 1),
            &VALID.replacen("00-", "cc-", 1).replacen("-01", "-011", 1),
            &VALID.replace('-', "_"),
            &VALID.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            &VALID.replace("00f067aa0ba902b7", &"0".repeat(16)),
            &VALID.replace("00f067aa0ba902b7", "+0f067aa0ba902b7"),
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b\u{e9}-01",
        ] {
            assert_eq!(
                text.parse::<Traceparent>(),
                Err(InvalidTraceparent),
                "{text}"
            );
        }
    }

    #[test]
    fn a_span_is_named_by_a_path_without_ids_and_without_the_query() {
        let name = |url: &str| {
            let url = Url::parse(url).unwrap();
            let request = Request::new(Method::PUT, url, Repeat::WhileUnsent);
            Template(Service::Director, &request).to_string()
        };
        assert_eq!(
            name("https://10.0.0.6/v3/service_instances/0f8a/params?secret=s"),
            "director PUT /v3/service_instances/{id}/params"
        );
        assert_eq!(
            name("https://10.0.0.6/tasks/17"),
            "director PUT /tasks/{id}"
        );
        assert_eq!(name("https://10.0.0.6"), "director PUT /");
    }
}
