//! Checks a configuration without serving, and reports all errors at once.
//!
//! [`odb_config`] checks the file, the probes of a start check adapter and upstreams, and `certificates` checks
//! certificates.

mod report;
#[cfg(test)]
mod tests;

use std::{ffi::OsString, fs, io, os::unix::fs::PermissionsExt, path::Path};

use jiff::Timestamp;
use odb_api_types::code::Code;
use odb_config::{Config, ConfigFinding, Inspection, Paths};
use odb_core::finding::{Finding, Severity};
use odb_engine_bosh::{adapter::ServiceAdapter, has_reference, is_reference};

use crate::preflight::{
    adapter::trial,
    certificates::{own, trust::of_roots},
    start,
};

pub use report::{Colour, Format};
pub(crate) use report::{count, finding_line, findings_json};

/// How much a check covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Only the file, which is for another machine.
    File,
    /// The file, the files that it names on this machine, and the adapter's answers about its plans.
    Machine,
    /// The upstreams as well, as at a start.
    Upstreams,
}

/// Whether a check runs the adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdapterCalls {
    /// For the schemas of plans, and a trial order of each.
    Made,
    /// It is not run.
    LeftOut,
}

const READABLE_BY_OTHERS: u32 = 0o004;

/// The result of a check.
#[derive(Debug)]
pub struct Findings {
    pub(crate) inspection: Inspection,
    pub(crate) not_checked: Vec<&'static str>,
}

impl Findings {
    /// There was nothing to look at.
    pub fn unreadable(file: &Path, error: &io::Error) -> Self {
        let wrong = format!("cannot be read: {error}");
        let text = (wrong, "give the path of a configuration, or `-`");
        Self {
            inspection: Inspection::unreadable(file, text),
            not_checked: vec!["everything else"],
        }
    }

    /// The findings of a file alone, including its trust roots. No process is started and no upstream is called.
    pub(crate) fn of(inspection: Inspection, now: Timestamp) -> Self {
        let of_roots = of_roots(&inspection, now);
        let mut findings = Self {
            inspection,
            not_checked: Vec::new(),
        };
        findings.add(of_roots);
        findings
    }

    pub(crate) fn add(&mut self, found: impl IntoIterator<Item = Finding>) {
        for finding in found {
            let key = finding.key.unwrap_or_default();
            let located = self
                .inspection
                .finding(&key, (finding.found, finding.remedy))
                .with_code(finding.code);
            match finding.severity {
                Severity::Error => self.inspection.errors.push(located),
                Severity::Warning => self.inspection.warnings.push(located),
            }
        }
    }

    pub(crate) fn sorted(mut self) -> Self {
        for findings in [&mut self.inspection.errors, &mut self.inspection.warnings] {
            findings.sort_by_key(|finding| finding.location.unwrap_or_default());
        }
        self
    }

    /// There are no errors.
    pub fn is_fine(&self) -> bool {
        self.inspection.errors.is_empty()
    }
}

/// Checks the text of a configuration. `file` is its name in findings, `environment` the source of the adapter's
/// variables.
pub async fn check(
    file: &Path,
    source: &str,
    (reach, calls): (Reach, AdapterCalls),
    environment: impl Iterator<Item = (OsString, OsString)>,
    now: Timestamp,
) -> Findings {
    let paths = match reach {
        Reach::File => Paths::OfAnother,
        Reach::Machine | Reach::Upstreams => Paths::OfThisMachine,
    };
    let mut inspection = Inspection::of(file, source, paths);
    let sections = std::mem::take(&mut inspection.sections);
    let usable = sections.complete().filter(|_| inspection.errors.is_empty());
    let mut findings = Findings::of(inspection, now);
    findings.add(references(&findings.inspection));
    if paths == Paths::OfThisMachine {
        let files = findings.inspection.tls.as_ref();
        let of_own = files.map(|files| own::of_own(files, now));
        findings.add(of_own.unwrap_or_default());
        check_mode(file, &mut findings);
    }
    if let Some(config) = usable {
        let running = (reach, calls, environment.collect());
        // Its future is large.
        Box::pin(check_what_runs(config, running, &mut findings)).await;
    } else {
        let text = "adapter and upstreams, because of the errors in the file";
        findings.not_checked.push(text);
    }
    findings.sorted()
}

