//! The output of a command: data on stdout, progress on stderr.

use std::{
    error::Error,
    fmt::Write as _,
    io::{IsTerminal, Write},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use super::error::CfError;

pub(super) struct Screen {
    data: Box<dyn Write + Send>,
    stderr: Box<dyn Write + Send>,
    watcher: Watcher,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watcher {
    /// A person at a terminal, who wants to see that something moves.
    Person,
    /// A file or a pipe, which wants lines.
    Log,
}

impl Screen {
    pub(super) fn of_process() -> Self {
        let watcher = if std::io::stderr().is_terminal() {
            Watcher::Person
        } else {
            Watcher::Log
        };
        Self {
            data: Box::new(std::io::stdout()),
            stderr: Box::new(std::io::stderr()),
            watcher,
        }
    }

    pub(super) fn of(
        data: impl Write + Send + 'static,
        stderr: impl Write + Send + 'static,
    ) -> Self {
        Self {
            data: Box::new(data),
            stderr: Box::new(stderr),
            watcher: Watcher::Log,
        }
    }

    pub(super) fn print(&mut self, data: &[u8]) -> Result<(), CfError> {
        let printed = self.data.write_all(data).and_then(|()| match data.last() {
            Some(b'\n') | None => Ok(()),
            Some(_) => self.data.write_all(b"\n"),
        });
        printed
            .and_then(|()| self.data.flush())
            .map_err(|source| CfError::Print { source })
    }

    /// Prints a line of progress. A failure to print is ignored, because the work does not depend on it.
    pub(super) fn say(&mut self, line: &str) {
        let _ = writeln!(self.stderr, "{line}");
    }

    /// Says why a command failed, cause by cause, and what would help.
    pub(super) fn report_error(&mut self, error: &dyn Error, hint: Option<&str>) {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        self.say(&format!("error: {text}"));
        if let Some(hint) = hint {
            self.say(&format!("\nhint: {hint}"));
        }
    }

    pub(super) fn progress(&mut self, started: Instant) -> Progress<'_> {
        let spinner = match self.watcher {
            Watcher::Person => Some(spinner()),
            Watcher::Log => None,
        };
        Progress {
            screen: self,
            started,
            spinner,
            reported: String::new(),
        }
    }
}

/// Prints each new step of an operation once, with the time since the start.
pub(super) struct Progress<'a> {
    screen: &'a mut Screen,
    started: Instant,
    spinner: Option<ProgressBar>,
    reported: String,
}

impl Progress<'_> {
    pub(super) fn step(&mut self, step: &str) {
        if self.reported == step {
            return;
        }
        step.clone_into(&mut self.reported);
        let line = timed(self.started.elapsed(), step);
        match &self.spinner {
            Some(spinner) => spinner.println(line),
            None => self.screen.say(&line),
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
    }
}

fn timed(elapsed: Duration, step: &str) -> String {
    format!("{:>5.1}s  {step}", elapsed.as_secs_f64())
}

fn spinner() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {elapsed_precise}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    let spinner = ProgressBar::new_spinner().with_style(style);
    spinner.enable_steady_tick(Duration::from_millis(120));
    spinner
}

/// Lines up the rows below the headings, two spaces between columns.
pub(super) fn table<const N: usize>(headings: [&str; N], rows: &[[String; N]]) -> String {
    let mut widths = headings.map(|heading| heading.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = line(&headings, &widths);
    for row in rows {
        text.push_str(&line(row, &widths));
    }
    text
}

/// A line per name and value, the values lined up.
pub(super) fn pairs(pairs: &[(&str, String)]) -> String {
    let width = pairs
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0)
        + 1;
    pairs
        .iter()
        .map(|(name, value)| line(&[&format!("{name}:"), value], &[width, 0]))
        .collect()
}

fn line(cells: &[impl AsRef<str>], widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        // Writing to a string does not fail.
        let _ = write!(line, "{:<width$}  ", cell.as_ref());
    }
    line.truncate(line.trim_end().len());
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::{pairs, table};

    #[test]
    fn columns_line_up_and_lines_end_with_their_last_word() {
        let rows = [
            ["cache".to_owned(), String::new()],
            ["é".to_owned(), "small".to_owned()],
        ];
        assert_eq!(
            table(["name", "plan"], &rows),
            "name   plan\ncache\né      small\n"
        );
    }

    #[test]
    fn values_line_up() {
        assert_eq!(
            pairs(&[("a", "1".to_owned()), ("long", "2".to_owned())]),
            "a:     1\nlong:  2\n"
        );
    }
}
