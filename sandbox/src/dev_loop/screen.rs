//! What the author sees: what happens to the broker, in one line each, on stderr. Stdout is for `ready`.

use std::{error::Error, io::Write};

/// Tells something. Nobody may be looking.
pub(super) fn report(line: &str) {
    let _ = writeln!(std::io::stderr(), "broker: {line}");
}

/// Tells each on a line of its own.
pub(super) fn report_all<T: AsRef<str>>(lines: &[T]) {
    for line in lines {
        report(line.as_ref());
    }
}

/// An error and its causes, as one sentence.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
