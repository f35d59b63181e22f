//! The traces of this process: its exported spans, if traces are exported, and those of callers that are only passed on.

use odb_clients::http::trace::{Traceparent, Traces};
#[cfg(feature = "otlp")]
use opentelemetry::{
    Context,
    trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState},
};
use tracing::{Dispatch, Span, span};
#[cfg(feature = "otlp")]
use tracing_opentelemetry::{OpenTelemetrySpanExt, get_otel_context};
use tracing_subscriber::{Registry, registry::LookupSpan};

/// Finds a span's place in its trace in the registry of spans, so that a task that continues a request has it, too.
#[derive(Debug)]
pub struct RegisteredSpans;

impl Traces for RegisteredSpans {
    fn of(&self, span: &Span) -> Option<Traceparent> {
        around(span, |id, dispatch| {
            exported(id, dispatch).or_else(|| kept(id, dispatch))
        })
    }

    #[cfg(feature = "otlp")]
    fn join(&self, span: &Span, parent: Traceparent) {
        let parent = SpanContext::new(
            TraceId::from(parent.trace),
            SpanId::from(parent.span),
            TraceFlags::new(parent.flags),
            true,
            TraceState::NONE,
        );
        set_parent(span, Context::new().with_remote_span_context(parent));
    }

    #[cfg(not(feature = "otlp"))]
    fn join(&self, _span: &Span, _parent: Traceparent) {}

    #[cfg(feature = "otlp")]
    fn attach(&self, span: &Span) {
        let current = Span::current();
        if let Some(parent) = around(&current, context) {
            set_parent(span, parent);
        }
    }

    #[cfg(not(feature = "otlp"))]
    fn attach(&self, _span: &Span) {}

    fn keep(&self, span: &Span, parent: Traceparent) {
        span.with_subscriber(|(id, dispatch)| {
            if let Some(span) = dispatch
                .downcast_ref::<Registry>()
                .and_then(|registry| registry.span(id))
            {
                span.extensions_mut().insert(parent);
            }
        });
    }
}

/// The first result for the span or one around it, from the inside to the outside.
fn around<T>(span: &Span, find: impl Fn(&span::Id, &Dispatch) -> Option<T>) -> Option<T> {
    let found = span.with_subscriber(|(id, dispatch)| {
        let span = dispatch.downcast_ref::<Registry>()?.span(id)?;
        span.scope().find_map(|span| find(&span.id(), dispatch))
    });
    found.flatten()
}

fn kept(id: &span::Id, dispatch: &Dispatch) -> Option<Traceparent> {
    let span = dispatch.downcast_ref::<Registry>()?.span(id)?;
    span.extensions().get().copied()
}

#[cfg(feature = "otlp")]
fn exported(id: &span::Id, dispatch: &Dispatch) -> Option<Traceparent> {
    let context = context(id, dispatch)?;
    let span = context.span();
    let context = span.span_context();
    Some(Traceparent {
        trace: u128::from_be_bytes(context.trace_id().to_bytes()),
        span: u64::from_be_bytes(context.span_id().to_bytes()),
        flags: context.trace_flags().to_u8(),
    })
}

#[cfg(not(feature = "otlp"))]
fn exported(_id: &span::Id, _dispatch: &Dispatch) -> Option<Traceparent> {
    None
}

#[cfg(feature = "otlp")]
fn context(id: &span::Id, dispatch: &Dispatch) -> Option<Context> {
    get_otel_context(id, dispatch).filter(|context| context.span().span_context().is_valid())
}

#[cfg(feature = "otlp")]
fn set_parent(span: &Span, parent: Context) {
    // Only a span that has begun cannot get a parent; these are new.
    let _ = span.set_parent(parent);
}
