//! `odb-errand`, run as an operator or a job of the release would.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{Binaries, Broker, Foundation, Process, eventually};

/// How long an errand may take; most take a second.
const TIMEOUT: Duration = Duration::from_mins(2);

/// How lines on stderr begin after the program's name, in letters: `2026/01/02 03:04:05.000006 `.
const TIME: usize = 27;

/// Errands of one process run side by side; their files must not meet.
static RUNS: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug)]
pub struct Errand {
    name: String,
    command: Command,
    folder: PathBuf,
}

#[derive(Debug)]
pub struct RunningErrand {
    name: String,
    process: Process,
}

#[derive(Clone, Debug)]
pub struct ErrandRun {
    /// The exit status; none when a signal ended it.
    pub status: Option<i32>,
    pub output: String,
    pub stderr: String,
    name: String,
}

/// The configuration file of an errand in the making, as the release's jobs render it. It has the keys of all errands;
/// each is given its own.
#[derive(Clone, Debug)]
pub struct ErrandConfiguration {
    document: Value,
    folder: PathBuf,
}

impl Errand {
    /// `odb-errand NAME`, with its files in the folder of a foundation.
    pub fn new(foundation: &Foundation, name: &str) -> Self {
        Self::alone(foundation.folder(), name)
    }

    /// The same where there is no foundation.
    pub fn alone(folder: &Path, name: &str) -> Self {
        let mut command = Command::new(Binaries::find().path("odb-errand"));
        command.arg(name);
        Self::of(name, command, folder)
    }

    /// The errand by its own name, as the Go programs are called.
    pub fn by_its_name(foundation: &Foundation, name: &str) -> Self {
        Self::alone_by_its_name(foundation.folder(), name)
    }

    /// The same where there is no foundation.
    pub fn alone_by_its_name(folder: &Path, name: &str) -> Self {
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let programs = folder.join(format!("errands-{number}"));
        fs::create_dir(&programs).expect("the test made the folder");
        let program = programs.join(name);
        symlink(Binaries::find().path("odb-errand"), &program).expect("the test made the folder");
        Self::of(name, Command::new(program), folder)
    }

    fn of(name: &str, mut command: Command, folder: &Path) -> Self {
        command
            .env_remove("ODB_BROKER_PASSWORD")
            .current_dir(folder);
        Self {
            name: name.to_owned(),
            command,
            folder: folder.to_owned(),
        }
    }

    #[must_use]
    pub fn configured(self, configuration: &ErrandConfiguration) -> Self {
        let file = configuration.write(&self.name);
        self.with(&["--config", &file.display().to_string()])
    }

    #[must_use]
    pub fn with(mut self, arguments: &[&str]) -> Self {
        self.command.args(arguments);
        self
    }

    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts it and does not wait.
    pub fn start(mut self) -> RunningErrand {
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let log = format!("{}-{number}", self.name);
        RunningErrand {
            process: Process::start(&log, &mut self.command, &self.folder),
            name: self.name,
        }
    }

    pub async fn run(self) -> ErrandRun {
        self.start().ended().await
    }
}

impl RunningErrand {
    pub fn terminate(&mut self) {
        self.process.terminate();
    }

    pub fn interrupt(&self) {
        self.process.interrupt();
    }

    /// Ends it without a chance to say anything.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn is_running(&mut self) -> bool {
        self.process.is_running()
    }

    pub fn output(&self) -> String {
        self.process.output()
    }

    pub fn stderr(&self) -> String {
        self.process.errors()
    }

    /// Waits until its stderr has this text.
    pub async fn says(&self, text: &str) {
        eventually(text, TIMEOUT, async || {
            let stderr = self.stderr();
            if stderr.contains(text) {
                Ok(())
            } else {
                Err(stderr)
            }
        })
        .await;
    }

    pub async fn ended(self) -> ErrandRun {
        self.ended_within(TIMEOUT).await
    }

    pub async fn ended_within(mut self, timeout: Duration) -> ErrandRun {
        let status = self.process.exit(timeout).await;
        ErrandRun {
            status: status.code(),
            output: self.process.output(),
            stderr: self.process.errors(),
            name: self.name,
        }
    }
}

impl ErrandRun {
    /// Its messages, line by line, without program and time. A line in another form fails the test.
    pub fn texts(&self) -> Vec<&str> {
        let prefix = format!("[{}] ", self.name);
        let mut texts = Vec::new();
        for line in self.stderr.lines() {
            let text = line
                .strip_prefix(&prefix)
                .filter(|rest| has_time(rest))
                .map(|rest| &rest[TIME..]);
            match (text, texts.is_empty()) {
                (Some(text), _) => texts.push(text),
                // It belongs to the line before.
                (None, false) => texts.push(line),
                (None, true) => panic!("it is no line of a log: {line}"),
            }
        }
        texts
    }

    pub fn last_text(&self) -> &str {
        self.texts().last().copied().unwrap_or_default()
    }

    /// The exit status has to be this one; else the test fails, with all that was said.
    #[expect(
        clippy::return_self_not_must_use,
        reason = "the status may be all that matters"
    )]
    pub fn expect_status(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{}{}", self.stderr, self.output);
        self
    }

    /// It has done all that it was asked for; else the test fails, with all that was said.
    pub fn expect_success(self) {
        let _ = self.expect_status(0);
    }

    #[track_caller]
    pub fn expect_said(&self, text: &str) {
        assert!(self.stderr.contains(text), "`{text}` is missing: {self:?}");
    }

    #[track_caller]
    pub fn expect_said_last(&self, text: &str) {
        let is_last = self.last_text().contains(text);
        assert!(is_last, "`{text}` is not the last: {self:?}");
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.output)
            .unwrap_or_else(|error| panic!("stdout is no JSON ({error}): {self:?}"))
    }
}

