//! The conformance suite, run as a broker's author would.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde_json::Value;

use crate::{Binaries, Broker, Foundation, Process};

/// A run takes half a minute against a sandbox; a busy machine takes its time.
const TIMEOUT: Duration = Duration::from_mins(3);

/// A run of `odb-conformance` in the making.
#[derive(Debug)]
pub struct ConformanceSuite {
    command: Command,
    logs: PathBuf,
}

#[derive(Clone, Debug)]
pub struct SuiteRun {
    pub status: i32,
    pub output: String,
    pub errors: String,
}

impl ConformanceSuite {
    /// A run with no arguments yet, whose output goes to files in `logs`.
    pub fn new(logs: &Path) -> Self {
        let mut command = Command::new(Binaries::find().path("odb-conformance"));
        command.env_remove("ODB_CONFORMANCE_PASSWORD");
        Self {
            command,
            logs: logs.to_owned(),
        }
    }

    /// A run against a broker of a foundation, as its operator would have it.
    pub fn against(broker: &Broker, foundation: &Foundation) -> Self {
        let folder = foundation.folder();
        let password = folder.join("suite-password");
        std::fs::write(&password, format!("{}\n", broker.password()))
            .expect("the test made the folder");
        let authority = &foundation.description().ca_certificate;
        Self::new(folder)
            .with(&["--url", broker.url(), "--username", "broker"])
            .with(&["--password-file", &password.display().to_string()])
            .with(&["--ca-cert", &authority.display().to_string()])
            .with(&["--operation-timeout", "120", "--poll-interval", "1"])
    }

    #[must_use]
    pub fn with(mut self, arguments: &[&str]) -> Self {
        self.command.args(arguments);
        self
    }

    /// Starts it and does not wait.
    pub fn start(mut self) -> Process {
        Process::start("odb-conformance", &mut self.command, &self.logs)
    }

    pub async fn run(self) -> SuiteRun {
        SuiteRun::of(self.start()).await
    }
}

impl SuiteRun {
    pub async fn of(mut process: Process) -> Self {
        let status = process.exit(TIMEOUT).await;
        Self {
            status: status.code().expect("it ends by itself"),
            output: process.output(),
            errors: process.errors(),
        }
    }

    pub fn report(&self) -> Value {
        serde_json::from_str(&self.output)
            .unwrap_or_else(|error| panic!("the report is no JSON ({error}): {self:?}"))
    }
}
