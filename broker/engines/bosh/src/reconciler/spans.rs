//! The exported spans of an operation: one for the operation itself, one for each stage and each step after its tasks.

use std::fmt;

use odb_clients::http::trace::{SPANS, attached};
use tracing::{Span, field, trace_span};

use crate::reconciler::{next_step::Stage, operation::Operation};

pub(super) fn of_operation(operation: &Operation) -> Span {
    trace_span!(
        target: SPANS,
        "operation",
        otel.kind = "internal",
        otel.name = %format_args!("operation {}", operation.kind()),
        otel.status_code = field::Empty,
        request.id = %operation.record.request,
        instance.id = %operation.instance,
    )
}

/// `None`: a task after the last stage.
pub(super) fn of_stage(stage: Option<&Stage>) -> Span {
    attached(trace_span!(
        target: SPANS,
        "stage",
        otel.kind = "internal",
        otel.name = %Name(stage),
        bosh.task.id = field::Empty,
    ))
}

pub(super) fn of_step(name: &'static str) -> Span {
    attached(trace_span!(target: SPANS, "step", otel.kind = "internal", otel.name = name))
}

struct Name<'a>(Option<&'a Stage>);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(Stage::Stop) => f.write_str("cancel"),
            Some(Stage::Deploy) => f.write_str("deploy"),
            Some(Stage::Errand(errand)) => write!(f, "errand {}", errand.name),
            Some(Stage::Delete) => f.write_str("delete deployment"),
            None => f.write_str("task"),
        }
    }
}
