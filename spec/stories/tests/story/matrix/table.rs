//! The results of the cases.

use std::fmt::Write;

/// One case.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) operation: String,
    pub(super) call: String,
    /// The fault of the call.
    pub(super) event: String,
    /// The answer to the platform.
    pub(super) answer: String,
    /// How it ended.
    pub(super) end: String,
    /// The promise that was broken.
    pub(super) message: Option<String>,
}

impl Row {
    /// The title of the case.
    pub(super) fn title(&self) -> String {
        format!("{}, {}, {}", self.operation, self.call, self.event)
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) origin: String,
    pub(super) rows: Vec<Row>,
}

impl Table {
    /// Prints them, and fails the test if a promise was broken.
    pub(super) fn conclude(mut self) {
        self.rows.sort_by(|a, b| {
            let key = |row: &Row| (row.operation.clone(), row.call.clone(), row.event.clone());
            key(a).cmp(&key(b))
        });
        println!("{}", self.text());
        let broken: Vec<&Row> = self
            .rows
            .iter()
            .filter(|row| row.message.is_some())
            .collect();
        let mut errors = String::new();
        for row in &broken {
            let message = row.message.as_deref().unwrap_or_default();
            let _ = writeln!(errors, "\n{}: {message}", row.title());
        }
        assert!(
            broken.is_empty(),
            "{} cases have failed ({}):{errors}",
            broken.len(),
            self.origin
        );
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n", self.origin);
        let width = |of: fn(&Row) -> &String| {
            let longest = self.rows.iter().map(|row| of(row).chars().count()).max();
            longest.unwrap_or_default()
        };
        let (operation, call) = (width(|row| &row.operation), width(|row| &row.call));
        let (event, answer) = (width(|row| &row.event), width(|row| &row.answer));
        for row in &self.rows {
            let mark = if row.message.is_some() { "FAILED" } else { "" };
            let line = format!(
                "{:operation$}  {:call$}  {:event$}  {:answer$}  {} {mark}",
                row.operation, row.call, row.event, row.answer, row.end
            );
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }
}
