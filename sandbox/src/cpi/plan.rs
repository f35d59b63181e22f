//! The jobs of a VM with every template filled in: what its agent received, and what a restarted sandbox starts again.

use std::{collections::BTreeMap, time::Duration};

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::{JobName, ProcessName, Program, Requirements, Script, StopSignal};

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct JobPlan {
    pub(super) name: JobName,
    pub(super) requirements: Requirements,
    pub(super) scripts: BTreeMap<Script, Program>,
    pub(super) processes: Vec<ProcessPlan>,
    pub(super) errand: Option<Program>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ProcessPlan {
    pub(super) name: ProcessName,
    pub(super) command: Vec<String>,
    pub(super) port: u16,
    pub(super) ready_check: Option<Vec<String>>,
    pub(super) ready_within: Duration,
    pub(super) stop_signal: StopSignal,
    pub(super) stop_within: Duration,
}

/// Names one process among all of a VM.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ProcessKey {
    pub(super) job: JobName,
    pub(super) process: ProcessName,
}

impl JobPlan {
    /// Every command line, in an order that does not change.
    pub(super) fn command_lines(&self) -> impl Iterator<Item = &Vec<String>> {
        let programs = self.scripts.values().chain(&self.errand);
        let processes = self.processes.iter();
        let processes =
            processes.flat_map(|process| [Some(&process.command), process.ready_check.as_ref()]);
        programs
            .map(|program| &program.command)
            .chain(processes.flatten())
    }

    /// No more than what is listed: of a job whose processes are never started.
    pub(super) fn outline(&self) -> Self {
        let processes = self.processes.iter();
        let outlines = processes.map(|process| ProcessPlan {
            name: process.name.clone(),
            command: Vec::new(),
            ready_check: None,
            ..*process
        });
        Self {
            name: self.name.clone(),
            requirements: Requirements::default(),
            scripts: BTreeMap::new(),
            processes: outlines.collect(),
            errand: None,
        }
    }

    pub(super) fn key(&self, process: &ProcessPlan) -> ProcessKey {
        ProcessKey {
            job: self.name.clone(),
            process: process.name.clone(),
        }
    }
}

impl StopSignal {
    /// As the kernel knows it.
    pub(super) fn signal(self) -> Signal {
        match self {
            Self::Term => Signal::TERM,
            Self::Int => Signal::INT,
            Self::Quit => Signal::QUIT,
        }
    }
}
