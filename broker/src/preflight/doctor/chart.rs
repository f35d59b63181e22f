//! The results for one subject: a row for each question, and findings.

use std::time::Duration;

use odb_core::finding::Finding;

use super::{
    context::Timeouts,
    subject::{Probe, Subject},
};
use crate::preflight::uaa::foundation::Uaa;

/// The result of a question.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// All is well.
    Fine(String),
    /// Nothing, because it was skipped.
    NotAsked(String),
    /// Something is amiss.
    Found(Finding),
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) probe: Probe,
    /// How long the call took, where there was one.
    pub(crate) took: Option<Duration>,
    pub(crate) outcome: Outcome,
}

impl Row {
    pub(crate) fn text(&self) -> &str {
        match &self.outcome {
            Outcome::Fine(text) | Outcome::NotAsked(text) => text,
            Outcome::Found(finding) => &finding.found,
        }
    }

    pub(crate) fn finding(&self) -> Option<&Finding> {
        match &self.outcome {
            Outcome::Fine(_) | Outcome::NotAsked(_) => None,
            Outcome::Found(finding) => Some(finding),
        }
    }
}

/// All findings about one subject, in the order of the probes.
#[derive(Debug)]
pub(crate) struct Chart {
    pub(crate) subject: Subject,
    /// How long its steps may take.
    pub(crate) timeouts: Timeouts,
    pub(crate) rows: Vec<Row>,
    /// The difference of its clock to this machine's, in seconds.
    pub(crate) ahead: Option<i64>,
    /// The UAA that has given a token for it.
    pub(crate) uaa: Uaa,
}

impl Chart {
    pub(crate) fn of(subject: Subject, timeouts: Timeouts) -> Self {
        Self {
            subject,
            timeouts,
            rows: Vec::new(),
            ahead: None,
            uaa: Uaa::default(),
        }
    }

    pub(crate) fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.rows.iter().filter_map(Row::finding)
    }

    pub(crate) fn fine(
        &mut self,
        probe: Probe,
        took: impl Into<Option<Duration>>,
        text: impl Into<String>,
    ) {
        self.row(probe, took.into(), Outcome::Fine(text.into()));
    }

    /// The probe was skipped, with the reason.
    pub(crate) fn not_asked(&mut self, probe: Probe, why: impl Into<String>) {
        self.row(probe, None, Outcome::NotAsked(why.into()));
    }

    /// Something is amiss.
    pub(crate) fn found(
        &mut self,
        probe: Probe,
        took: impl Into<Option<Duration>>,
        finding: Finding,
    ) {
        self.row(probe, took.into(), Outcome::Found(finding));
    }

    /// A probe has failed, so the following ones are impossible. Returns `None`, with which a probe ends.
    pub(crate) fn failed<T>(
        &mut self,
        probe: Probe,
        took: impl Into<Option<Duration>>,
        finding: Finding,
    ) -> Option<T> {
        self.found(probe, took, finding);
        None
    }

    fn row(&mut self, probe: Probe, took: Option<Duration>, outcome: Outcome) {
        self.rows.push(Row {
            probe,
            took,
            outcome,
        });
    }
}