fn has_time(rest: &str) -> bool {
    let form = "0000/00/00 00:00:00.000000 ";
    rest.len() >= form.len()
        && form.bytes().zip(rest.bytes()).all(|(wanted, found)| {
            if wanted == b'0' {
                found.is_ascii_digit()
            } else {
                found == wanted
            }
        })
}

impl ErrandConfiguration {
    /// For a broker and the Cloud Controller of its foundation; in a hurry.
    pub fn of(foundation: &Foundation, broker: &Broker) -> Self {
        Self::of_broker(foundation, broker.url(), broker.password())
    }

    /// For whatever answers at an address in a broker's place.
    pub fn of_broker(foundation: &Foundation, url: &str, password: &str) -> Self {
        let known = foundation.description();
        let (controller, authority) = (&known.cloud_controller, foundation.authority());
        let client = json!({
            "client_id": controller.broker_client.id,
            "client_secret": controller.broker_client.secret,
        });
        let user = json!({ "username": null, "password": null });
        let authentication = json!({ "client_credentials": client, "user_credentials": user });
        let basic = json!({ "username": "broker", "password": password });
        let document = json!({
            "broker_api": {
                "url": url,
                "authentication": { "basic": basic },
                "tls": { "ca_cert": authority, "disable_ssl_cert_verification": false },
            },
            "cf": {
                "url": controller.url,
                "root_ca_cert": authority,
                "disable_ssl_cert_verification": false,
                "uaa": { "url": controller.uaa_url, "authentication": authentication },
            },
            "disable_ssl_cert_verification": false,
            "maintenance_info_present": false,
            "polling_interval": 1,
            "polling_initial_offset": 0,
            "attempt_interval": 1,
            "attempt_limit": 5,
            "request_timeout": 60,
            "max_in_flight": 1,
            "canaries": 0,
            "canary_selection_params": {},
            "broker_name": "redis-broker",
            "broker_username": "broker",
            "broker_password": password,
            "broker_url": url,
            "service_offering_id": offering_id(),
            "service_catalog": { "id": offering_id() },
            "plans": [],
        });
        Self {
            document,
            folder: foundation.folder().to_owned(),
        }
    }

    /// With another value at a JSON pointer, for example `/broker_api/url`. `Value::Null` removes it.
    #[must_use]
    pub fn with(mut self, pointer: &str, value: Value) -> Self {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer has slashes");
        let parent = self.document.pointer_mut(parent);
        let parent = parent.unwrap_or_else(|| panic!("there is nothing at `{pointer}`"));
        parent[key] = value;
        self
    }

    /// Without a Cloud Controller, as it is rendered where none is configured: all keys, with nulls.
    #[must_use]
    pub fn without_cloud_controller(self) -> Self {
        let nothing = json!({
            "url": null,
            "root_ca_cert": null,
            "disable_ssl_cert_verification": false,
            "uaa": {
                "url": null,
                "authentication": {
                    "client_credentials": { "client_id": null, "client_secret": null },
                    "user_credentials": { "username": null, "password": null },
                },
            },
        });
        self.with("/cf", nothing)
    }

    #[must_use]
    pub fn with_plans(self, plans: &[(&str, &str, Option<&str>)]) -> Self {
        let plans = plans.iter().map(|(name, access, organization)| {
            json!({ "name": name, "cf_service_access": access, "service_access_org": organization })
        });
        let plans = plans.collect();
        self.with("/plans", plans)
    }

    /// Writes all of it to one file, which every errand can be given.
    pub fn write_whole(&self, file: &Path) {
        // JSON is YAML.
        let text = format!("{:#}", self.document);
        fs::write(file, text).expect("the folder is the test's own");
    }

    /// Writes it to a file of its own for that errand.
    pub fn write(&self, errand: &str) -> PathBuf {
        let mut document = self.document.clone();
        let keys = keys_of(errand);
        document
            .as_object_mut()
            .expect("it is a map of sections")
            .retain(|key, _| keys.contains(&key.as_str()));
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let file = self.folder.join(format!("errand-{number}.yml"));
        // JSON is YAML.
        let text = format!("{document:#}");
        fs::write(&file, text).expect("the test made the folder");
        file
    }
}

/// Which keys the file of an errand has (`spec/contracts/errands.md` §1.5).
fn keys_of(errand: &str) -> &'static [&'static str] {
    match errand {
        "register-broker" => &[
            "broker_name",
            "broker_username",
            "broker_password",
            "broker_url",
            "cf",
            "service_offering_id",
            "plans",
        ],
        "deregister-broker" => &["cf", "disable_ssl_cert_verification"],
        "delete-all-service-instances" | "delete-all-service-instances-and-deregister-broker" => &[
            "cf",
            "disable_ssl_cert_verification",
            "service_catalog",
            "polling_interval",
            "polling_initial_offset",
            "max_in_flight",
            "give_up_after",
        ],
        "upgrade-all-service-instances" | "recreate-all-service-instances" => &[
            "broker_api",
            "cf",
            "maintenance_info_present",
            "polling_interval",
            "attempt_interval",
            "attempt_limit",
            "request_timeout",
            "max_in_flight",
            "canaries",
            "canary_selection_params",
            "bosh",
            "run",
        ],
        _ => &["broker_api"],
    }
}

fn offering_id() -> String {
    let manifest: Value =
        odb_adapter_sdk::yaml::from_str(&Foundation::manifest("redis-broker.yml"))
            .expect("it is a broker.yml but for its placeholders");
    let id = manifest["service_catalog"]["id"].as_str();
    id.expect("the offering has an id").to_owned()
}
