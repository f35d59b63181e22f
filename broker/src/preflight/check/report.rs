//! The report of a check, for operators and for programs.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use odb_config::{ConfigFinding, Excerpt};
use odb_core::finding::Severity;
use serde_json::{Value, json};

use crate::preflight::check::Findings;

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

/// Whether a terminal gets colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// It does.
    On,
    /// It does not.
    Off,
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
        self.inspection.file.display().to_string()
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

fn name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// `FILE:LINE:COLUMN: SEVERITY: KEY what is wrong; what would be right [CODE]`.
pub(crate) fn finding_line(severity: Severity, finding: &ConfigFinding) -> String {
    let file = finding.file.display();
    let location = match finding.location {
        Some((line, column)) => format!("{file}:{line}:{column}"),
        None => file.to_string(),
    };
    let code = finding.code().map(|code| format!(" [{code}]"));
    let (name, code) = (name(severity), code.unwrap_or_default());
    format!("{location}: {name}: {}{code}", finding.text())
}

pub(crate) fn findings_json(findings: &[ConfigFinding]) -> Value {
    let json = |finding: &ConfigFinding| {
        let (line, column) = finding.location.unzip();
        json!({
            "line": line,
            "column": column,
            "key": finding.key,
            "wrong": finding.wrong,
            "right": finding.right,
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

fn snippet(
    severity: Severity,
    finding: &ConfigFinding,
    excerpt: Option<&Excerpt>,
    colour: Colour,
) -> String {
    let level = match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let wrong = match finding.key.as_str() {
        "" => finding.wrong.clone(),
        key => format!("`{key}` {}", finding.wrong),
    };
    let title = level.with_name(name(severity)).primary_title(wrong);
    let title = match finding.code() {
        Some(code) => title.id(code.to_string()),
        None => title,
    };
    let file = finding.file.to_string_lossy();
    let group = Group::with_title(title);
    let number = |number| usize::try_from(number).unwrap_or(usize::MAX);
    let group = if let Some(excerpt) = excerpt {
        let marked = AnnotationKind::Primary.span(excerpt.marked.clone());
        let snippet = Snippet::source(&excerpt.text).line_start(number(excerpt.line));
        group.element(snippet.path(&*file).fold(false).annotation(marked))
    } else {
        let origin = Origin::path(&*file);
        group.element(match finding.location {
            Some((line, column)) => origin.line(number(line)).char_column(number(column)),
            None => origin,
        })
    };
    let group = match finding.right.as_str() {
        "" => group,
        right => group.element(Level::HELP.with_name("remedy").message(right)),
    };
    let renderer = match colour {
        Colour::On => Renderer::styled(),
        Colour::Off => Renderer::plain(),
    };
    renderer.render(&[group])
}