/// Every value that is or contains a `((reference))`, which should have been replaced before the broker reads the file.
/// Values for adapters are not checked, because a manifest may refer to variables. References are not quoted, because a
/// secret may look like one.
fn references(inspection: &Inspection) -> Vec<Finding> {
    let finding = |key, found| {
        let remedy = "give the value itself, or have BOSH put it in";
        Finding::error(Code::ConfigurationInvalid, key, found, remedy)
    };
    let texts = inspection.texts().into_iter();
    let found = texts.filter_map(|(key, text)| {
        if is_reference(&text) {
            let found = "is a reference in double parentheses, which nothing resolves";
            return Some(finding(key, found));
        }
        let found = "has a reference in double parentheses, which nothing resolves";
        has_reference(&text).then(|| finding(key, found).warning())
    });
    found.collect()
}

/// The file holds passwords. Of standard input there is no mode to look at.
fn check_mode(file: &Path, findings: &mut Findings) {
    let mode = fs::metadata(file).map(|found| found.permissions().mode());
    if mode.is_ok_and(|mode| mode & READABLE_BY_OTHERS != 0) {
        let wrong = "the file has secrets and every user of this machine can read it";
        let finding = ConfigFinding::of_file(file, (wrong, "`chmod o-r` it"));
        findings.inspection.warnings.push(finding);
    }
}

async fn check_what_runs(
    mut config: Config,
    (reach, calls, environment): (Reach, AdapterCalls, Vec<(OsString, OsString)>),
    findings: &mut Findings,
) {
    if reach == Reach::File {
        if config.adapter.plan_schemas {
            let text = "the adapter's schemas of the plans";
            findings.not_checked.push(text);
        }
        findings.not_checked.extend([
            "adapter, certificate, key and secrets outside the file, which are on another machine",
            "Director, Cloud Controller, UAA and CredHub",
        ]);
        return;
    }
    if calls == AdapterCalls::LeftOut {
        config.adapter.plan_schemas = false;
        let text = "the adapter's answers; `--adapter on` asks for them";
        findings.not_checked.push(text);
    }
    let variables = environment.iter().cloned();
    let examined = if reach == Reach::Upstreams {
        start::examine(&config, variables).await
    } else {
        let text = "Director, Cloud Controller, UAA and CredHub; `--online` asks them";
        findings.not_checked.push(text);
        start::examine_adapter(&config, variables).await
    };
    let mut codes = examined.iter().map(|finding| finding.code);
    let is_broken = codes.any(|code| code == Code::PlanSchemas);
    // Findings of the file itself have been added with their lines already.
    let seen_online = examined.into_iter().filter(|finding| !finding.is_in_file);
    findings.add(seen_online.map(as_of_a_start));
    if calls == AdapterCalls::Made && is_broken {
        // An adapter that fails at one call mostly fails at the other.
        let text = "orders, because of the adapter's schemas";
        findings.not_checked.push(text);
    } else if calls == AdapterCalls::Made {
        let timings = &config.broker.timings;
        let adapter = ServiceAdapter::new(&config.adapter, timings, environment.into_iter());
        trial::look(&config, &adapter, findings).await;
    }
}

fn as_of_a_start(finding: Finding) -> Finding {
    let found = match finding.severity {
        Severity::Error => format!("fails: {}", in_one_clause(&finding)),
        Severity::Warning => format!("does not suffice: {}", finding.found),
    };
    Finding { found, ..finding }
}

/// A finding with its causes. Their remedies come before the main remedy, which alone follows a semicolon.
pub(crate) fn in_one_clause(finding: &Finding) -> String {
    let cause = finding.cause.replace("; ", ", ");
    match cause.as_str() {
        "" => finding.found.clone(),
        cause => format!("{}: {cause}", finding.found),
    }
}
