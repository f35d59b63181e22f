//! Looks at a configuration from all sides without serving: everything that would keep a broker from working, at once.
//!
//! | file | checks |
//! | --- | --- |
//! | `references` | `((references))` in the place of values |
//! | `snippet`, `report` | nothing; they print what has been found |
//!
//! The file itself is checked by [`config`](crate::config), adapter and dependencies by the probes of a start, certificates by
//! those of `certificates`.

mod references;
mod report;
mod snippet;

use std::{ffi::OsString, fs, io, os::unix::fs::PermissionsExt, path::Path};

use jiff::Timestamp;
use odb_api_types::code::Code;

use crate::{
    adapter::ServiceAdapter,
    config::{Config, Excerpt, Inspection, Paths, PlanSchemaSupport, Problem, Sections},
    finding::{Finding, Severity},
    preflight::{adapter::trial, certificates::of_file as certificates, start},
};

pub use report::Format;
pub(crate) use report::{Sort, problem_json, problem_line};
pub use snippet::Colour;

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

/// Whether a check runs the adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdapterCalls {
    /// For the schemas of plans, and a trial order of each.
    Made,
    /// It is not run.
    LeftOut,
}

/// The mode bit of a file that everybody may read.
const READABLE_BY_OTHERS: u32 = 0o004;

/// What a check has found.
#[derive(Debug)]
pub struct Findings {
    pub(crate) file: String,
    pub(crate) faults: Vec<Problem>,
    pub(crate) remarks: Vec<Problem>,
    pub(crate) not_checked: Vec<&'static str>,
    /// The file as it has been read, to be quoted.
    pub(crate) inspection: Option<Inspection>,
}

impl Findings {
    /// There was nothing to look at.
    pub fn unreadable(file: &Path, error: &io::Error) -> Self {
        let text = (
            format!("cannot be read: {error}"),
            "give the path of a configuration, or `-`",
        );
        Self {
            file: file.display().to_string(),
            faults: vec![Problem::of_file(file, text)],
            remarks: Vec::new(),
            not_checked: vec!["everything else"],
            inspection: None,
        }
    }

    /// The line of the file that a problem is about.
    fn excerpt(&self, problem: &Problem) -> Option<Excerpt> {
        self.inspection.as_ref()?.excerpt(problem)
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
        inspection: None,
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
    (reach, calls): (Reach, AdapterCalls),
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
        inspection: None,
    };
    let sections = std::mem::take(&mut inspection.sections);
    let usable = sections.complete().filter(|_| findings.is_fine());
    certificates::check_roots(&inspection, now, &mut findings);
    references::look(&inspection, &mut findings);
    if paths == Paths::OfThisMachine {
        certificates::check_own(&inspection, now, &mut findings);
        check_mode(file, &mut findings);
    }
    if let Some(config) = usable {
        let environment = environment.collect();
        let running = (reach, calls, environment);
        // Its future is large.
        Box::pin(check_what_runs(config, running, &inspection, &mut findings)).await;
    } else {
        let text = "adapter and neighbours, because of the faults in the file";
        findings.not_checked.push(text);
    }
    findings.sort();
    findings.inspection = Some(inspection);
    findings
}

/// The file holds passwords. Of standard input there is no mode to look at.
fn check_mode(file: &Path, findings: &mut Findings) {
    let mode = fs::metadata(file).map(|found| found.permissions().mode());
    if mode.is_ok_and(|mode| mode & READABLE_BY_OTHERS != 0) {
        let text = (
            "the file holds secrets and can be read by every user of this machine",
            "`chmod o-r` it",
        );
        findings
            .remarks
            .push(Problem::of_file(file, text.to_owned()));
    }
}

async fn check_what_runs(
    mut config: Config,
    (reach, calls, environment): (Reach, AdapterCalls, Vec<(OsString, OsString)>),
    inspection: &Inspection,
    findings: &mut Findings,
) {
    if reach == Reach::File {
        if config.adapter.plan_schemas == PlanSchemaSupport::Enabled {
            findings
                .not_checked
                .push("the adapter's schemas of the plans");
        }
        findings.not_checked.extend([
            "adapter, certificate and key, which are on another machine",
            "Director, Cloud Controller, UAA and CredHub",
        ]);
        return;
    }
    if calls == AdapterCalls::LeftOut {
        config.adapter.plan_schemas = PlanSchemaSupport::Disabled;
        findings
            .not_checked
            .push("the adapter's answers; `--adapter on` asks for them");
    }
    let variables = environment.iter().cloned();
    let examined = if reach == Reach::Neighbours {
        start::examine(&config, variables).await
    } else {
        let text = "Director, Cloud Controller, UAA and CredHub; `--online` asks them";
        findings.not_checked.push(text);
        start::examine_adapter(&config, variables).await
    };
    let is_broken = examined
        .iter()
        .any(|finding| finding.code == Code::PlanSchemas);
    note(examined, inspection, findings);
    if calls == AdapterCalls::Made && is_broken {
        // What keeps the adapter from one answer mostly keeps it from the other.
        findings
            .not_checked
            .push("orders, because of the adapter's schemas");
    } else if calls == AdapterCalls::Made {
        let timings = &config.broker.timings;
        let adapter = ServiceAdapter::new(&config.adapter, timings, environment.into_iter());
        trial::look(&config, &adapter, inspection, findings).await;
    }
}

/// What a start would say.
fn note(examined: Vec<Finding>, inspection: &Inspection, findings: &mut Findings) {
    // What the file shows is noted with its line already.
    for finding in examined.into_iter().filter(|finding| !finding.is_in_file) {
        let key = finding.key.unwrap_or_default();
        match finding.severity {
            Severity::Fault => {
                let wrong = format!("fails: {}", in_one_clause(&finding));
                let problem = inspection.problem(key, (wrong, finding.remedy));
                findings.faults.push(problem.with_code(finding.code));
            }
            Severity::Warning => {
                let wrong = format!("does not suffice: {}", finding.found);
                let problem = inspection.problem(key, (wrong, finding.remedy));
                findings.remarks.push(problem.with_code(finding.code));
            }
        }
    }
}

/// What was found with its causes. Their remedies come before that of the whole, which alone follows a semicolon.
pub(crate) fn in_one_clause(finding: &Finding) -> String {
    let cause = finding.cause.replace("; ", ", ");
    match cause.as_str() {
        "" => finding.found.clone(),
        cause => format!("{}: {cause}", finding.found),
    }
}
