//! What the operator sees: the log, and what must not stand in it.

mod chain;
mod log;
mod redaction;

pub use chain::Chain;
pub use log::{InvalidLogFilter, LogFilter, LogFormat, start_log};
pub use redaction::{Redaction, redact};
