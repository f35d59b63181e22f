//! A service author's dev loop: `odb-sandbox up --broker … --adapter …` in a folder of the test's own.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    time::Duration,
};

use odb_adapter_sdk::yaml;
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    AdapterFolder, Binaries, Cf, Director, Foundation, Process, ProcessTable, RunningProcess,
    eventually, foundation::Description, trust,
};

/// Everything is up within seconds; a busy machine takes its time.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Sections of `manifests/sandbox/redis-broker.yml` that are an author's.
const OF_THE_AUTHOR: [&str; 2] = ["service_deployment", "service_catalog"];

#[derive(Debug)]
pub struct DevLoop {
    binaries: Binaries,
    folder: TempDir,
}

#[derive(Debug)]
pub struct RunningDevLoop {
    binaries: Binaries,
    sandbox: Process,
    state: PathBuf,
}

impl DevLoop {
    /// With a `broker.yml` that has what is the author's alone, for the adapter of Redis.
    pub fn new() -> Self {
        let binaries = Binaries::find();
        let folder = tempfile::Builder::new()
            .prefix("odb-author.")
            .tempdir()
            .expect("tests may write temporary files");
        let dev_loop = Self { binaries, folder };
        let sample: Value = yaml::from_str(&Foundation::manifest("redis-broker.yml"))
            .expect("it is a broker.yml but for its placeholders");
        let mut author = Value::Object(serde_json::Map::new());
        for section in OF_THE_AUTHOR {
            author[section] = sample[section].clone();
        }
        dev_loop.write_broker_file(&author);
        // In a hurry, as all tests are.
        dev_loop.write("foundation.yml", &Foundation::setup().text());
        dev_loop
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, text: &str) {
        let file = self.folder.path().join(name);
        let parent = file.parent().expect("it is in the folder");
        fs::create_dir_all(parent).expect("the test made the folder");
        fs::write(file, text).expect("the test made the folder");
    }

    /// Writes `broker.yml` as people do, each key on a line of its own.
    pub fn write_broker_file(&self, document: &Value) {
        let text = yaml::to_string(document).expect("it is a document");
        self.write("broker.yml", &text);
    }

    pub fn broker_file(&self) -> Value {
        let text = fs::read_to_string(self.folder.path().join("broker.yml"));
        yaml::from_str(&text.expect("it is there")).expect("it is a broker.yml")
    }

    /// The number of the first line of `broker.yml` with this text.
    pub fn line_with(&self, text: &str) -> usize {
        let file = fs::read_to_string(self.folder.path().join("broker.yml")).expect("it is there");
        let line = file.lines().position(|line| line.contains(text));
        line.expect("there is such a line") + 1
    }

    pub fn change_broker_file(&self, change: impl FnOnce(&mut Value)) {
        let mut document = self.broker_file();
        change(&mut document);
        self.write_broker_file(&document);
    }

