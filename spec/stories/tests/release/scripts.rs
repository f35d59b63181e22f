//! The scripts of the jobs: clean, free of secrets, and at work.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use odb_stories::release::{Rendered, render_all};
use serde_json::json;

use super::samples::{Machine, broker, errand, rendered_contract, smallest};

/// The time limit for `drain` in this test.
const TIMEOUT: Duration = Duration::from_secs(30);

fn scripts(rendered: &Rendered) -> Vec<(&str, &str)> {
    rendered
        .files()
        .filter(|(path, _)| path.starts_with("bin/"))
        .collect()
}

#[test]
fn shellcheck_has_nothing_to_say_of_rendered_scripts() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let deployment = rendered_contract();
    let mut files = Vec::new();
    for job in deployment
        .instances()
        .iter()
        .flat_map(odb_stories::release::RenderedInstance::jobs)
    {
        for (path, text) in scripts(job) {
            let file = folder
                .path()
                .join(format!("{}-{}", job.job(), path.replace('/', "-")));
            fs::write(&file, text).expect("the test made the folder");
            files.push(file);
        }
    }
    assert_eq!(files.len(), 12, "{files:?}");
    let output = Command::new("shellcheck")
        .args(&files)
        .output()
        .expect("shellcheck is installed");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

/// Every user of the machine can see command lines, and scripts are readable for those who may run them.
#[test]
fn no_script_and_no_command_line_has_a_secret() {
    let deployment = rendered_contract();
    for job in deployment
        .instances()
        .iter()
        .flat_map(odb_stories::release::RenderedInstance::jobs)
    {
        for (path, text) in job.files() {
            if path.starts_with("bin/") || path == "config/bpm.yml" || path == "monit" {
                for secret in ["value-of-", "PRIVATE KEY", "BEGIN"] {
                    assert!(
                        !text.contains(secret),
                        "`{path}` of `{}`:\n{text}",
                        job.job()
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn an_errand_finds_bpm_in_either_location() {
    let machine = Machine::new();
    let job = "orphan-deployments";
    let rendered = errand(job, json!({}), &smallest()).render();
    machine.put(&rendered.unwrap_or_else(|rejection| panic!("{rejection}")));
    let run = async || {
        let mut script = machine.vm.script(job, "run");
        let status = script.exit(TIMEOUT).await;
        (status.code(), script.output())
    };
    for location in ["jobs", "packages"] {
        let script = format!("#!/bin/bash\necho \"{location}: $*\"\nexit 10\n");
        machine
            .vm
            .write_executable(&format!("{location}/bpm/bin/bpm"), &script);
    }
    assert_eq!(
        run().await,
        (Some(10), "jobs: run orphan-deployments\n".to_owned())
    );
    let path = machine.vm.root().join("jobs/bpm");
    fs::remove_dir_all(path).expect("the test made the folder");
    assert_eq!(
        run().await,
        (Some(10), "packages: run orphan-deployments\n".to_owned())
    );
}

#[tokio::test]
async fn scripts_hand_files_to_programs_and_their_status_on() {
    let machine = Machine::new();
    let program = "#!/bin/bash\necho \"$*\"\nexit 10\n";
    machine
        .vm
        .write_executable("packages/on-demand-broker/bin/odb-errand", program);
    let renderings = [
        broker(smallest()),
        errand("service-metrics-adapter", json!({}), &smallest()),
    ];
    for rendered in render_all(renderings) {
        machine.put(&rendered.unwrap_or_else(|rejection| panic!("{rejection}")));
    }
    for (job, script, errand, file) in [
        (
            "broker",
            "post-start",
            "broker-post-start",
            "config/broker.yml",
        ),
        (
            "service-metrics-adapter",
            "collect-service-metrics",
            "collect-service-metrics",
            "config/config.yml",
        ),
    ] {
        let mut process = machine.vm.script(job, script);
        let status = process.exit(TIMEOUT).await;
        let file = machine.file(job, file);
        let expected = format!("{errand} --config {}\n", file.display());
        assert_eq!((status.code(), process.output()), (Some(10), expected));
        assert!(file.is_file(), "`{}`", file.display());
    }
}

/// Where `bosh ssh` leads the environment and the user are others.
#[tokio::test]
async fn the_doctor_is_asked_in_the_environment_of_the_brokers_process() {
    let machine = Machine::new();
    let said = "from='$NAME' no_proxy='$no_proxy' tmp='$TMPDIR' state='${BOSH_JOB_STATE-none}'";
    let program = format!("#!/bin/bash\necho \"$*\"\necho \"{said}\"\nexit 7\n");
    machine
        .vm
        .write_executable("packages/on-demand-broker/bin/on-demand-broker", &program);
    let mut properties = smallest();
    properties["environment"] =
        json!({ "NAME": "O'Neill $HOME \"1\"", "no_proxy": ".internal", "no-name": 1 });
    let rendered = broker(properties).render();
    machine.put(&rendered.unwrap_or_else(|rejection| panic!("{rejection}")));

    let arguments = ["--format", "json", "--timeout", "9"];
    let mut doctor = machine.vm.script_with("broker", "doctor", &arguments);
    let status = doctor.exit(TIMEOUT).await;

    let root = machine.vm.root().display();
    let expected = format!(
        "doctor --config {root}/jobs/broker/config/broker.yml --format json --timeout 9\n\
         from='O'Neill $HOME \"1\"' no_proxy='.internal' tmp='{root}/data/broker/tmp' state='none'\n"
    );
    assert_eq!(
        (status.code(), doctor.output()),
        (Some(7), expected),
        "{}",
        doctor.errors()
    );
}

/// A broker of sorts, of which `drain` finds the id. It ends with the test.
struct StandIn(Child);

impl StandIn {
    fn start(machine: &Machine, script: &str) -> Self {
        let mut command = Command::new("bash");
        command.args(["-c", &format!("{script}; echo ready; exec sleep 60")]);
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is a bash");
        let output = child.stdout.take().expect("it is piped");
        let mut line = String::new();
        BufReader::new(output)
            .read_line(&mut line)
            .expect("it reports that it is ready");
        write_pid(machine, &child.id().to_string());
        Self(child)
    }

    fn has_ended(&mut self) -> bool {
        self.0.try_wait().expect("it is our child").is_some()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn write_pid(machine: &Machine, text: &str) {
    let folder = machine.vm.root().join("sys/run/bpm/broker");
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(folder.join("broker.pid"), text))
        .expect("the test made the folder");
}

fn with_shutdown_timeout(seconds: u64) -> Machine {
    let machine = Machine::new();
    let mut properties = smallest();
    properties["shutdown_timeout_in_seconds"] = json!(seconds);
    let rendered = broker(properties).render();
    machine.put(&rendered.unwrap_or_else(|rejection| panic!("{rejection}")));
    machine
}

/// Drains, which leaves no process and no pid file, and gives the log.
async fn drain(machine: &Machine) -> String {
    let mut drain = machine.vm.script("broker", "drain");
    let status = drain.exit(TIMEOUT).await;
    let root = machine.vm.root();
    let log = fs::read_to_string(root.join("sys/log/broker/drain.log")).unwrap_or_default();
    assert_eq!(
        (status.code(), drain.output().as_str()),
        (Some(0), "0\n"),
        "{log}"
    );
    assert!(!root.join("sys/run/bpm/broker/broker.pid").exists());
    log
}

#[tokio::test]
async fn there_is_nothing_to_drain_where_no_broker_runs() {
    let machine = with_shutdown_timeout(60);
    assert!(drain(&machine).await.contains("the broker is not running"));
    for text in ["", "1 2", "999999999\n", "not a number"] {
        write_pid(&machine, text);
        assert!(
            drain(&machine).await.contains("has already ended"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_broker_that_is_drained_is_asked_to_end() {
    let machine = with_shutdown_timeout(60);
    let mut broker = StandIn::start(&machine, ":");
    let log = drain(&machine).await;
    assert!(broker.has_ended());
    assert!(
        log.contains("(timeout: 65 s)") && !log.contains("killing it"),
        "{log}"
    );
}

/// The Go release's script gives up, and with a timeout of 0 it stops nothing at all.
#[tokio::test]
async fn a_broker_that_does_not_end_is_killed() {
    let machine = with_shutdown_timeout(0);
    let mut broker = StandIn::start(&machine, "trap '' TERM");
    let log = drain(&machine).await;
    assert!(broker.has_ended());
    assert!(
        log.contains("(timeout: 5 s)") && log.contains("killing it"),
        "{log}"
    );
}
