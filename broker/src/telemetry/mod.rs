//! The log for the operator.

mod json_lines;
mod log;

pub use log::{InvalidLogFilter, LogFilter, LogFormat, LogStream, start_log};
