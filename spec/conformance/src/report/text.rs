//! For people: what is wrong with its evidence, what was not shown, and a summary.

use std::fmt::Write as _;

use super::{reason, shown_by};
use crate::{CheckResult, Report, RunState};

pub(super) fn write(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_to(&mut text, report);
    text
}

fn write_to(text: &mut String, report: &Report) -> std::fmt::Result {
    for result in &report.results {
        let word = match result.state() {
            RunState::Passed => "passed ",
            RunState::Failed => "FAILED ",
            RunState::Warning => "warning",
            RunState::Skipped => "skipped",
        };
        let rule = &result.rule;
        writeln!(
            text,
            "{word}  {:<6} {:<6}  {}",
            rule.id,
            rule.level.to_string(),
            rule.text
        )?;
        evidence(text, result)?;
    }
    for left in &report.left_behind {
        writeln!(
            text,
            "\nleft behind: service instance {}: {}",
            left.instance, left.why
        )?;
    }
    let count = |state| report.count(state);
    writeln!(
        text,
        "\n{} passed, {} failed, {} warnings, {} skipped in {} s",
        count(RunState::Passed),
        count(RunState::Failed),
        count(RunState::Warning),
        count(RunState::Skipped),
        report.took.as_secs()
    )
}

fn evidence(text: &mut String, result: &CheckResult) -> std::fmt::Result {
    if let Some(reason) = reason(&result.outcome) {
        writeln!(text, "         {reason}")?;
    }
    if let Some(exchange) = shown_by(&result.outcome) {
        for line in exchange.to_string().lines() {
            writeln!(text, "           {line}")?;
        }
    }
    Ok(())
}
