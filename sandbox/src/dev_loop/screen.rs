//! The author's screen: one line for each event of the broker, on stderr. Stdout is for `ready`.

use std::{error::Error, io::Write};

pub(super) fn report(line: &str) {
    let _ = writeln!(std::io::stderr(), "broker: {line}");
}

/// Prints each on a line of its own.
pub(super) fn report_all<T: AsRef<str>>(lines: &[T]) {
    for line in lines {
        report(line.as_ref());
    }
}

pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
