//! What has been found, for people and for programs.

use std::{fmt::Write as _, time::Duration};

use serde_json::{Value, json};

use crate::{
    finding::{Finding, Severity},
    preflight::check::{Format, Sort, problem_json, problem_line},
    preflight::doctor::{
        Diagnosis,
        chart::{Outcome, Row},
        subject::Subject,
    },
};

/// It grows when a key changes its meaning or goes.
const FORMAT: u64 = 1;

impl Diagnosis {
    /// What to print.
    pub fn report(&self, format: Format) -> String {
        match format {
            Format::Text | Format::Snippets(_) => self.text(),
            Format::Json => format!("{:#}\n", self.json()),
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for fault in &self.faults {
            line(&mut text, &problem_line(Sort::Fault, fault));
        }
        for remark in &self.remarks {
            line(&mut text, &problem_line(Sort::Remark, remark));
        }
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
            line(
                &mut text,
                &format!("{mark} {of:subject$}  {by:probe$}  {ms:>took$}  {found}"),
            );
        }
        for (subject, row, finding) in self.findings() {
            line(&mut text, "");
            line(
                &mut text,
                &format!(
                    "{} {} {}, {}",
                    sign(row),
                    finding.code,
                    subject,
                    row.probe.word()
                ),
            );
            line(&mut text, &format!("  tried:  {}", finding.tried));
            line(&mut text, &format!("  came:   {}", finding.found));
            line(&mut text, &format!("  remedy: {}", finding.remedy));
        }
        line(&mut text, "");
        line(&mut text, &self.sum());
        text
    }

    fn sum(&self) -> String {
        let wrong = self.count(Severity::Fault) + self.faults.len();
        let odd = self.count(Severity::Warning) + self.remarks.len();
        let count = |number: usize, noun: &str| {
            let plural = if number == 1 { "" } else { "s" };
            format!("{number} {noun}{plural}")
        };
        format!(
            "{}: {}, {}",
            self.file,
            count(wrong, "fault"),
            count(odd, "warning")
        )
    }

    fn count(&self, severity: Severity) -> usize {
        self.findings()
            .filter(|(_, _, finding)| finding.severity == severity)
            .count()
    }

    fn json(&self) -> Value {
        json!({
            "format": FORMAT,
            "file": self.file,
            "well": self.is_well(),
            "configuration": {
                "faults": self.faults.iter().map(problem_json).collect::<Value>(),
                "remarks": self.remarks.iter().map(problem_json).collect::<Value>(),
            },
            "probes": self.rows().map(|(subject, row)| row_json(subject, row)).collect::<Value>(),
            "findings": self.findings().map(finding_json).collect::<Value>(),
        })
    }
}

fn line(text: &mut String, line: &str) {
    // A string takes everything.
    let _ = writeln!(text, "{}", line.trim_end());
}

fn cells(subject: Subject, row: &Row) -> [String; 5] {
    [
        sign(row).to_owned(),
        subject.title().to_owned(),
        row.probe.word().to_owned(),
        row.took
            .map_or_else(String::new, |took| format!("{} ms", milliseconds(took))),
        row.text().to_owned(),
    ]
}

fn sign(row: &Row) -> &'static str {
    marks(row).0
}

/// What came of a question, as a sign for people and a word for programs.
pub(super) fn marks(row: &Row) -> (&'static str, &'static str) {
    match &row.outcome {
        Outcome::Fine(_) => ("✓", "fine"),
        Outcome::NotAsked(_) => ("–", "not-asked"),
        Outcome::Found(finding) => match finding.severity {
            Severity::Warning => ("⚠", "warning"),
            Severity::Fault => ("✗", "fault"),
        },
    }
}

fn row_json(subject: Subject, row: &Row) -> Value {
    json!({
        "neighbour": subject.word(),
        "probe": row.probe.word(),
        "result": marks(row).1,
        "text": row.text(),
        "took_ms": row.took.map(milliseconds),
    })
}

fn finding_json((subject, row, finding): (Subject, &Row, &Finding)) -> Value {
    json!({
        "severity": marks(row).1,
        "neighbour": subject.word(),
        "probe": row.probe.word(),
        "code": finding.code.to_string(),
        "key": finding.key,
        "tried": finding.tried,
        "came": finding.found,
        "remedy": finding.remedy,
    })
}

fn milliseconds(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}