    /// Writes an adapter in Bash, in one step as a linker does. It has the variables of
    /// [`Adapters::script`](crate::Adapters::script); `$folder` is the author's.
    pub fn write_adapter(&self, name: &str, script: &str) -> PathBuf {
        let redis = self.binaries.path("redis-service-adapter");
        let text = format!(
            r#"#!/bin/bash
folder='{folder}'
read_input() {{ input=$(cat); }}
call=$1
as_redis() {{ printf '%s' "$input" | '{redis}' "$call"; }}
{script}
"#,
            folder = self.folder.path().display(),
            redis = redis.display(),
        );
        self.write("adapter.new", &text);
        let (new, adapter) = (
            self.folder.path().join("adapter.new"),
            self.folder.path().join(name),
        );
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).expect("the test made it");
        fs::rename(new, &adapter).expect("the test made the folder");
        adapter
    }

    pub fn redis_adapter(&self) -> PathBuf {
        self.binaries.path("redis-service-adapter")
    }

    /// A copy of an example of the project's, a folder that `template-service-adapter` makes an adapter of.
    pub fn copy_of_example(&self, name: &str) -> AdapterFolder {
        AdapterFolder::copy_of(name, self.folder.path(), &self.binaries)
    }

    /// A script in Bash that finds the executables, in the author's folder.
    pub fn shell(&self, script: &str) -> tokio::process::Command {
        let sandbox = self.binaries.path("odb-sandbox");
        let binaries = sandbox.parent().expect("it is in a folder");
        let mut command = tokio::process::Command::new("bash");
        command
            .args([
                "-c",
                &format!(
                    "PATH={}:$PATH\nset -euo pipefail\n{script}",
                    binaries.display()
                ),
            ])
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs a command that starts a sandbox, and waits until it reports that it is ready.
    pub async fn run_until_ready(&self, command: &str) -> Process {
        let mut shell = self.shell(&format!("exec {command}")).into_std();
        let mut sandbox = Process::start("guide", &mut shell, self.folder.path());
        eventually("the sandbox is ready", TIMEOUT, async || {
            assert!(sandbox.is_running(), "the sandbox has ended");
            let output = sandbox.output();
            let is_ready = output.lines().any(|line| line.starts_with("ready "));
            if is_ready {
                Ok(())
            } else {
                Err(sandbox.errors())
            }
        })
        .await;
        sandbox
    }

    /// Starts a sandbox in a hurry, and waits until it is ready.
    pub async fn start(&self, adapter: &Path) -> RunningDevLoop {
        self.start_with(adapter, &["--config", "foundation.yml", "--jobs", JOBS])
            .await
    }

    /// Starts a sandbox with these options, and waits until it is ready.
    pub async fn start_with(&self, adapter: &Path, options: &[&str]) -> RunningDevLoop {
        let mut dev_loop = self.launch(adapter, options);
        eventually("the sandbox is ready", TIMEOUT, async || {
            assert!(dev_loop.sandbox.is_running(), "the sandbox has ended");
            let output = dev_loop.sandbox.output();
            let is_ready = output.lines().any(|line| line.starts_with("ready "));
            if is_ready {
                Ok(())
            } else {
                Err(dev_loop.reported())
            }
        })
        .await;
        dev_loop
    }

    /// Starts a sandbox with these options, whatever comes of it.
    pub fn launch(&self, adapter: &Path, options: &[&str]) -> RunningDevLoop {
        let mut command = Command::new(self.binaries.path("odb-sandbox"));
        command
            .current_dir(self.folder.path())
            .args(["up", "--state", "state", "--broker", "broker.yml"])
            .arg("--adapter")
            .arg(adapter)
            .arg("--rsa-keys")
            .arg(self.binaries.rsa_keys())
            .args(options);
        RunningDevLoop {
            binaries: self.binaries.clone(),
            sandbox: Process::start("up", &mut command, self.folder.path()),
            state: self.folder.path().join("state"),
        }
    }
}

impl Default for DevLoop {
    fn default() -> Self {
        Self::new()
    }
}

const JOBS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../manifests/sandbox/jobs");

impl RunningDevLoop {
    pub fn reported(&self) -> String {
        self.sandbox.errors()
    }

    /// Waits until a message with all these words in one line appears for the `times`-th time.
    pub async fn reports(&self, words: &[&str], times: usize) {
        let what = format!("{words:?} is reported {times} time(s)");
        eventually(&what, TIMEOUT, async || {
            let reported = self.reported();
            let lines = reported.lines();
            let fitting = lines.filter(|line| words.iter().all(|word| line.contains(word)));
            if fitting.count() >= times {
                Ok(())
            } else {
                Err(reported)
            }
        })
        .await;
    }

    pub fn cf(&self) -> Cf {
        Cf::new(
            self.binaries.path("odb-sandbox"),
            self.state.join("foundation.json"),
        )
    }

    /// The Director, as its administrator sees it.
    pub fn director(&self) -> Director {
        let text = fs::read(self.state.join("foundation.json")).expect("the sandbox is ready");
        let description: Description =
            serde_json::from_slice(&text).expect("the sandbox describes itself");
        let tls = trust::client_tls(&description.ca_certificate);
        Director::new(trust::http_client(tls), &description.director)
    }

    pub fn broker(&self) -> RunningProcess {
        let running = self.processes();
        let mut brokers = running
            .iter()
            .filter(|process| process.command_line.contains("on-demand-broker serve"));
        brokers.next().expect("a broker runs").clone()
    }

    pub fn id(&self) -> u32 {
        self.sandbox.id()
    }

    pub fn processes(&self) -> Vec<RunningProcess> {
        let state = self.state.display().to_string();
        let table = ProcessTable::look();
        table.with_argument(&state).into_iter().cloned().collect()
    }

    pub async fn interrupt(&mut self) -> ExitStatus {
        self.sandbox.interrupt();
        self.exit().await
    }

    pub async fn exit(&mut self) -> ExitStatus {
        self.sandbox.exit(TIMEOUT).await
    }

    /// Has a fresh foundation put in the place of this one, and waits until that is done.
    pub async fn reset(&self) {
        let mut command = tokio::process::Command::new(self.binaries.path("odb-sandbox"));
        let reset = command.args(["reset", "--state"]).arg(&self.state).output();
        let reset = reset.await.expect("the program is there");
        assert!(reset.status.success(), "{reset:?}");
    }

    /// Kills the sandbox, which has no chance to do anything about it.
    pub fn kill(&mut self) {
        self.sandbox.kill();
    }
}
