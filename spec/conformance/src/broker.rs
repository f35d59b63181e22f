//! The broker under test.

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    time::Duration,
};

use serde_json::Value;

use crate::{Foundation, Platform, Process, RawClient, eventually};

/// How long the broker may take to answer, and to end.
const PATIENCE: Duration = Duration::from_mins(1);

/// A broker on a foundation, which can be killed and started again.
#[derive(Debug)]
pub struct Broker {
    process: Process,
    earlier: Vec<Value>,
    starts: usize,
    program: PathBuf,
    arguments: Vec<String>,
    logs: PathBuf,
    url: String,
    password: String,
    http: reqwest::Client,
    tls: rustls::ClientConfig,
    platform: Platform,
}

/// One line of the broker's log.
#[derive(Clone, Debug)]
pub struct LogLine(Value);

impl Broker {
    pub(crate) async fn start(
        foundation: &Foundation,
        arguments: Vec<String>,
        url: String,
        platform: Platform,
        password: String,
    ) -> Self {
        let program = foundation.binaries().path("on-demand-broker");
        let logs = foundation.folder().to_owned();
        let process = launch(&program, &arguments, &logs, 1);
        let mut broker = Self {
            process,
            earlier: Vec::new(),
            starts: 1,
            program,
            arguments,
            logs,
            url,
            password,
            http: foundation.http().clone(),
            tls: foundation.tls().clone(),
            platform,
        };
        broker.answers().await;
        broker
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What it wants to be told by whoever asks.
    pub fn password(&self) -> &str {
        &self.password
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Somebody who orders from it.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// A connection to it on which nothing is understood, only sent.
    pub async fn raw_client(&self) -> RawClient {
        RawClient::connect(&self.url, self.tls.clone()).await
    }

    /// Ends it without a chance to clean up.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Sends SIGTERM and does not wait.
    pub fn terminate(&mut self) {
        self.process.terminate();
    }

    /// Waits until it has ended.
    pub async fn ended(&mut self) -> ExitStatus {
        self.process.exit(PATIENCE).await
    }

    /// Ends it in good order.
    pub async fn stop(&mut self) -> ExitStatus {
        self.terminate();
        self.ended().await
    }

    /// Starts it again with the same configuration, as an operator's machine would after it ended.
    pub async fn start_again(&mut self) {
        assert!(!self.process.is_running(), "it runs");
        self.earlier = self.lines();
        self.starts += 1;
        self.process = launch(&self.program, &self.arguments, &self.logs, self.starts);
        self.answers().await;
    }

    /// Its log, that of earlier processes included.
    pub fn log(&self) -> Vec<LogLine> {
        self.lines().into_iter().map(LogLine).collect()
    }

    /// The lines of its log that a request has left.
    pub fn log_of_request(&self, request: &str) -> Vec<LogLine> {
        let mut lines = self.log();
        lines.retain(|line| line.mentions(request));
        lines
    }

    fn lines(&self) -> Vec<Value> {
        let output = self.process.output();
        // What is being written right now is no line yet.
        let complete = output.rsplit_once('\n').map_or("", |(lines, _)| lines);
        let lines = complete.lines().map(|line| {
            serde_json::from_str(line)
                .unwrap_or_else(|_| panic!("the broker's log has a line that is no JSON: {line}"))
        });
        self.earlier.iter().cloned().chain(lines).collect()
    }

    async fn answers(&mut self) {
        let url = format!("{}/health", self.url);
        let process = &mut self.process;
        eventually("the broker answers", PATIENCE, async || {
            assert!(process.is_running(), "the broker has ended");
            match self.http.get(&url).send().await {
                Ok(answer) if answer.status() == 200 => Ok(()),
                Ok(answer) => Err(answer.status().to_string()),
                Err(error) => Err(error.to_string()),
            }
        })
        .await;
    }
}

impl LogLine {
    /// The line holds this text, in any of its fields.
    pub fn mentions(&self, text: &str) -> bool {
        mentions(&self.0, text)
    }

    /// A text that stands in a field of its own.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.0[name].as_str()
    }

    /// Somebody should look into it.
    pub fn is_warning_or_worse(&self) -> bool {
        matches!(self.field("level"), Some("WARN" | "ERROR"))
    }

    /// The whole line.
    pub fn text(&self) -> String {
        self.0.to_string()
    }
}

fn mentions(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => string.contains(text),
        Value::Array(items) => items.iter().any(|item| mentions(item, text)),
        Value::Object(members) => members.values().any(|member| mentions(member, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn launch(program: &Path, arguments: &[String], logs: &Path, start: usize) -> Process {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(logs);
    Process::start(&format!("broker-{start}"), &mut command, logs)
}
