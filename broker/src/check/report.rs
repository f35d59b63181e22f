//! What has been found, for people and for programs.

use std::fmt;

use serde_json::{Value, json};

use super::Findings;
use crate::config::Problem;

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A line for each: `FILE:LINE:COLUMN: fault: KEY what is wrong; what would be right`.
    Text,
    /// One JSON document (`docs/operators/configuration.md`).
    Json,
}

impl Findings {
    /// What to print.
    pub fn report(&self, format: Format) -> String {
        match format {
            Format::Text => self.text(),
            Format::Json => format!("{:#}\n", self.json()),
        }
    }

    fn text(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        lines.extend(self.faults.iter().map(|fault| line("fault", fault)));
        lines.extend(self.remarks.iter().map(|remark| line("remark", remark)));
        lines.extend(
            self.not_checked
                .iter()
                .map(|what| format!("not checked: {what}")),
        );
        let (faults, remarks) = (
            Count(self.faults.len(), "fault"),
            Count(self.remarks.len(), "remark"),
        );
        lines.push(format!("{}: {faults}, {remarks}", self.file));
        lines.join("\n") + "\n"
    }

    fn json(&self) -> Value {
        json!({
            "format": 1,
            "file": self.file,
            "fine": self.is_fine(),
            "faults": self.faults.iter().map(problem).collect::<Value>(),
            "remarks": self.remarks.iter().map(problem).collect::<Value>(),
            "not_checked": self.not_checked,
        })
    }
}

fn line(sort: &str, problem: &Problem) -> String {
    let file = problem.file().display();
    let place = match problem.place() {
        Some((line, column)) => format!("{file}:{line}:{column}"),
        None => file.to_string(),
    };
    format!("{place}: {sort}: {}", problem.sentence())
}

fn problem(problem: &Problem) -> Value {
    let (line, column) = problem.place().unzip();
    json!({
        "line": line,
        "column": column,
        "key": problem.key(),
        "wrong": problem.wrong(),
        "right": problem.right(),
    })
}

struct Count(usize, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} {}{plural}", self.0, self.1)
    }
}
