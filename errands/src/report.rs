//! The outcome of each instance: a JSON document for programs, a table for operators.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap},
    fmt, io,
    time::Duration,
};

use clap::ValueEnum;
use comfy_table::{Table, presets::NOTHING};
use odb_api_types::ids::InstanceId;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{Dependencies, console::harmless};

/// The format of standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Nothing; the log and a summary are on standard error
    #[default]
    Text,
    /// One JSON document with an object per instance
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    Unsuccessful,
    All,
}

/// The outcomes of the instances, in the order in which they became known.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Report {
    errand: &'static str,
    status: RunStatus,
    #[serde(flatten)]
    more: Map<String, Value>,
    counts: BTreeMap<Outcome, usize>,
    instances: Vec<Row>,
    /// The table has no ids of instances that have a name.
    #[serde(skip)]
    hides_ids: bool,
    #[serde(skip)]
    locations: HashMap<InstanceId, usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunStatus {
    Succeeded,
    #[default]
    Failed,
    Stopped,
}

impl RunStatus {
    pub(crate) fn of<T>(ended: &anyhow::Result<T>, dependencies: &Dependencies) -> Self {
        match ended {
            Ok(_) => Self::Succeeded,
            Err(_) if dependencies.stopping.is_cancelled() => Self::Stopped,
            Err(_) => Self::Failed,
        }
    }
}

impl Report {
    pub(crate) fn of(errand: &'static str) -> Self {
        Self {
            errand,
            ..Self::default()
        }
    }

    /// Adds the outcome of an instance. It replaces an earlier row of the same instance.
    pub(crate) fn add(&mut self, row: Row) {
        *self.counts.entry(row.outcome).or_default() += 1;
        if let Some(location) = self.locations.get(&row.instance) {
            let previous = std::mem::replace(&mut self.instances[*location], row);
            if let Some(count) = self.counts.get_mut(&previous.outcome) {
                *count -= 1;
            }
            self.counts.retain(|_, count| *count > 0);
        } else {
            let location = self.instances.len();
            self.locations.insert(row.instance.clone(), location);
            self.instances.push(row);
        }
    }

    /// From now on the table has no ids where every instance of it has a name.
    pub(crate) fn hide_ids(&mut self) {
        self.hides_ids = true;
    }

    /// Adds a member about the complete run at the top of the document.
    pub(crate) fn note(&mut self, name: &str, value: impl Into<Value>) {
        self.more.insert(name.to_owned(), value.into());
    }

    pub(crate) fn count(&self, outcome: Outcome) -> usize {
        self.counts.get(&outcome).copied().unwrap_or_default()
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.instances
    }

    /// Prints the table and the counts to stderr.
    pub(crate) fn show(&self, shown: Shown, dependencies: &Dependencies) {
        for line in self.table(shown).lines() {
            dependencies.console.screen().line(line);
        }
    }

    /// Records how the run has ended and, if that is wanted, prints the document to stdout.
    pub(crate) fn end<T>(
        &mut self,
        ended: &anyhow::Result<T>,
        format: OutputFormat,
        dependencies: &Dependencies,
    ) -> io::Result<()> {
        self.status = RunStatus::of(ended, dependencies);
        if let Err(error) = ended {
            self.note("error", format!("{error:#}"));
        }
        match format {
            OutputFormat::Text => Ok(()),
            OutputFormat::Json => dependencies.print(&self.document()),
        }
    }

    fn document(&self) -> String {
        let document = serde_json::to_string_pretty(self);
        document.expect("a report has text for keys, and nothing fails in it") + "\n"
    }

    /// The table without the columns that are empty everywhere, and the counts below it, such as
    /// `1000 instances: 990 succeeded, 10 failed`.
    fn table(&self, shown: Shown) -> String {
        let rows = self.instances.iter();
        let rows = rows.filter(|row| shown == Shown::All || row.outcome.is_attended());
        let rows: Vec<_> = rows.map(cells).collect();
        let mut text = String::new();
        if !rows.is_empty() {
            let are_named = rows.iter().all(|row| !row[NAME].is_empty());
            let used: Vec<usize> = (0..HEADINGS.len())
                .filter(|column| *column != ID || !self.hides_ids || !are_named)
                .filter(|column| rows.iter().any(|row| !row[*column].is_empty()))
                .collect();
            let of_used =
                |cells: &[String; 8]| used.iter().map(|column| cells[*column].clone()).collect();
            let headings = used.iter().map(|column| HEADINGS[*column]).collect();
            let lines = table_lines(headings, rows.iter().map(of_used).collect());
            text = lines.join("\n") + "\n";
        }
        let total = self.instances.len();
        let noun = if total == 1 { "instance" } else { "instances" };
        let counts = self.counts.iter();
        let counts: Vec<String> = counts
            .map(|(outcome, count)| format!("{count} {outcome}"))
            .collect();
        let colon = if counts.is_empty() { "" } else { ": " };
        text + &format!("{total} {noun}{colon}{}\n", counts.join(", "))
    }
}

