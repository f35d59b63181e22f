//! All findings of a check, in its order.

use odb_api_types::{
    code::Code,
    finding::{Finding, Location, Severity},
};
use serde::Serialize;

/// What a check found. Displayed as one line for each: `FILE:LINE:COLUMN: error: what; remedy`.
#[derive(Clone, Debug, Default)]
pub struct Findings(Vec<Finding>);

/// A finding as programs read it.
#[derive(Debug, Serialize)]
pub struct FindingRow<'f> {
    pub severity: Severity,
    pub file: Option<&'f str>,
    pub line: Option<u64>,
    pub column: Option<u64>,
    /// The path of the value, if the finding is about one.
    pub key: Option<&'f str>,
    pub message: &'f str,
    pub remedy: &'f str,
}

impl Findings {
    pub(crate) fn error(
        &mut self,
        at: Location,
        key: Option<&str>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let key = key.map(str::to_owned);
        let finding = Finding::located(Code::OfferInvalid, at, key, found, remedy);
        // Two plans that share a file have its findings in common.
        if !self.0.contains(&finding) {
            self.0.push(finding);
        }
    }

    pub(crate) fn warning(
        &mut self,
        at: Location,
        key: Option<&str>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let key = key.map(str::to_owned);
        let finding = Finding::located(Code::OfferInvalid, at, key, found, remedy).warning();
        if !self.0.contains(&finding) {
            self.0.push(finding);
        }
    }

    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    pub(crate) fn retain(&mut self, is_kept: impl FnMut(&Finding) -> bool) {
        self.0.retain(is_kept);
    }

    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn errors(&self) -> usize {
        self.count(Severity::Error)
    }

    pub fn warnings(&self) -> usize {
        self.count(Severity::Warning)
    }

    pub fn rows(&self) -> Vec<FindingRow<'_>> {
        self.0.iter().map(FindingRow::of).collect()
    }

    /// The findings as lines.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(line)
    }

    fn count(&self, severity: Severity) -> usize {
        let same = self.0.iter().filter(|finding| finding.severity == severity);
        same.count()
    }
}

impl<'f> FindingRow<'f> {
    fn of(finding: &'f Finding) -> Self {
        let at = finding.location.as_ref();
        Self {
            severity: finding.severity,
            file: at.map(|at| at.file.as_str()),
            line: at.and_then(|at| at.line),
            column: at.and_then(|at| at.column),
            key: finding.key.as_deref(),
            message: &finding.found,
            remedy: &finding.remedy,
        }
    }
}

/// `FILE:LINE:COLUMN: error: what; remedy`.
pub fn line(finding: &Finding) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let at = match &finding.location {
        Some(location) => format!("{location}: "),
        None => String::new(),
    };
    match finding.remedy.as_str() {
        "" => format!("{at}{severity}: {}", finding.found),
        remedy => format!("{at}{severity}: {}; {remedy}", finding.found),
    }
}
