//! `odb-sandbox` as people call it.

use std::{
    fs::{self, File, OpenOptions},
    io::{BufRead, BufReader},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Output, Stdio},
};

use odb_sandbox::foundation::Description;
use reqwest::StatusCode;
use rustix::process::{Pid, Signal, kill_process};
use secrecy::ExposeSecret;
use tempfile::TempDir;

use crate::{client::Client, foundation::sample};

const SANDBOX: &str = env!("CARGO_BIN_EXE_odb-sandbox");

/// `odb-sandbox up`, ended with the test.
struct Up {
    child: Child,
    output: BufReader<ChildStdout>,
    folder: TempDir,
}

impl Up {
    /// Starts it and waits until it is ready.
    fn start() -> Self {
        Self::start_with(Command::new(SANDBOX), &sample())
    }

    /// Starts it with this configuration by this command, to which its arguments are added.
    fn start_with(mut command: Command, configuration: &Path) -> Self {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let mut child = command
            .args(["up", "--no-processes", "--log", "error", "--config"])
            .arg(configuration)
            .arg("--jobs")
            .arg(sample().with_file_name("jobs"))
            .arg("--state")
            .arg(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut up = Self {
            child,
            output,
            folder,
        };
        up.ready();
        up
    }

    /// Waits for the next line that says that it is ready.
    fn ready(&mut self) {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert!(line.starts_with("ready "), "{line:?}");
    }

    fn description(&self) -> Description {
        Description::read(&self.file()).unwrap()
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("foundation.json")
    }

    /// Ends it in good order.
    fn stop(mut self) -> TempDir {
        self.signal(Signal::TERM);
        self.child.wait().unwrap();
        std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap())
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        if self.child.try_wait().unwrap().is_none() {
            self.signal(Signal::TERM);
            self.child.wait().unwrap();
        }
    }
}

/// Runs a command for the foundation that this file describes.
fn run(foundation: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_odb-sandbox"))
        .args(arguments)
        .env("ODB_FOUNDATION", foundation)
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[tokio::test]
async fn a_fault_is_added_listed_and_cleared_from_the_command_line() {
    let up = Up::start();
    let description = up.description();
    let client = Client::new(&description.ca_certificate);
    let url = format!("{}/info", description.director.url);

    let added = run(
        &up.file(),
        &[
            "fault",
            "add",
            "director",
            "answer",
            "502",
            "--header",
            "X-From: nginx",
            "--body",
            "bad",
            "--path",
            "/info",
            "--times",
            "1",
        ],
    );
    assert_eq!(stdout(&added), "1\n");
    let struck = client.get(&url).await.unwrap();
    assert_eq!(struck.status, StatusCode::BAD_GATEWAY);
    assert_eq!(
        (
            &*struck.body,
            &*struck.headers["x-from"].to_str().unwrap().to_owned()
        ),
        ("bad", "nginx")
    );
    assert_eq!(client.get(&url).await.unwrap().status, StatusCode::OK);
    assert_eq!(
        stdout(&run(&up.file(), &["fault", "list"])),
        concat!(
            r#"1  1/2  {"server":"director","requests":{"path":"/info"},"after":0,"times":1,"#,
            r#""effect":{"kind":"answer","status":502,"headers":{"X-From":"nginx"},"body":"bad","moment":"before"}}"#,
            "\n"
        )
    );
    stdout(&run(&up.file(), &["fault", "clear", "1"]));
    assert_eq!(stdout(&run(&up.file(), &["fault", "list"])), "");
    let missing = run(&up.file(), &["fault", "clear", "1"]);
    assert!(!missing.status.success());
    let message = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert_eq!(message, "error: there is no fault `1`\n");
}

#[tokio::test]
async fn the_calls_of_a_server_are_listed_on_the_command_line() {
    let up = Up::start();
    let description = up.description();
    let client = Client::new(&description.ca_certificate);
    client.token(&description.director).await;
    let url = format!("{}/tasks?state=queued", description.director.url);
    client.get(&url).await.unwrap();

    let listed = stdout(&run(&up.file(), &["calls", "--server", "director"]));

    let words: Vec<&str> = listed.split_whitespace().collect();
    assert_eq!(words[0], "2");
    assert_eq!(
        words[2..],
        ["director", "401", "-", "-", "GET", "/tasks?state=queued"]
    );
    let all = stdout(&run(&up.file(), &["calls"]));
    assert_eq!(all.lines().count(), 2, "{all}");
    let none = stdout(&run(&up.file(), &["calls", "--after", "2"]));
    assert_eq!(none, "");
}

#[test]
fn env_is_what_a_shell_evaluates_to_the_credentials() {
    let up = Up::start();
    let description = up.description();
    let shell = |who: &str| {
        let script = format!(
            r#"eval "$("$0" env --as {who})" && printf '%s\n' \
            "$BOSH_ENVIRONMENT" "$BOSH_CLIENT" "$BOSH_CLIENT_SECRET" "$BOSH_CA_CERT" "$CF_USERNAME" "$CREDHUB_SERVER""#
        );
        let output = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_odb-sandbox")])
            .env("ODB_FOUNDATION", up.file())
            .output()
            .unwrap();
        stdout(&output)
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };

    let director = &description.director;
    let authority = description.ca_certificate.to_str().unwrap();
    let admin = director.admin_client.secret.expose_secret();
    let credhub = &director.credhub.as_ref().unwrap().url;
    assert_eq!(
        shell("admin"),
        [
            &director.url,
            "director-admin",
            admin,
            authority,
            "admin",
            credhub
        ]
    );
    let team = director.team_client.secret.expose_secret();
    assert_eq!(
        shell("developer"),
        [&director.url, "odb", team, authority, "developer", credhub]
    );
}

#[test]
fn env_has_a_user_of_a_director_that_knows_its_users_itself() {
    let configuration = fs::read_to_string(sample()).unwrap();
    let local = "director:\n  user_management:\n    provider: local\n    local:\n      users:\n      - {name: operator, password: pa'ss}\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("foundation.yml");
    fs::write(&file, configuration.replacen("director:\n", local, 1)).unwrap();
    let up = Up::start_with(Command::new(SANDBOX), &file);
    let script =
        r#"eval "$("$0" env --as "$1")" && printf '%s\n' "$BOSH_CLIENT" "$BOSH_CLIENT_SECRET""#;

    for who in ["admin", "developer"] {
        let output = Command::new("sh")
            .args(["-c", script, SANDBOX, who])
            .env("ODB_FOUNDATION", up.file())
            .output()
            .unwrap();
        assert_eq!(stdout(&output), "operator\npa'ss\n");
    }
}

/// The flags of `uaa target` are `--skip-ssl-validation` and the global `--verbose` (cloudfoundry/uaa-cli,
/// `cmd/target.go`); an authority it takes from `SSL_CERT_FILE`, as every program in Go does.
#[test]
fn env_reports_commands_that_uaa_knows() {
    let up = Up::start();
    let director = up.description().director;

    let text = stdout(&run(&up.file(), &["env"]));

    let client = &director.admin_client;
    let line = format!(
        "# UAA of the Director: uaa target {} && uaa get-client-credentials-token '{}' -s '{}'",
        director.uaa_url,
        client.id,
        client.secret.expose_secret()
    );
    assert!(text.lines().any(|found| found == line), "{text}");
    assert!(!text.contains("--ca-cert"), "{text}");
}

#[test]
fn the_end_of_the_terminal_stops_a_foundation_in_good_order() {
    let mut up = Up::start();

    up.signal(Signal::HUP);

    let status = up.child.wait().unwrap();
    assert_eq!(status.code(), Some(0), "{status}");
}

#[test]
fn a_foundation_started_by_nohup_outlives_its_terminal() {
    let mut nohup = Command::new("nohup");
    nohup.arg(SANDBOX).stderr(Stdio::null());
    let up = Up::start_with(nohup, &sample());

    // Signals that are ignored or handled are bits of masks in proc(5); SIGHUP is the lowest.
    let status = fs::read_to_string(format!("/proc/{}/status", up.child.id())).unwrap();
    let mask = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        u64::from_str_radix(line.unwrap().trim(), 16).unwrap()
    };
    assert_eq!(mask("SigIgn:") & 1, 1, "{status}");
    assert_eq!(mask("SigCgt:") & 1, 0, "{status}");
}

