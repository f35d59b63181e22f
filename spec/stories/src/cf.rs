//! The Cloud Controller, through the command line that a person would use.

use std::{
    fs,
    path::PathBuf,
    process::{Command, ExitStatus, Stdio},
};

use crate::Broker;

/// Types commands.
#[derive(Clone, Debug)]
pub struct Cf {
    program: PathBuf,
    foundation: PathBuf,
}

/// What came of a command.
#[derive(Clone, Debug)]
pub struct CfOutput {
    /// How it ended.
    pub status: ExitStatus,
    /// What it answered.
    pub output: String,
    /// What it said meanwhile.
    pub stderr: String,
}

impl Cf {
    pub(crate) fn new(program: PathBuf, foundation: PathBuf) -> Self {
        Self {
            program,
            foundation,
        }
    }

    /// Registers a broker under the name `redis-broker` and shows its offering `redis` to everybody.
    pub async fn register(&self, broker: &Broker) {
        self.register_as(broker, ("redis-broker", "redis")).await;
    }

    /// Registers a broker under a name and shows an offering of its to everybody.
    pub async fn register_as(&self, broker: &Broker, (name, offering): (&str, &str)) {
        let password = self.foundation.with_file_name("broker.password");
        fs::write(&password, broker.password()).expect("the test made the folder");
        let password = password.display().to_string();
        let arguments = [
            "--as",
            "admin",
            "create-service-broker",
            name,
            "broker",
            broker.url(),
            "--password-file",
            &password,
        ];
        self.run(&arguments).await.succeeded();
        let arguments = ["--as", "admin", "enable-service-access", offering];
        self.run(&arguments).await.succeeded();
    }

    /// Types a command and waits for its end.
    pub async fn run(&self, arguments: &[&str]) -> CfOutput {
        let mut command = Command::new(&self.program);
        command
            .arg("cf")
            .args(arguments)
            .env("ODB_FOUNDATION", &self.foundation)
            .stdin(Stdio::null());
        let output = tokio::task::spawn_blocking(move || command.output())
            .await
            .expect("it is not cancelled")
            .expect("the program is there");
        CfOutput {
            status: output.status,
            output: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl CfOutput {
    /// What it answered; a command that has failed fails the test.
    pub fn succeeded(self) -> String {
        assert!(self.status.success(), "{self:?}");
        self.output
    }

    /// What it said; a command that has not failed fails the test.
    pub fn failed(self) -> String {
        assert!(!self.status.success(), "{self:?}");
        self.stderr
    }
}
