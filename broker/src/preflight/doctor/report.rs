//! The report, for operators and for programs.

use std::time::Duration;

use odb_config::Inspection;
use odb_core::finding::{Finding, Severity};
use serde_json::{Value, json};

use crate::preflight::{
    chart::{Row, Subject},
    check::{Format, count, finding_line, findings_json},
    doctor::Diagnosis,
};

/// Increases when a key changes its meaning or is removed.
const FORMAT: u64 = 1;

impl Diagnosis {
    /// The text to print.
    pub fn report(&self, format: Format) -> String {
        match format {
            Format::Text | Format::Snippets(_) => self.text(),
            Format::Json => format!("{:#}\n", self.json()),
        }
    }

    fn text(&self) -> String {
        let mut lines: Vec<String> = self.configuration.lines(finding_line).collect();
        let rows: Vec<[String; 5]> = self
            .rows()
            .map(|(subject, row)| cells(subject, row))
            .collect();
        let width = |column: usize| {
            let cells = rows.iter().map(|cells| cells[column].chars().count());
            cells.max().unwrap_or_default()
        };
        let (subject, probe, took) = (width(1), width(2), width(3));
        for [mark, of, by, ms, found] in &rows {
            lines.push(format!(
                "{mark} {of:subject$}  {by:probe$}  {ms:>took$}  {found}"
            ));
        }
        for (subject, row, finding) in self.findings() {
            let (sign, code, probe) = (row.marks().0, finding.code, row.probe);
            lines.extend([
                String::new(),
                format!("{sign} {code} {subject}, {probe}"),
                format!("  tried:  {}", finding.tried),
                format!("  came:   {}", finding.came()),
                format!("  remedy: {}", finding.remedy),
            ]);
        }
        let Inspection {
            errors, warnings, ..
        } = &self.configuration.inspection;
        let errors = count(self.count(Severity::Error) + errors.len(), "error");
        let warnings = count(self.count(Severity::Warning) + warnings.len(), "warning");
        let file = self.configuration.file();
        lines.extend([String::new(), format!("{file}: {errors}, {warnings}")]);
        let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
        lines.join("\n") + "\n"
    }

    fn json(&self) -> Value {
        let inspection = &self.configuration.inspection;
        json!({
            "format": FORMAT,
            "file": self.configuration.file(),
            "well": self.is_well(),
            "configuration": {
                "errors": findings_json(&inspection.errors),
                "warnings": findings_json(&inspection.warnings),
            },
            "probes": self.rows().map(|(subject, row)| row_json(subject, row)).collect::<Value>(),
            "findings": self.findings().map(finding_json).collect::<Value>(),
        })
    }
}

fn cells(subject: Subject, row: &Row) -> [String; 5] {
    let took = row.took.map(|took| format!("{} ms", milliseconds(took)));
    [
        row.marks().0.to_owned(),
        subject.to_string(),
        row.probe.to_string(),
        took.unwrap_or_default(),
        row.text().to_owned(),
    ]
}

fn row_json(subject: Subject, row: &Row) -> Value {
    json!({
        "upstream": subject.names().1,
        "probe": row.probe,
        "result": row.marks().1,
        "text": row.text(),
        "took_ms": row.took.map(milliseconds),
    })
}

fn finding_json((subject, row, finding): (Subject, &Row, &Finding)) -> Value {
    json!({
        "severity": row.marks().1,
        "upstream": subject.names().1,
        "probe": row.probe,
        "code": finding.code.to_string(),
        "key": finding.key,
        "tried": finding.tried,
        "came": finding.came(),
        "remedy": finding.remedy,
    })
}

fn milliseconds(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}
