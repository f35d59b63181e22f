//! The rows in columns.

use std::time::Duration;

use super::row::Row;
use crate::{console::harmless, table};

const HEADINGS: [&str; 7] = [
    "INSTANCE", "PLAN", "SPACE", "OUTCOME", "TASK", "TOOK", "CAUSE",
];

/// Headings and rows, each line ending in a newline; nothing without rows. A column that is empty everywhere is left
/// out.
pub(super) fn of(rows: &[&Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let cells: Vec<[String; 7]> = rows.iter().map(|row| cells(row)).collect();
    let used: Vec<usize> = (0..HEADINGS.len())
        .filter(|column| cells.iter().any(|row| !row[*column].is_empty()))
        .collect();
    let headings = used.iter().map(|column| HEADINGS[*column]).collect();
    let rows = cells
        .iter()
        .map(|row| used.iter().map(|column| row[*column].clone()).collect())
        .collect();
    table::lines(headings, rows).join("\n") + "\n"
}

fn cells(row: &Row) -> [String; 7] {
    let space = [&row.organization, &row.space];
    let space: Vec<&str> = space.into_iter().flatten().map(String::as_str).collect();
    // One line per instance.
    let cause = row.cause.as_deref().unwrap_or_default();
    let cause = cause.split_whitespace().collect::<Vec<_>>().join(" ");
    [
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
