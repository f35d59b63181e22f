//! What the operator sees: the log and what must not stand in it, the metrics, the lines of telemetry.

mod chain;
mod json_lines;
mod log;
pub mod metrics;
mod redaction;
mod usage;

pub use chain::Chain;
pub use log::{InvalidLogFilter, LogFilter, LogFormat, LogStream, start_log};
pub use metrics::metrics;
pub use redaction::{Redaction, redact};
pub use usage::{Usage, UsageEvent};
