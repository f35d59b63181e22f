//! The Cloud Controller, through the command line that a person would use.

use std::{
    fs,
    path::PathBuf,
    process::{Command, ExitStatus, Stdio},
};

use crate::Broker;

#[derive(Clone, Debug)]
pub struct Cf {
    program: PathBuf,
    foundation: PathBuf,
}

#[derive(Clone, Debug)]
pub struct CfOutput {
    pub status: ExitStatus,
    pub output: String,
    pub stderr: String,
}

impl Cf {
    pub(crate) fn new(program: PathBuf, foundation: PathBuf) -> Self {
        Self {
            program,
            foundation,
        }
    }

    /// Registers a broker under the name `redis-broker` and makes its offering `redis` available to all organizations.
    pub async fn register(&self, broker: &Broker) {
        self.register_as(broker, ("redis-broker", "redis")).await;
    }

    /// Registers a broker under a name and makes one of its offerings available to all organizations.
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
    /// Its stdout; a failed command fails the test.
    pub fn succeeded(self) -> String {
        assert!(self.status.success(), "{self:?}");
        self.output
    }

    /// Its stderr; a command that succeeded fails the test.
    pub fn failed(self) -> String {
        assert!(!self.status.success(), "{self:?}");
        self.stderr
    }
}
