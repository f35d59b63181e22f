//! What has been found, for people and for programs.

use odb_config::Problem;
use odb_core::finding::Severity;
use serde_json::{Value, json};

use crate::preflight::check::{
    Findings,
    snippet::{Colour, snippet},
};

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A line for each: `FILE:LINE:COLUMN: error: KEY what is wrong; what would be right [CODE]`, the code where it is not
    /// that of all faults of a file.
    Text,
    /// The same with the line of the file and a caret, for people at a terminal.
    Snippets(Colour),
    /// One JSON document (`docs/operators/configure.md`).
    Json,
}

impl Findings {
    /// What to print.
    pub fn report(&self, format: Format) -> String {
        match format {
            Format::Text => self.text(problem_line),
            Format::Snippets(colour) => self.text(|severity, problem| {
                let excerpt = self.inspection.excerpt(problem);
                // A blank line sets them apart.
                snippet(severity, problem, excerpt.as_ref(), colour) + "\n"
            }),
            Format::Json => format!("{:#}\n", self.json()),
        }
    }

    fn text(&self, show: impl Fn(Severity, &Problem) -> String) -> String {
        let not_checked = self.not_checked.iter();
        let not_checked = not_checked.map(|what| format!("not checked: {what}"));
        let mut lines: Vec<String> = self.lines(show).chain(not_checked).collect();
        let errors = count(self.inspection.errors.len(), "error");
        let warnings = count(self.inspection.warnings.len(), "warning");
        lines.push(format!("{}: {errors}, {warnings}", self.file()));
        lines.join("\n") + "\n"
    }

    /// All faults, then all remarks.
    pub(crate) fn lines(
        &self,
        show: impl Fn(Severity, &Problem) -> String,
    ) -> impl Iterator<Item = String> {
        let errors = self.inspection.errors.iter();
        let errors = errors.map(|error| (Severity::Error, error));
        let warnings = self.inspection.warnings.iter();
        let warnings = warnings.map(|warning| (Severity::Warning, warning));
        errors
            .chain(warnings)
            .map(move |(severity, problem)| show(severity, problem))
    }

    pub(crate) fn file(&self) -> String {
        self.inspection.file().display().to_string()
    }

    fn json(&self) -> Value {
        json!({
            "format": 1,
            "file": self.file(),
            "fine": self.is_fine(),
            "errors": problems_json(&self.inspection.errors),
            "warnings": problems_json(&self.inspection.warnings),
            "not_checked": self.not_checked,
        })
    }
}

/// What a problem of a file is called.
pub(super) fn name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// `FILE:LINE:COLUMN: SEVERITY: KEY what is wrong; what would be right [CODE]`.
pub(crate) fn problem_line(severity: Severity, problem: &Problem) -> String {
    let file = problem.file().display();
    let location = match problem.location() {
        Some((line, column)) => format!("{file}:{line}:{column}"),
        None => file.to_string(),
    };
    let code = problem.code().map(|code| format!(" [{code}]"));
    let (name, code) = (name(severity), code.unwrap_or_default());
    format!("{location}: {name}: {}{code}", problem.sentence())
}

/// Problems as a JSON document has them.
pub(crate) fn problems_json(problems: &[Problem]) -> Value {
    let json = |problem: &Problem| {
        let (line, column) = problem.location().unzip();
        json!({
            "line": line,
            "column": column,
            "key": problem.key(),
            "wrong": problem.wrong(),
            "right": problem.right(),
            "code": problem.code().map(|code| code.to_string()),
        })
    };
    problems.iter().map(json).collect()
}

/// `1 error`, `2 errors`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
