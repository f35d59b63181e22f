//! The outcome of each instance: a JSON document for programs, a table for operators.
//!
//! | file | contents |
//! | --- | --- |
//! | `row` | one instance |
//! | `table` | the rows in columns |

mod row;
mod table;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
    io,
};

use clap::ValueEnum;
use odb_api_types::ids::InstanceId;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::Dependencies;

pub use row::{Outcome, Row};

/// The format of standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Nothing: people read standard error
    #[default]
    Text,
    /// One JSON document with an object per instance
    Json,
}

/// Which rows people are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Only instances that may need the operator's attention.
    Unsuccessful,
    /// All of them.
    All,
}

/// The outcomes of the instances, in the order in which they became known.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    errand: &'static str,
    /// The status of the run.
    status: RunStatus,
    /// Further members of the document, by name.
    #[serde(flatten)]
    more: Map<String, Value>,
    counts: BTreeMap<Outcome, usize>,
    instances: Vec<Row>,
    #[serde(skip)]
    places: HashMap<InstanceId, usize>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Everything is as requested.
    Succeeded,
    /// Something is not.
    #[default]
    Failed,
    /// A signal came first.
    Stopped,
}

impl Report {
    /// The report of an errand, with nothing in it.
    pub fn of(errand: &'static str) -> Self {
        Self {
            errand,
            ..Self::default()
        }
    }

    /// Adds the outcome of an instance. It replaces an earlier row of the same instance.
    pub fn add(&mut self, row: Row) {
        *self.counts.entry(row.outcome).or_default() += 1;
        if let Some(place) = self.places.get(&row.instance) {
            let previous = std::mem::replace(&mut self.instances[*place], row);
            if let Some(count) = self.counts.get_mut(&previous.outcome) {
                *count -= 1;
            }
            self.counts.retain(|_, count| *count > 0);
        } else {
            let place = self.instances.len();
            self.places.insert(row.instance.clone(), place);
            self.instances.push(row);
        }
    }

    /// Adds a member about the complete run at the top of the document.
    pub fn note(&mut self, name: &str, value: impl Into<Value>) {
        self.more.insert(name.to_owned(), value.into());
    }

    /// The errand that reports.
    pub fn errand(&self) -> &'static str {
        self.errand
    }

    /// Records that the run has failed, whatever the outcomes of the instances.
    pub fn fail(&mut self, status: RunStatus, error: String) {
        self.status = status;
        self.note("error", error);
    }

    /// How many instances have this outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.counts.get(&outcome).copied().unwrap_or_default()
    }

    /// The rows.
    pub fn rows(&self) -> &[Row] {
        &self.instances
    }

    /// Prints the table and the counts to stderr and, if requested, the document to stdout.
    ///
    /// # Errors
    ///
    /// stdout cannot be written.
    pub fn print(
        &mut self,
        status: RunStatus,
        format: OutputFormat,
        shown: Shown,
        dependencies: &Dependencies,
    ) -> io::Result<()> {
        self.status = status;
        let screen = dependencies.console.screen();
        for line in self.table(shown).lines() {
            screen.line(line);
        }
        match format {
            OutputFormat::Text => Ok(()),
            OutputFormat::Json => dependencies.print(&self.document()),
        }
    }

    /// The document, which ends in a newline.
    pub fn document(&self) -> String {
        let document = serde_json::to_string_pretty(self);
        document.expect("a report has text for keys, and nothing fails in it") + "\n"
    }

    /// The table, and the counts below it.
    pub fn table(&self, shown: Shown) -> String {
        let rows: Vec<&Row> = self
            .instances
            .iter()
            .filter(|row| shown == Shown::All || row.outcome.is_attended())
            .collect();
        let mut text = table::of(&rows);
        let _ = write!(text, "{}", self.summary());
        text
    }

    /// `1000 instances: 990 succeeded, 10 failed`.
    fn summary(&self) -> String {
        let total = self.instances.len();
        let noun = if total == 1 { "instance" } else { "instances" };
        let counts: Vec<String> = self
            .counts
            .iter()
            .map(|(outcome, count)| format!("{count} {outcome}"))
            .collect();
        if counts.is_empty() {
            format!("{total} {noun}\n")
        } else {
            format!("{total} {noun}: {}\n", counts.join(", "))
        }
    }
}