#[test]
fn secrets_go_into_no_file_that_others_can_read() {
    let up = Up::start();
    let into = |mode: u32, arguments: &[&str]| {
        let path = up.folder.path().join(format!("env-{mode:o}"));
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(mode)
            .open(&path);
        let output = Command::new(env!("CARGO_BIN_EXE_odb-sandbox"))
            .arg("env")
            .args(arguments)
            .env("ODB_FOUNDATION", up.file())
            .stdout(file.unwrap())
            .output()
            .unwrap();
        let written = File::open(path).unwrap().metadata().unwrap().len();
        (output.status.success(), written > 0)
    };

    assert_eq!(into(0o644, &[]), (false, false));
    assert_eq!(into(0o644, &["--readable-by-others"]), (true, true));
    assert_eq!(into(0o600, &[]), (true, true));
}

#[tokio::test]
async fn a_reset_puts_a_fresh_foundation_on_the_same_net() {
    let mut up = Up::start();
    let before = up.description();

    let state = up.folder.path().to_str().unwrap();
    stdout(&run(&up.file(), &["reset", "--state", state]));

    up.ready();
    let after = up.description();
    assert_eq!(after.net, before.net);
    let secret = |description: &Description| {
        let secret = &description.director.admin_client.secret;
        secret.expose_secret().to_owned()
    };
    assert_ne!(secret(&after), secret(&before));
    Client::new(&after.ca_certificate)
        .token(&after.director)
        .await;
    stdout(&run(&up.file(), &["reset", "--control", &after.control]));
    up.ready();
    assert_ne!(secret(&up.description()), secret(&after));
}

#[test]
fn the_state_of_a_foundation_that_does_not_run_is_removed() {
    let folder = Up::start().stop();
    assert!(folder.path().join("state.redb").exists());

    let state = folder.path().to_str().unwrap();
    stdout(&run(Path::new("/nowhere"), &["reset", "--state", state]));

    assert!(!folder.path().join("state.redb").exists());
    assert!(!folder.path().join("ca.pem").exists());
}
