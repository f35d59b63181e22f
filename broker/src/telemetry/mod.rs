//! What the operator sees: the log and what must not stand in it, the metrics, the lines of telemetry.

mod json_lines;
mod log;
pub mod metrics;
mod usage;

pub use log::{InvalidLogFilter, LogFilter, LogFormat, LogStream, start_log};
pub use metrics::metrics;
pub use odb_redaction::{Chain, Redaction, redact};
pub use usage::{Usage, UsageEvent};
