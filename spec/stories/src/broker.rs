//! The broker under test.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    time::Duration,
};

use reqwest::Method;
use serde_json::Value;

use crate::{Foundation, Platform, Process, RawClient, Response, Secrets, eventually, log_schema};

/// How lines of telemetry begin.
const TELEMETRY: &str = "[on-demand-service-broker] ";

/// The log lines that end the catch-up after a start: it is done, or it has failed and is retried.
const CAUGHT_UP: [&str; 2] = [
    "resumed the operations of earlier processes",
    "operations of an earlier process could not be looked up",
];

/// How long the broker may take to answer, and to end.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A broker on a foundation, which can be killed and started again.
#[derive(Debug)]
pub struct Broker {
    process: Process,
    earlier: Vec<Value>,
    starts: usize,
    command_line: Vec<String>,
    logs: PathBuf,
    url: String,
    password: String,
    secrets: Secrets,
    http: reqwest::Client,
    tls: rustls::ClientConfig,
    platform: Platform,
}

/// One line of the broker's log.
#[derive(Clone, Debug)]
pub struct LogLine(Value);

impl Drop for Broker {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        self.process.end();
        log_schema::expect_valid(&self.lines());
    }
}

impl Broker {
    pub(crate) async fn start(
        foundation: &Foundation,
        command_line: Vec<String>,
        url: String,
        platform: Platform,
        (password, secrets): (String, Secrets),
    ) -> Self {
        let logs = foundation.folder().to_owned();
        let process = launch(&command_line, &logs, 1);
        let mut broker = Self {
            process,
            earlier: Vec::new(),
            starts: 1,
            command_line,
            logs,
            url,
            password,
            secrets,
            http: foundation.http().clone(),
            tls: foundation.tls().clone(),
            platform,
        };
        broker.answers().await;
        broker.catches_up().await;
        broker
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn password(&self) -> &str {
        &self.password
    }

    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    pub async fn metrics(&self) -> Response {
        let platform = &self.platform;
        platform
            .send(platform.request(Method::GET, "/metrics"))
            .await
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// A connection to it on which nothing is understood, only sent.
    pub async fn raw_client(&self) -> RawClient {
        RawClient::connect(&self.url, self.tls.clone()).await
    }

    /// The same at another address of the loopback net; `None` if the connection is rejected.
    pub async fn raw_client_at(&self, local: &str) -> Option<RawClient> {
        RawClient::connect_from(Some(local), &self.url, self.tls.clone())
            .await
            .ok()
    }

    pub async fn raw_tcp_client(&self) -> RawClient {
        let url = self.url.replacen("https", "http", 1);
        RawClient::connect(&url, self.tls.clone()).await
    }

    /// All that it answers to bytes on a connection of their own, until that ends.
    pub async fn answer_to_bytes(&self, bytes: &[u8]) -> String {
        let mut client = self.raw_client().await;
        client.send_bytes(bytes).await;
        client.last_words().await
    }

    /// The most memory that it has ever had at once, in bytes.
    pub fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id()));
        let status = status.expect("the broker runs");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = peak.and_then(|peak| peak.trim().strip_suffix("kB")?.trim().parse().ok());
        kibibytes.map_or_else(|| panic!("{status}"), |count: u64| count * 1024)
    }

    /// Ends it without a chance to clean up.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Sends SIGTERM and does not wait.
    pub fn terminate(&mut self) {
        self.process.terminate();
    }

    /// Sends SIGINT and does not wait.
    pub fn interrupt(&self) {
        self.process.interrupt();
    }

    pub async fn ended(&mut self) -> ExitStatus {
        self.process.exit(TIMEOUT).await
    }

    pub async fn stop(&mut self) -> ExitStatus {
        self.terminate();
        self.ended().await
    }

    /// Starts it again with the same configuration, as an operator's machine would after it ended, and waits until it
    /// has looked up what it had left, or could not.
    pub async fn start_again(&mut self) {
        self.serve_again().await;
        self.catches_up().await;
    }

    /// Starts it again and waits for its first answer only.
    pub async fn serve_again(&mut self) {
        assert!(!self.process.is_running(), "it runs");
        self.earlier = self.lines();
        self.starts += 1;
        self.process = launch(&self.command_line, &self.logs, self.starts);
        self.answers().await;
    }

    pub fn log(&self) -> Vec<LogLine> {
        self.lines().into_iter().map(LogLine).collect()
    }

    /// The lines of its log that a request has left.
    pub fn log_of_request(&self, request: &str) -> Vec<LogLine> {
        let mut lines = self.log();
        lines.retain(|line| line.mentions(request));
        lines
    }

    /// Its lines for collectors of telemetry, since its last start.
    pub fn telemetry(&self) -> Vec<Value> {
        let output = self.process.output();
        let lines = complete(&output).lines();
        let reported = lines.filter_map(|line| line.strip_prefix(TELEMETRY));
        reported
            .map(|line| {
                let json = line.find('{').map_or("", |begin| &line[begin..]);
                serde_json::from_str(json).unwrap_or_else(|_| panic!("it is no telemetry: {line}"))
            })
            .collect()
    }

    fn lines(&self) -> Vec<Value> {
        let output = self.process.output();
        let lines = complete(&output).lines();
        let lines = lines.filter(|line| !line.starts_with(TELEMETRY));
        let lines = lines.map(|line| {
            serde_json::from_str(line)
                .unwrap_or_else(|_| panic!("the broker's log has a line that is no JSON: {line}"))
        });
        self.earlier.iter().cloned().chain(lines).collect()
    }

    async fn answers(&mut self) {
        let url = format!("{}/health", self.url);
        let process = &mut self.process;
        eventually("the broker answers", TIMEOUT, async || {
            assert!(process.is_running(), "the broker has ended");
            match self.http.get(&url).send().await {
                Ok(answer) if answer.status() == 200 => Ok(()),
                Ok(answer) => Err(answer.status().to_string()),
                Err(error) => Err(error.to_string()),
            }
        })
        .await;
    }

    /// Waits until it has done what it does in the background after a start, so that none of its calls is taken for one
    /// of a test. A broker that logs nothing is not waited for.
    async fn catches_up(&self) {
        if self.command_line.iter().any(|word| word == "off") {
            return;
        }
        let is_over = |line: &str| CAUGHT_UP.iter().any(|text| line.contains(text));
        eventually("the broker has caught up", TIMEOUT, async || {
            let output = self.process.output();
            let is_over = complete(&output).lines().any(is_over);
            is_over.then_some(()).ok_or(output)
        })
        .await;
    }
}

impl LogLine {
    /// The line holds this text, in any of its fields.
    pub fn mentions(&self, text: &str) -> bool {
        mentions(&self.0, text)
    }

    pub fn field(&self, name: &str) -> Option<&str> {
        self.0[name].as_str()
    }

    pub fn is_warning_or_worse(&self) -> bool {
        matches!(self.field("level"), Some("WARN" | "ERROR"))
    }

    pub fn text(&self) -> String {
        self.0.to_string()
    }
}

fn complete(output: &str) -> &str {
    output.rsplit_once('\n').map_or("", |(lines, _)| lines)
}

fn mentions(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => string.contains(text),
        Value::Array(items) => items.iter().any(|item| mentions(item, text)),
        Value::Object(members) => members.values().any(|member| mentions(member, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn launch(command_line: &[String], logs: &Path, start: usize) -> Process {
    let (program, arguments) = command_line
        .split_first()
        .expect("a command line begins with a program");
    let mut command = Command::new(program);
    command.args(arguments).current_dir(logs);
    Process::start(&format!("broker-{start}"), &mut command, logs)
}
