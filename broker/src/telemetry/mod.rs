//! What the operator sees: the log and what must not stand in it, the metrics, the lines of telemetry.

mod json_lines;
mod log;

pub use log::{InvalidLogFilter, LogFilter, LogFormat, LogStream, start_log};
pub use odb_core::metrics::{self, metrics};
pub use odb_redaction::{Chain, Redaction, redact};
