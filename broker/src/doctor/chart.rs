//! What has been found of one subject: a row for each probe, and a finding for each trouble.

use std::time::Duration;

use odb_api_types::code::Code;

use super::subject::{Probe, Subject};

/// What came of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// All is well.
    Fine,
    /// Something is odd; the broker can work.
    Odd,
    /// Something keeps the broker from working, wholly or in part.
    Wrong,
    /// Nothing, for nobody was asked.
    NotAsked,
}

/// One probe.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) subject: Subject,
    pub(super) probe: Probe,
    pub(super) mark: Mark,
    pub(super) text: String,
    /// How long the call took, where there was one.
    pub(super) took: Option<Duration>,
}

/// What is to be told of trouble.
#[derive(Debug)]
pub(super) struct Trouble {
    /// Where the guide says more.
    pub(super) code: Code,
    /// The key of the configuration to look at first, if it is one of ours.
    pub(super) key: Option<&'static str>,
    /// What was tried.
    pub(super) tried: String,
    /// What came of it.
    pub(super) came: String,
    /// What the operator can do.
    pub(super) remedy: String,
}

/// Trouble, and where it showed.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) subject: Subject,
    pub(super) probe: Probe,
    pub(super) mark: Mark,
    pub(super) trouble: Trouble,
}

/// Everything that has been found of one subject, in the order in which it was looked at.
#[derive(Debug)]
pub(super) struct Chart {
    pub(super) subject: Subject,
    pub(super) rows: Vec<Row>,
    pub(super) findings: Vec<Finding>,
    /// How far its clock is ahead of ours, in seconds.
    pub(super) ahead: Option<i64>,
}

impl Chart {
    pub(super) fn of(subject: Subject) -> Self {
        Self {
            subject,
            rows: Vec::new(),
            findings: Vec::new(),
            ahead: None,
        }
    }

    pub(super) fn fine(
        &mut self,
        probe: Probe,
        took: impl Into<Option<Duration>>,
        text: impl Into<String>,
    ) {
        self.row(probe, Mark::Fine, took.into(), text.into());
    }

    /// Nobody was asked, and why.
    pub(super) fn not_asked(&mut self, probe: Probe, why: impl Into<String>) {
        self.row(probe, Mark::NotAsked, None, why.into());
    }

    /// The broker can work, and something should be seen to.
    pub(super) fn odd(
        &mut self,
        probe: Probe,
        took: impl Into<Option<Duration>>,
        trouble: Trouble,
    ) {
        self.trouble(probe, Mark::Odd, took.into(), trouble);
    }

    /// The broker cannot work, wholly or in part.
    pub(super) fn wrong(
        &mut self,
        probe: Probe,
        took: impl Into<Option<Duration>>,
        trouble: Trouble,
    ) {
        self.trouble(probe, Mark::Wrong, took.into(), trouble);
    }

    fn trouble(&mut self, probe: Probe, mark: Mark, took: Option<Duration>, trouble: Trouble) {
        self.row(probe, mark, took, trouble.came.clone());
        self.findings.push(Finding {
            subject: self.subject,
            probe,
            mark,
            trouble,
        });
    }

    fn row(&mut self, probe: Probe, mark: Mark, took: Option<Duration>, text: String) {
        self.rows.push(Row {
            subject: self.subject,
            probe,
            mark,
            text,
            took,
        });
    }
}