/// The outcome of an instance with what is known of it. Unknown values are absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Row {
    #[serde(rename = "service_instance_id")]
    pub(crate) instance: InstanceId,
    /// The user's name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Its plan: the name, else the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plan: Option<String>,
    /// Its organization: the name, else the guid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) organization: Option<String>,
    /// Its space: the name, else the guid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) space: Option<String>,
    pub(crate) outcome: Outcome,
    /// Why, where that is not plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<u64>,
    /// From the request to the end, in seconds.
    #[serde(
        rename = "duration_in_seconds",
        skip_serializing_if = "Option::is_none",
        serialize_with = "in_seconds"
    )]
    pub(crate) duration: Option<Duration>,
}

impl Row {
    pub(crate) fn of(instance: InstanceId, outcome: Outcome) -> Self {
        Self {
            instance,
            name: None,
            plan: None,
            organization: None,
            space: None,
            outcome,
            cause: None,
            task: None,
            duration: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Succeeded,
    Skipped,
    /// Nothing about it would change, and nothing was done.
    Unchanged,
    /// There would be something to do, and nothing was done.
    WouldChange,
    /// The platform does not know it any more.
    Gone,
    /// The instance was purged from the platform because its deletion failed. Parts of it may remain.
    Purged,
    /// The platform knows it, and it has no deployment.
    DeploymentMissing,
    /// Another operation was in progress each time it was tried.
    Busy,
    /// The operation succeeded, but the instance did not become healthy.
    Unhealthy,
    Failed,
    /// It was started, and its outcome is unknown.
    InProgress,
    NotReached,
}

impl Outcome {
    /// Whether the instance needs the operator's attention.
    pub(crate) fn is_attended(self) -> bool {
        self == Self::Purged || !self.is_success()
    }

    pub(crate) fn is_success(self) -> bool {
        match self {
            Self::Succeeded | Self::Skipped | Self::Unchanged | Self::Gone | Self::Purged => true,
            Self::WouldChange
            | Self::DeploymentMissing
            | Self::Busy
            | Self::Unhealthy
            | Self::Failed
            | Self::InProgress
            | Self::NotReached => false,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Succeeded => "succeeded",
            Self::Skipped => "skipped",
            Self::Unchanged => "unchanged",
            Self::WouldChange => "would change",
            Self::Gone => "gone",
            Self::Purged => "purged",
            Self::DeploymentMissing => "deployment missing",
            Self::Busy => "busy",
            Self::Unhealthy => "unhealthy",
            Self::Failed => "failed",
            Self::InProgress => "in progress",
            Self::NotReached => "not reached",
        })
    }
}

#[expect(
    clippy::ref_option,
    reason = "serde hands the field to it by reference"
)]
fn in_seconds<S: Serializer>(
    duration: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match duration {
        Some(duration) => serializer.serialize_u64(duration.as_secs()),
        None => serializer.serialize_none(),
    }
}

/// The columns of an instance's name and id.
const NAME: usize = 0;
const ID: usize = 1;

const HEADINGS: [&str; 8] = [
    "NAME", "INSTANCE", "PLAN", "SPACE", "OUTCOME", "TASK", "TOOK", "CAUSE",
];

fn cells(row: &Row) -> [String; 8] {
    let space = [&row.organization, &row.space];
    let space: Vec<&str> = space.into_iter().flatten().map(String::as_str).collect();
    // One line per instance.
    let cause = row.cause.as_deref().unwrap_or_default();
    let cause = cause.split_whitespace().collect::<Vec<_>>().join(" ");
    [
        row.name.clone().unwrap_or_default(),
        row.instance.to_string(),
        row.plan.clone().unwrap_or_default(),
        space.join("/"),
        row.outcome.to_string(),
        row.task.map(|task| task.to_string()).unwrap_or_default(),
        row.duration.map(took).unwrap_or_default(),
        cause,
    ]
    .map(|cell| harmless(&cell))
}

fn took(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 60 {
        format!("{seconds} s")
    } else {
        format!("{} min {} s", seconds / 60, seconds % 60)
    }
}

/// The lines of a table: columns as wide as their longest cell and two blanks apart.
pub fn table_lines(headings: Vec<&str>, rows: Vec<Vec<String>>) -> Vec<String> {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_header(headings)
        .add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}
