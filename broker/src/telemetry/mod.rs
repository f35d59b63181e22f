//! The log for the operator: JSON lines; text where a person sits at a terminal. The traces, if they are exported.

mod json_lines;
#[cfg_attr(not(feature = "otlp"), path = "without_otlp.rs")]
mod otlp;
mod traces;

use std::{io, str::FromStr};

use odb_clients::http::trace::SPANS;
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    fmt::{self, writer::BoxMakeWriter},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use json_lines::JsonLines;
pub use otlp::{Exporter, start_log_and_traces};
pub use traces::RegisteredSpans;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Json,
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogStream {
    Stdout,
    Stderr,
}

/// The log filter: a level, or a list of `target=level` with at most one level for the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct LogFilter(Targets);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{part}` is not a level (off, error, warn, info, debug, trace) and not `target=level`")]
pub struct InvalidLogFilter {
    part: String,
}

impl FromStr for LogFilter {
    type Err = InvalidLogFilter;

    fn from_str(text: &str) -> Result<Self, InvalidLogFilter> {
        // Turned off only by name: the audit does not depend on levels.
        let mut targets = Targets::new().with_target("audit", LevelFilter::INFO);
        for part in text.split(',').map(str::trim) {
            let invalid = || InvalidLogFilter {
                part: part.to_owned(),
            };
            let (target, level) = part.rsplit_once('=').unwrap_or(("", part));
            let level = match level {
                "" => return Err(invalid()),
                level => LevelFilter::from_str(level).map_err(|_| invalid())?,
            };
            targets = if target.is_empty() {
                targets.with_default(level)
            } else {
                targets.with_target(target, level)
            };
        }
        // Exported spans are no part of the log: where nothing exports them, they are off.
        Ok(Self(targets.with_target(SPANS, LevelFilter::OFF)))
    }
}

/// Starts logging for the process. A second call changes nothing.
pub fn start_log(stream: LogStream, format: LogFormat, filter: &LogFilter) {
    let writer = writer(stream);
    let registry = tracing_subscriber::registry().with(filter.0.clone());
    let started = match format {
        LogFormat::Json => registry.with(JsonLines::new(writer)).try_init(),
        LogFormat::Text => registry.with(fmt::layer().with_writer(writer)).try_init(),
    };
    // Only tests start a log twice; the first one stays.
    drop(started);
}

fn writer(stream: LogStream) -> BoxMakeWriter {
    match stream {
        LogStream::Stdout => BoxMakeWriter::new(io::stdout),
        LogStream::Stderr => BoxMakeWriter::new(io::stderr),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_would_silence_the_log_by_mistake_is_refused() {
        for (text, fine) in [
            ("info", true),
            ("info,on_demand_broker=debug", true),
            ("odb_engine_bosh::reconciler=trace", true),
            ("loud", false),
            ("", false),
            ("info,", false),
            ("trace=", false),
            ("info,on_demand_broker=verbose", false),
        ] {
            assert_eq!(text.parse::<LogFilter>().is_ok(), fine, "{text}");
        }
    }
}
