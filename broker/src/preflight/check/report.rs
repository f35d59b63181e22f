//! The report of a check, for operators and for programs.

use odb_config::ConfigFinding;
use odb_core::finding::Severity;
use serde_json::{Value, json};

use crate::preflight::check::{
    Findings,
    snippet::{Colour, snippet},
};

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A line for each: `FILE:LINE:COLUMN: error: KEY what is wrong; what would be right [CODE]`, with the code unless
    /// it is that of all errors in a file.
    Text,
    /// The same with the line of the file and a caret, for people at a terminal.
    Snippets(Colour),
    /// One JSON document (`docs/operators/configure.md`).
    Json,
}

impl Findings {
    /// The text to print.
    pub fn report(&self, format: Format) -> String {
        match format {
            Format::Text => self.text(finding_line),
            Format::Snippets(colour) => self.text(|severity, finding| {
                let excerpt = self.inspection.excerpt(finding);
                // A blank line sets them apart.
                snippet(severity, finding, excerpt.as_ref(), colour) + "\n"
            }),
            Format::Json => format!("{:#}\n", self.json()),
        }
    }

    fn text(&self, show: impl Fn(Severity, &ConfigFinding) -> String) -> String {
        let not_checked = self.not_checked.iter();
        let not_checked = not_checked.map(|what| format!("not checked: {what}"));
        let mut lines: Vec<String> = self.lines(show).chain(not_checked).collect();
        let errors = count(self.inspection.errors.len(), "error");
        let warnings = count(self.inspection.warnings.len(), "warning");
        lines.push(format!("{}: {errors}, {warnings}", self.file()));
        lines.join("\n") + "\n"
    }

    /// All errors, then all warnings.
    pub(crate) fn lines(
        &self,
        show: impl Fn(Severity, &ConfigFinding) -> String,
    ) -> impl Iterator<Item = String> {
        let errors = self.inspection.errors.iter();
        let errors = errors.map(|error| (Severity::Error, error));
        let warnings = self.inspection.warnings.iter();
        let warnings = warnings.map(|warning| (Severity::Warning, warning));
        errors
            .chain(warnings)
            .map(move |(severity, finding)| show(severity, finding))
    }

    pub(crate) fn file(&self) -> String {
        self.inspection.file().display().to_string()
    }

    fn json(&self) -> Value {
        json!({
            "format": 1,
            "file": self.file(),
            "fine": self.is_fine(),
            "errors": findings_json(&self.inspection.errors),
            "warnings": findings_json(&self.inspection.warnings),
            "not_checked": self.not_checked,
        })
    }
}

/// The name of a severity.
pub(super) fn name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// `FILE:LINE:COLUMN: SEVERITY: KEY what is wrong; what would be right [CODE]`.
pub(crate) fn finding_line(severity: Severity, finding: &ConfigFinding) -> String {
    let file = finding.file().display();
    let location = match finding.location() {
        Some((line, column)) => format!("{file}:{line}:{column}"),
        None => file.to_string(),
    };
    let code = finding.code().map(|code| format!(" [{code}]"));
    let (name, code) = (name(severity), code.unwrap_or_default());
    format!("{location}: {name}: {}{code}", finding.text())
}

/// Problems as a JSON document has them.
pub(crate) fn findings_json(findings: &[ConfigFinding]) -> Value {
    let json = |finding: &ConfigFinding| {
        let (line, column) = finding.location().unzip();
        json!({
            "line": line,
            "column": column,
            "key": finding.key(),
            "wrong": finding.wrong(),
            "right": finding.right(),
            "code": finding.code().map(|code| code.to_string()),
        })
    };
    findings.iter().map(json).collect()
}

/// `1 error`, `2 errors`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
