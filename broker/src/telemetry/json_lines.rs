//! Log lines as JSON objects: the event's fields, its target, then the fields of the spans around it.

use std::{fmt, io::Write};

use jiff::Timestamp;
use serde_json::{Map, Value};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    span,
};
use tracing_subscriber::{Layer, fmt::MakeWriter, layer::Context, registry::LookupSpan};

/// Writes one JSON object per line. Fields of spans are at the top level; those of inner spans and of the event override
/// others of the same name.
pub(super) struct JsonLines<W> {
    writer: W,
}

impl<W> JsonLines<W> {
    pub(super) fn new(writer: W) -> Self {
        Self { writer }
    }
}

#[derive(Debug, Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn add(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Unknown values are left out.
    fn without_empty(&mut self) {
        self.0.retain(|_, value| value != "");
    }
}

impl<S, W> Layer<S> for JsonLines<W>
where
    S: Subscriber + for<'l> LookupSpan<'l>,
    W: for<'w> MakeWriter<'w> + 'static,
{
    fn on_new_span(
        &self,
        attributes: &span::Attributes<'_>,
        id: &span::Id,
        context: Context<'_, S>,
    ) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        fields.without_empty();
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &span::Id, values: &span::Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
            fields.without_empty();
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        let mut line = Fields::default();
        line.add("timestamp", format!("{:.6}", Timestamp::now()));
        line.add("level", metadata.level().as_str());
        event.record(&mut line);
        line.without_empty();
        line.add("target", metadata.target());
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(Fields(fields)) = span.extensions().get() {
                for (name, value) in fields {
                    if !line.0.contains_key(name) {
                        line.0.insert(name.clone(), value.clone());
                    }
                }
            }
        }
        let text = format!("{}\n", Value::Object(line.0));
        // A log that cannot be written cannot say so.
        let mut writer = self.writer.make_writer_for(metadata);
        let _ = writer.write_all(text.as_bytes());
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field.name(), value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field.name(), value);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex},
    };

    use serde_json::json;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The lines that are written, without their timestamps.
    fn lines_of(work: impl FnOnce()) -> Vec<Value> {
        let written = Written::default();
        let writer = written.clone();
        let layer = JsonLines::new(move || writer.clone());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), work);
        let written = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        assert!(written.ends_with('\n'), "{written}");
        written
            .lines()
            .map(|line| {
                let mut line: Value = serde_json::from_str(line).unwrap();
                let timestamp = line
                    .as_object_mut()
                    .unwrap()
                    .shift_remove("timestamp")
                    .unwrap();
                let timestamp = timestamp.as_str().unwrap();
                assert_eq!(
                    timestamp.len(),
                    "2026-11-21T14:34:03.974308Z".len(),
                    "{timestamp}"
                );
                assert!(timestamp.parse::<Timestamp>().is_ok(), "{timestamp}");
                line
            })
            .collect()
    }

    #[test]
    fn a_line_is_one_object_with_the_fields_of_the_spans_around_it_and_each_name_once() {
        let lines = lines_of(|| {
            let request = tracing::info_span!(
                "request",
                request.id = %"r-1",
                instance.id = "i-1",
                correlation.id = "",
                operation = "outer",
            );
            request.in_scope(|| {
                tracing::info_span!("adapter", adapter.call = %"bind", operation = "inner")
                    .in_scope(|| {
                        tracing::warn!(
                            instance.id = "i-2",
                            status = 202_u16,
                            is = true,
                            part = 0.5,
                            unknown = "",
                            "it \"said\"\n"
                        );
                    });
                tracing::info!(none = Option::<u16>::None, "done");
            });
            tracing::error!(target: "audit", "alone");
        });

        let target = module_path!();
        assert_eq!(
            lines,
            [
                json!({"level": "WARN", "message": "it \"said\"\n", "instance.id": "i-2", "status": 202, "is": true,
                    "part": 0.5, "target": target, "adapter.call": "bind", "operation": "inner", "request.id": "r-1"}),
                json!({"level": "INFO", "message": "done", "target": target, "request.id": "r-1", "instance.id": "i-1",
                    "operation": "outer"}),
                json!({"level": "ERROR", "message": "alone", "target": "audit"}),
            ]
        );
    }

    #[test]
    fn a_span_that_learns_a_value_later_has_the_latest_one() {
        let lines = lines_of(|| {
            let span = tracing::info_span!("request", plan = "a", task = tracing::field::Empty);
            span.record("plan", "b");
            span.record("task", 7);
            span.in_scope(|| tracing::info!("done"));
        });
        assert_eq!(
            (&lines[0]["plan"], &lines[0]["task"]),
            (&json!("b"), &json!(7))
        );
    }

    #[test]
    fn a_value_that_logs_while_it_is_formatted_breaks_no_line() {
        struct Talkative;

        impl fmt::Display for Talkative {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                tracing::info!("inner");
                f.write_str("outer")
            }
        }

        let lines = lines_of(|| tracing::info!(value = %Talkative, "both"));
        assert_eq!(lines.last().unwrap()["value"], "outer");
        assert!(lines.iter().all(Value::is_object));
    }
}
