//! Looks at a configuration from all sides without serving: everything that would keep a broker from working, at once.
//!
//! | file | checks |
//! | --- | --- |
//! | `certificates` | the broker's own certificate and key, trust roots, when they expire |
//! | `report` | nothing; it prints what has been found |
//!
//! The file itself is checked by [`config`](crate::config), adapter and neighbours as at a start.

mod certificates;
mod report;

use std::{error::Error, ffi::OsString, io, path::Path};

use jiff::Timestamp;

use crate::{
    config::{Config, Inspection, Paths, PlanSchemaSupport, Problem, Sections},
    start_up::{self, Examined, StartUpFault, StartUpWarning},
    telemetry::Chain,
};

pub use report::Format;
pub(crate) use report::{problem_json, problem_line};

/// How far a check goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The file alone: it is meant for another machine.
    File,
    /// The file, what it names on this machine, and what the adapter says of its plans.
    Machine,
    /// The neighbours as well, as at a start.
    Neighbours,
}

/// What a check has found.
#[derive(Debug)]
pub struct Findings {
    file: String,
    faults: Vec<Problem>,
    remarks: Vec<Problem>,
    not_checked: Vec<&'static str>,
}

impl Findings {
    /// There was nothing to look at.
    pub fn unreadable(file: &Path, error: &io::Error) -> Self {
        let text = format!("cannot be read: {error}; give the path of a configuration, or `-`");
        Self {
            file: file.display().to_string(),
            faults: vec![Problem::of_file(file, text)],
            remarks: Vec::new(),
            not_checked: vec!["everything else"],
        }
    }

    /// There is nothing but remarks.
    pub fn is_fine(&self) -> bool {
        self.faults.is_empty()
    }

    fn sort(&mut self) {
        for problems in [&mut self.faults, &mut self.remarks] {
            problems.sort_by_key(|problem| problem.place().unwrap_or_default());
        }
    }
}

/// What is wrong with a file by itself, and what can be used of it all the same.
pub(crate) struct Read {
    pub(crate) faults: Vec<Problem>,
    pub(crate) remarks: Vec<Problem>,
    pub(crate) sections: Sections,
}

/// Checks the text of a configuration, and the trust roots in it. Nothing is run and nobody is asked.
pub(crate) fn read(file: &Path, source: &str, now: Timestamp) -> Read {
    let mut inspection = Inspection::of(file, source, Paths::OfThisMachine);
    let sections = std::mem::take(&mut inspection.sections);
    let mut findings = Findings {
        file: file.display().to_string(),
        faults: std::mem::take(&mut inspection.faults),
        remarks: std::mem::take(&mut inspection.remarks),
        not_checked: Vec::new(),
    };
    certificates::check_roots(&inspection, now, &mut findings);
    findings.sort();
    Read {
        faults: findings.faults,
        remarks: findings.remarks,
        sections,
    }
}

/// Checks the text of a configuration. `file` is what problems call it, `environment` what an adapter is shown a few names of.
pub async fn check(
    file: &Path,
    source: &str,
    reach: Reach,
    environment: impl Iterator<Item = (OsString, OsString)>,
    now: Timestamp,
) -> Findings {
    let paths = match reach {
        Reach::File => Paths::OfAnother,
        Reach::Machine | Reach::Neighbours => Paths::OfThisMachine,
    };
    let mut inspection = Inspection::of(file, source, paths);
    let mut findings = Findings {
        file: file.display().to_string(),
        faults: std::mem::take(&mut inspection.faults),
        remarks: std::mem::take(&mut inspection.remarks),
        not_checked: Vec::new(),
    };
    let sections = std::mem::take(&mut inspection.sections);
    let usable = sections.complete().filter(|_| findings.is_fine());
    certificates::check_roots(&inspection, now, &mut findings);
    if paths == Paths::OfThisMachine {
        certificates::check_own(&inspection, now, &mut findings);
    }
    let Examined { faults, warnings } = if let Some(config) = &usable {
        check_what_runs(config, reach, environment, &mut findings).await
    } else {
        let text = "adapter and neighbours, because of the faults in the file";
        findings.not_checked.push(text);
        Examined::default()
    };
    for fault in faults {
        // The file has them with their places already.
        if !matches!(
            fault,
            StartUpFault::Certificate { .. } | StartUpFault::Trust { .. }
        ) {
            let problem = inspection.problem(fault.key(), told(&fault));
            findings.faults.push(problem.with_code(fault.code()));
        }
    }
    for warning in &warnings {
        let problem = inspection.problem(warning.key(), told_of(warning));
        findings.remarks.push(problem.with_code(warning.code()));
    }
    findings.sort();
    findings
}

async fn check_what_runs(
    config: &Config,
    reach: Reach,
    environment: impl Iterator<Item = (OsString, OsString)>,
    findings: &mut Findings,
) -> Examined {
    match reach {
        Reach::File => {
            if config.adapter.plan_schemas == PlanSchemaSupport::Enabled {
                findings
                    .not_checked
                    .push("the adapter's schemas of the plans");
            }
            findings
                .not_checked
                .push("adapter, certificate and key, which are on another machine");
            findings
                .not_checked
                .push("Director, Cloud Controller, UAA and CredHub");
            Examined::default()
        }
        Reach::Machine => {
            let text = "Director, Cloud Controller, UAA and CredHub; `--online` asks them";
            findings.not_checked.push(text);
            start_up::examine_adapter(config, environment).await
        }
        Reach::Neighbours => start_up::examine(config, environment).await,
    }
}

/// A fault of a start as the rest of a sentence: what is wrong with its causes, then the remedy.
fn told(fault: &StartUpFault) -> String {
    let text = fault.to_string();
    let (wrong, right) = text
        .rsplit_once("; ")
        .unwrap_or((&text, "see the documents"));
    // A transparent wrapper has told its cause already.
    match fault.source().filter(|cause| cause.to_string() != text) {
        Some(cause) => format!(
            "fails: {wrong}: {}; {right}",
            in_one_clause(&Chain(cause).to_string())
        ),
        None => format!("fails: {wrong}; {right}"),
    }
}

/// A warning of a start in the same way.
fn told_of(warning: &StartUpWarning) -> String {
    format!("does not suffice: {warning}")
}

/// Causes have remedies of their own, which come before that of the whole.
fn in_one_clause(text: &str) -> String {
    text.replace("; ", ", ")
}
