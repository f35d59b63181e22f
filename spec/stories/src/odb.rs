//! `odb`, the operator's command line, as its user types it.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use serde_json::Value;

use crate::{Binaries, Broker, Foundation, Process, eventually};

/// How long a command may take; most take a second.
const TIMEOUT: Duration = Duration::from_mins(2);

/// Variables of the tests' own environment that must not select a broker.
const VARIABLES: [&str; 8] = [
    "ODB_CONTEXT",
    "ODB_URL",
    "ODB_USERNAME",
    "ODB_PASSWORD",
    "ODB_CA_CERT",
    "ODB_CONFIG",
    "XDG_CONFIG_HOME",
    "NO_COLOR",
];

/// Commands of one process run side by side; their files must not meet.
static RUNS: AtomicUsize = AtomicUsize::new(0);

/// An operator with a home folder of their own.
#[derive(Debug)]
pub struct Odb {
    folder: PathBuf,
}

/// A command that has ended.
#[derive(Clone, Debug)]
pub struct OdbRun {
    pub status: Option<i32>,
    pub output: String,
    pub stderr: String,
}

/// A command that is running.
#[derive(Debug)]
pub struct RunningOdb(Process);

impl Odb {
    /// Without contexts.
    pub fn new(foundation: &Foundation) -> Self {
        Self::alone(foundation.folder())
    }

    /// The same where there is no foundation, in a folder of the test.
    pub fn alone(folder: &Path) -> Self {
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let folder = folder.join(format!("operator-{number}"));
        fs::create_dir(&folder).expect("the test made the folder above");
        Self { folder }
    }

    /// With the context `test` for a broker.
    pub async fn of(foundation: &Foundation, broker: &Broker) -> Self {
        let odb = Self::new(foundation);
        odb.set_context("test", foundation, broker).await;
        odb
    }

    /// Adds a context as an operator does.
    pub async fn set_context(&self, name: &str, foundation: &Foundation, broker: &Broker) {
        let password = self.folder.join("broker.password");
        fs::write(&password, broker.password()).expect("the folder is the operator's own");
        let set = [
            "context",
            "set",
            name,
            "--url",
            broker.url(),
            "--username",
            "broker",
            "--ca-cert",
            &foundation.authority_file(),
            "--password-file",
            &password.display().to_string(),
        ];
        self.run(&set).await.expect_status(0);
        fs::remove_file(password).expect("it was written above");
    }

    pub fn start(&self, arguments: &[&str]) -> RunningOdb {
        self.start_with(arguments, &[])
    }

    /// With variables of the environment.
    pub fn start_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> RunningOdb {
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let mut command = Command::new(Binaries::find().path("odb"));
        for name in VARIABLES {
            command.env_remove(name);
        }
        command
            .args(arguments)
            .env("HOME", &self.folder)
            .envs(variables.iter().copied())
            .current_dir(&self.folder);
        let log = format!("odb-{number}");
        RunningOdb(Process::start(&log, &mut command, &self.folder))
    }

    pub async fn run(&self, arguments: &[&str]) -> OdbRun {
        self.start(arguments).ended().await
    }

    pub async fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> OdbRun {
        self.start_with(arguments, variables).ended().await
    }

    /// The file of contexts.
    pub fn file(&self) -> PathBuf {
        self.folder.join(".config/odb/config.yml")
    }

    /// The rights to the file of contexts.
    pub fn mode(&self) -> u32 {
        let found = fs::metadata(self.file()).expect("there are contexts");
        found.permissions().mode() & 0o777
    }

    /// Gives others rights to the file of contexts.
    pub fn set_mode(&self, mode: u32) {
        fs::set_permissions(self.file(), fs::Permissions::from_mode(mode))
            .expect("there are contexts");
    }
}

impl RunningOdb {
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    pub fn interrupt(&self) {
        self.0.interrupt();
    }

    /// Waits until its stdout has this text.
    pub async fn prints(&self, text: &str) {
        eventually(text, TIMEOUT, async || {
            let output = self.0.output();
            if output.contains(text) {
                Ok(())
            } else {
                Err(output + &self.0.errors())
            }
        })
        .await;
    }

    /// Waits until its stderr has this text.
    pub async fn says(&self, text: &str) {
        eventually(text, TIMEOUT, async || {
            let errors = self.0.errors();
            if errors.contains(text) {
                Ok(())
            } else {
                Err(errors)
            }
        })
        .await;
    }

    pub async fn ended(mut self) -> OdbRun {
        let status = self.0.exit(TIMEOUT).await;
        OdbRun {
            status: status.code(),
            output: self.0.output(),
            stderr: self.0.errors(),
        }
    }
}

impl OdbRun {
    /// The exit status has to be this one; else the test fails.
    #[expect(
        clippy::return_self_not_must_use,
        reason = "the status may be all that matters"
    )]
    #[track_caller]
    pub fn expect_status(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{}{}", self.stderr, self.output);
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.output)
            .unwrap_or_else(|error| panic!("stdout is no JSON ({error}): {self:?}"))
    }

    /// The cells of the row of a table that begins with a name.
    #[track_caller]
    pub fn row(&self, name: &str) -> Vec<&str> {
        let mut lines = self.output.lines();
        let row = lines.find(|line| line.split_whitespace().next() == Some(name));
        let row = row.unwrap_or_else(|| panic!("`{name}` has no row: {self:?}"));
        let cells = row.split("  ").map(str::trim);
        cells.filter(|cell| !cell.is_empty()).collect()
    }
}
