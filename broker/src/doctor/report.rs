//! What has been found, for people and for programs.

use std::{fmt::Write as _, time::Duration};

use serde_json::{Value, json};

use super::{
    Diagnosis,
    chart::{Finding, Mark, Row},
};
use crate::check::{Format, Sort, problem_json, problem_line};

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
        let rows: Vec<[String; 5]> = self.rows().map(cells).collect();
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
        for finding in self.findings() {
            line(&mut text, "");
            let trouble = &finding.trouble;
            line(
                &mut text,
                &format!(
                    "{} {} {}, {}",
                    sign(finding.mark),
                    trouble.code,
                    finding.subject,
                    finding.probe.word()
                ),
            );
            line(&mut text, &format!("  tried:  {}", trouble.tried));
            line(&mut text, &format!("  came:   {}", trouble.came));
            line(&mut text, &format!("  remedy: {}", trouble.remedy));
        }
        line(&mut text, "");
        line(&mut text, &self.sum());
        text
    }

    fn sum(&self) -> String {
        let wrong = self.count(Mark::Wrong) + self.faults.len();
        let odd = self.count(Mark::Odd) + self.remarks.len();
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

    fn count(&self, mark: Mark) -> usize {
        self.findings()
            .filter(|finding| finding.mark == mark)
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
            "probes": self.rows().map(row).collect::<Value>(),
            "findings": self.findings().map(finding).collect::<Value>(),
        })
    }
}

fn line(text: &mut String, line: &str) {
    // A string takes everything.
    let _ = writeln!(text, "{}", line.trim_end());
}

fn cells(row: &Row) -> [String; 5] {
    [
        sign(row.mark).to_owned(),
        row.subject.title().to_owned(),
        row.probe.word().to_owned(),
        row.took
            .map_or_else(String::new, |took| format!("{} ms", milliseconds(took))),
        row.text.clone(),
    ]
}

fn sign(mark: Mark) -> &'static str {
    match mark {
        Mark::Fine => "✓",
        Mark::Odd => "⚠",
        Mark::Wrong => "✗",
        Mark::NotAsked => "–",
    }
}

fn word(mark: Mark) -> &'static str {
    match mark {
        Mark::Fine => "fine",
        Mark::Odd => "warning",
        Mark::Wrong => "fault",
        Mark::NotAsked => "not-asked",
    }
}

fn row(row: &Row) -> Value {
    json!({
        "neighbour": row.subject.word(),
        "probe": row.probe.word(),
        "result": word(row.mark),
        "text": row.text,
        "took_ms": row.took.map(milliseconds),
    })
}

fn finding(finding: &Finding) -> Value {
    let trouble = &finding.trouble;
    json!({
        "severity": word(finding.mark),
        "neighbour": finding.subject.word(),
        "probe": finding.probe.word(),
        "code": trouble.code.to_string(),
        "key": trouble.key,
        "tried": trouble.tried,
        "came": trouble.came,
        "remedy": trouble.remedy,
    })
}

fn milliseconds(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}
