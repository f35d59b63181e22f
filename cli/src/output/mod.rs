//! Standard output: a table for people, JSON or YAML for programs.

mod table;

use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use anyhow::Context;
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use odb_adapter_sdk::yaml;
use odb_api_types::management::OperationState;
use serde::Serialize;

use crate::environment::Environment;
pub(crate) use table::Table;

/// How results are printed, on every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    /// Format of the result.
    #[arg(short, long, value_enum, default_value_t, global = true)]
    output: Format,
    /// Leave out the headings of tables.
    #[arg(long, global = true)]
    no_headers: bool,
    /// When to use colour. `NO_COLOR` turns it off, too.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t, global = true)]
    color: Colour,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Columns that fit the terminal
    #[default]
    Table,
    /// All columns, uncut
    Wide,
    /// For programs: the members of the management API
    Json,
    /// The same as YAML
    Yaml,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Colour {
    /// On a terminal
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Where and how results are printed.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) format: Format,
    has_headings: bool,
    has_colour: bool,
    /// The width of the terminal, if it is one.
    width: Option<usize>,
}

impl Output {
    /// The standard output of this process.
    pub(crate) fn of(flags: &OutputFlags, environment: &Environment) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let width = terminal_size::terminal_size_of(io::stdout());
        Self {
            format: flags.output,
            has_headings: !flags.no_headers,
            has_colour: match flags.color {
                Colour::Always => true,
                Colour::Never => false,
                Colour::Auto => {
                    let is_dumb = environment.get("TERM").is_some_and(|term| term == "dumb");
                    is_terminal && !environment.has("NO_COLOR") && !is_dumb
                }
            },
            width: width.map(|(width, _)| usize::from(width.0)),
        }
    }

    /// Whether people read it.
    pub(crate) fn is_for_people(&self) -> bool {
        matches!(self.format, Format::Table | Format::Wide)
    }

    /// Prints a result: `value` for programs, `table` for people.
    pub(crate) fn print(&self, value: &impl Serialize, table: &Table) -> anyhow::Result<()> {
        match self.format {
            Format::Table | Format::Wide => self.text(&self.lines(table)),
            Format::Json | Format::Yaml => self.document(value),
        }
    }

    /// Prints a result: `value` for programs, `text` for people.
    pub(crate) fn print_text(&self, value: &impl Serialize, text: &str) -> anyhow::Result<()> {
        match self.format {
            Format::Table | Format::Wide => self.text(text),
            Format::Json | Format::Yaml => self.document(value),
        }
    }

    fn document(&self, value: &impl Serialize) -> anyhow::Result<()> {
        let text = if self.format == Format::Yaml {
            yaml::to_string(value)?
        } else {
            serde_json::to_string_pretty(value)? + "\n"
        };
        self.text(&text)
    }

    /// The table as text; cut to the terminal unless all is wanted.
    pub(crate) fn lines(&self, table: &Table) -> String {
        let width = self.width.filter(|_| self.format != Format::Wide);
        table.text(self.has_headings, width, self.has_colour)
    }

    /// A text in the colour of its state.
    pub(crate) fn toned(&self, tone: Tone, text: &str) -> String {
        tone.apply(text, self.has_colour)
    }

    /// A reader that has closed the pipe is not an error.
    #[expect(clippy::unused_self, reason = "it is this output")]
    pub(crate) fn text(&self, text: &str) -> anyhow::Result<()> {
        let mut stdout = io::stdout().lock();
        let written = stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush());
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.context("cannot write the result"),
        }
    }
}

/// What a colour means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Good,
    Busy,
    Bad,
}

impl Tone {
    pub(crate) fn of(state: OperationState) -> Self {
        match state {
            OperationState::InProgress => Self::Busy,
            OperationState::Succeeded => Self::Plain,
            OperationState::Failed => Self::Bad,
        }
    }

    fn apply(self, text: &str, has_colour: bool) -> String {
        let colour = match self {
            Self::Plain => None,
            Self::Good => Some(AnsiColor::Green),
            Self::Busy => Some(AnsiColor::Yellow),
            Self::Bad => Some(AnsiColor::Red),
        };
        match colour.filter(|_| has_colour && !text.is_empty()) {
            Some(colour) => {
                let style = Style::new().fg_color(Some(colour.into()));
                format!("{style}{text}{style:#}")
            }
            None => text.to_owned(),
        }
    }
}

/// The words of a state.
pub(crate) fn state_text(state: OperationState) -> &'static str {
    match state {
        OperationState::InProgress => "in progress",
        OperationState::Succeeded => "succeeded",
        OperationState::Failed => "failed",
    }
}

/// How long ago something was, in the largest unit that fits.
pub(crate) fn age(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(then).as_secs().max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_the_largest_unit_that_fits() {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        for (seconds, expected) in [(5, "5 s"), (120, "2 min"), (7_300, "2 h"), (200_000, "2 d")] {
            let then = now - jiff::SignedDuration::from_secs(seconds);
            assert_eq!(age(then, now), expected);
        }
        assert_eq!(age(now, now - jiff::SignedDuration::from_secs(9)), "0 s");
    }
}
