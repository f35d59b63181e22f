//! What has been found, for people and for programs.

use std::fmt;

use serde_json::{Value, json};

use crate::{
    config::Problem,
    preflight::check::{
        Findings,
        snippet::{Colour, snippet},
    },
};

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A line for each: `FILE:LINE:COLUMN: fault: KEY what is wrong; what would be right [CODE]`, the code where it is not
    /// that of all faults of a file.
    Text,
    /// The same with the line of the file and a caret, for people at a terminal.
    Snippets(Colour),
    /// One JSON document (`docs/operators/configuration.md`).
    Json,
}

/// What a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// It keeps the broker from working.
    Fault,
    /// It is odd.
    Remark,
}

impl Sort {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fault => "fault",
            Self::Remark => "remark",
        }
    }
}

impl Findings {
    /// What to print.
    pub fn report(&self, format: Format) -> String {
        match format {
            Format::Text => self.text(problem_line),
            Format::Snippets(colour) => self.text(|sort, problem| {
                let excerpt = self.excerpt(problem);
                // A blank line sets them apart.
                snippet(sort, problem, excerpt.as_ref(), colour) + "\n"
            }),
            Format::Json => format!("{:#}\n", self.json()),
        }
    }

    fn text(&self, show: impl Fn(Sort, &Problem) -> String) -> String {
        let faults = self.faults.iter().map(|fault| show(Sort::Fault, fault));
        let remarks = self.remarks.iter().map(|remark| show(Sort::Remark, remark));
        let not_checked = self.not_checked.iter();
        let not_checked = not_checked.map(|what| format!("not checked: {what}"));
        let mut lines: Vec<String> = faults.chain(remarks).chain(not_checked).collect();
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
            "faults": self.faults.iter().map(problem_json).collect::<Value>(),
            "remarks": self.remarks.iter().map(problem_json).collect::<Value>(),
            "not_checked": self.not_checked,
        })
    }
}

/// `FILE:LINE:COLUMN: SORT: KEY what is wrong; what would be right [CODE]`.
pub(crate) fn problem_line(sort: Sort, problem: &Problem) -> String {
    let file = problem.file().display();
    let place = match problem.place() {
        Some((line, column)) => format!("{file}:{line}:{column}"),
        None => file.to_string(),
    };
    let code = problem.code().map(|code| format!(" [{code}]"));
    format!(
        "{place}: {}: {}{}",
        sort.name(),
        problem.sentence(),
        code.unwrap_or_default()
    )
}

/// A problem as a JSON document has it.
pub(crate) fn problem_json(problem: &Problem) -> Value {
    let (line, column) = problem.place().unzip();
    json!({
        "line": line,
        "column": column,
        "key": problem.key(),
        "wrong": problem.wrong(),
        "right": problem.right(),
        "code": problem.code().map(|code| code.to_string()),
    })
}

struct Count(usize, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} {}{plural}", self.0, self.1)
    }
}
