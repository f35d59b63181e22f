//! `on-demand-broker check` reports every error in a configuration, `schema` describes a valid one.

use std::{
    fs::{self, Permissions},
    io::Write,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output, Stdio},
};

use odb_stories::{Binaries, Foundation, InstancesApi};
use serde_json::{Value, json};

use crate::start_up::expect_no_secrets;

const TWENTY_ERRORS: &str = include_str!("check/twenty-errors.yml");
const GUIDE: &str = include_str!("../../../../docs/operators/configure.md");
const SCHEMA: &str = include_str!("../../../schemas/broker.schema.json");

/// A command of the broker that has ended.
struct Ran {
    status: i32,
    output: String,
    errors: String,
}

impl Ran {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("it prints text");
        Self {
            status: output.status.code().expect("it ends by itself"),
            output: text(output.stdout),
            errors: text(output.stderr),
        }
    }

    /// The JSON document on stdout, which has nothing else.
    fn report(&self) -> Value {
        assert_eq!(self.errors, "");
        serde_json::from_str(&self.output)
            .unwrap_or_else(|error| panic!("{error}: {}", self.output))
    }
}

fn broker(arguments: &[&str]) -> Command {
    let mut command = Command::new(Binaries::find().path("on-demand-broker"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Ran {
    Ran::of(broker(arguments).output().expect("it can be started"))
}

/// Runs it while the servers of the test answer.
async fn run_beside(arguments: &[&str]) -> Ran {
    let mut command = broker(arguments);
    let output = tokio::task::spawn_blocking(move || command.output()).await;
    Ran::of(output.expect("no test panics").expect("it can be started"))
}

/// Checks a configuration as a file of that text.
fn check(text: &str, arguments: &[&str]) -> Ran {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    check_in(folder.path(), text, arguments)
}

fn check_in(folder: &Path, text: &str, arguments: &[&str]) -> Ran {
    let file = folder.join("broker.yml");
    fs::write(&file, text)
        .and_then(|()| fs::set_permissions(&file, Permissions::from_mode(0o640)))
        .expect("the test made the folder");
    let arguments = [&["check", "--config", "broker.yml"], arguments].concat();
    let mut command = broker(&arguments);
    Ran::of(
        command
            .current_dir(folder)
            .output()
            .expect("it can be started"),
    )
}

fn twenty_errors(folder: &Path, arguments: &[&str]) -> Ran {
    fs::write(folder.join("no-key.pem"), "hunter2 is no key").expect("the test made the folder");
    let text = TWENTY_ERRORS.replace("@FOLDER@", &folder.display().to_string());
    check_in(folder, &text, arguments)
}

/// Line and key of each finding that the file with the twenty errors declares with this word.
fn announced(word: &str) -> Vec<(u64, String)> {
    let mut announced = Vec::new();
    for (number, line) in (1..).zip(TWENTY_ERRORS.lines()) {
        let comment = line.split_once(" # ").map_or("", |(_, comment)| comment);
        for announcement in comment.split("  ") {
            if let Some(key) = announcement.strip_prefix(word) {
                announced.push((number, key.trim().to_owned()));
            }
        }
    }
    announced
}

fn findings(report: &Value, sort: &str) -> Vec<(u64, String)> {
    let findings = report[sort].as_array().expect("there is a list").iter();
    let location_and_key = findings.map(|finding| {
        let line = finding["line"].as_u64().expect("a line is known");
        (
            line,
            finding["key"].as_str().expect("a key is text").to_owned(),
        )
    });
    location_and_key.collect()
}

#[test]
fn twenty_planted_errors_are_all_reported_with_line_key_and_remedy() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let expected = announced("error:");
    assert_eq!(expected.len(), 20);

    let text = twenty_errors(folder.path(), &[]);
    let json = twenty_errors(folder.path(), &["--format", "json"]);

    assert_eq!((text.status, json.status), (1, 1));
    let report = json.report();
    assert_eq!(findings(&report, "errors"), expected);
    assert_eq!(findings(&report, "warnings"), announced("warning:"));
    assert_eq!(report["fine"], false);
    for error in report["errors"].as_array().unwrap() {
        for half in ["wrong", "right"] {
            assert_ne!(error[half], "", "{error}");
        }
        let (line, column) = (&error["line"], &error["column"]);
        let (key, wrong, right) = (&error["key"], &error["wrong"], &error["right"]);
        let printed = [key, wrong, right].map(|text| text.as_str().unwrap());
        let code = error["code"].as_str().map(|code| format!(" [{code}]"));
        assert_eq!(
            code.is_some(),
            key.as_str().unwrap().contains(".tls."),
            "{error}"
        );
        let line = format!(
            "broker.yml:{line}:{column}: error: `{}` {}; {}{}",
            printed[0],
            printed[1],
            printed[2],
            code.unwrap_or_default()
        );
        assert!(
            text.output.lines().any(|said| said == line),
            "{line}\n{}",
            text.output
        );
    }
    assert!(
        text.output
            .ends_with("\nbroker.yml: 20 errors, 2 warnings\n"),
        "{}",
        text.output
    );
}

#[test]
fn no_part_of_a_secret_is_reported_wherever_it_slipped_to() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let typos = [
        "broker: {password: *hunter2}",
        "broker: {password: &hunter2 }",
        "broker: {password: !hunter2 x}",
        "broker: {password: {hunter2: hunter2}}",
        "broker: {password:hunter2, port: 1}",
        "broker: {hunter2, port: 1}",
        "broker:\n  password: hunter2\n hunter2: x",
        "broker:\n  password: \"hunter2\n",
        "broker:\n  password: 'hunter2' hunter2\n",
        "broker:\n  password: |\n  hunter2\n",
        "broker:\n  password: @hunter2\n",
        "broker:\n  password: `hunter2\n",
        "broker:\n  password: %hunter2\n",
        "broker:\n  password: [hunter2\n",
        "broker:\n  password: {hunter2\n",
        "broker:\n  password hunter2\n",
        "hunter2",
        "- hunter2",
        "bosh: {root_ca_cert: hunter2}",
        "bosh: {root_ca_cert: \"-----BEGIN CERTIFICATE-----\\nhunter2hunter2hunter2\\n-----END CERTIFICATE-----\\n\"}",
        "bosh: {root_ca_cert: \"-----BEGIN CERTIFICATE-----\\naHVudGVyMg==\\n-----END CERTIFICATE-----\\n\"}",
        "bosh: {authentication: hunter2}",
        "bosh: {authentication: {uaa: {client_credentials: [hunter2]}}}",
        "cf: {uaa: {authentication: {user_credentials: {username: a, password: [hunter2]}}}}",
        "service_catalog: {dashboard_client: {id: a, secret: {hunter2: 1}}}",
        "service_catalog: {dashboard_client: hunter2}",
        "service_catalog: {maintenance_info: {private: {password: [hunter2]}}}",
        "service_catalog: {plans: [{properties: [hunter2]}]}",
        "service_catalog: {global_properties: hunter2}",
        "broker: hunter2",
        "bosh: {url: 'https://admin:hunter2@host/?t=hunter2'}",
        "cf: {url: 'https://hunter2@host'}",
        "broker: {tls: {cert_file: /nowhere, key_file: \"-----BEGIN PRIVATE KEY-----\\nhunter2\\n\"}}",
        "broker: {tls: {key_file: '-----BEGIN PRIVATE KEY----- hunter2'}}",
        "service_deployment: {'-----BEGIN PRIVATE KEY----- hunter2': x}",
    ];
    let mut reports = vec![
        twenty_errors(folder.path(), &[]),
        twenty_errors(folder.path(), &["--format", "json"]),
    ];
    reports.extend(typos.iter().map(|typo| check(typo, &[])));

    for ran in reports {
        let said = ran.output + &ran.errors;
        assert_eq!(ran.status, 1, "{said}");
        assert!(
            !said.contains("hunter") && !said.contains("aHVudGVyMg"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_configuration_that_a_broker_runs_with_is_fine_near_and_far() {
    let foundation = Foundation::start().await;
    let file = foundation
        .broker()
        .write("broker.yml")
        .display()
        .to_string();

    for arguments in [&[][..], &["--online"], &["--elsewhere"]] {
        let arguments = [&["check", "--format", "json", "--config", &file], arguments].concat();
        let ran = run(&arguments);

        let report = ran.report();
        assert_eq!(ran.status, 0, "{report}");
        assert_eq!(report["fine"], true, "{report}");
        assert_eq!(report["errors"], json!([]));
        assert_eq!(report["warnings"], json!([]));
    }

    let api = InstancesApi::start().await;
    let file = foundation
        .broker()
        .with_instances_api(api.url())
        .write("listed.yml")
        .display()
        .to_string();
    let ran = run_beside(&["check", "--online", "--config", &file]).await;
    assert_eq!(ran.status, 0, "{}", ran.output);
    assert_eq!(api.requests().len(), 1);
}

#[tokio::test]
async fn upstreams_are_asked_when_the_operator_wants_it_and_their_answers_get_a_line() {
    let foundation = Foundation::start().await;
    let file = foundation
        .broker()
        .with(
            "/bosh/authentication/uaa/client_credentials/client_secret",
            "hunter2-bosh".into(),
        )
        .with(
            "/cf/uaa/authentication/client_credentials/client_secret",
            "hunter2-cf".into(),
        )
        .with(
            "/service_instances_api",
            json!({ "url": foundation.director().url() }),
        )
        .write("broker.yml")
        .display()
        .to_string();

    let near = run(&["check", "--config", &file]);
    let online = run(&["check", "--config", &file, "--online", "--format", "json"]);

    assert_eq!(near.status, 0, "{}", near.output);
    assert!(
        near.output
            .contains("not checked: Director, Cloud Controller"),
        "{}",
        near.output
    );
    assert_eq!(online.status, 1);
    let report = online.report();
    let keys: Vec<_> = findings(&report, "errors")
        .into_iter()
        .map(|(_, key)| key)
        .collect();
    assert_eq!(
        keys,
        [
            "bosh.authentication.uaa.client_credentials",
            "cf.uaa.authentication.client_credentials",
            "service_instances_api.url"
        ],
        "{report}"
    );
    let errors = report["errors"].as_array().unwrap().iter();
    let codes: Vec<_> = errors.map(|error| &error["code"]).collect();
    assert_eq!(codes, ["ODB-1102", "ODB-1110", "ODB-4005"], "{report}");
    assert!(!online.output.contains("hunter2"), "{}", online.output);
    expect_no_secrets(&foundation, &online.output);
}

#[tokio::test]
async fn a_client_that_may_only_read_at_the_director_is_warned_of_online() {
    const SECRET: &str = "hunter2-reader";
    let reader = json!([{ "id": "reader", "secret": SECRET, "authorities": ["bosh.read"] }]);
    let foundation = Foundation::setup()
        .with_clients(reader, json!([]))
        .start()
        .await;
    let client = json!({ "uaa": { "client_credentials": { "client_id": "reader", "client_secret": SECRET } } });
    let configuration = foundation.broker().with("/bosh/authentication", client);
    let file = configuration.write("reader.yml").display().to_string();

    let ran = run(&["check", "--config", &file, "--online", "--format", "json"]);

    let report = ran.report();
    assert_eq!(ran.status, 0, "{report}");
    assert_eq!(report["errors"], json!([]), "{report}");
    let warnings = report["warnings"].as_array().unwrap();
    let codes: Vec<_> = warnings.iter().map(|warning| &warning["code"]).collect();
    assert_eq!(codes, ["ODB-1124"], "{report}");
    let (wrong, right) = (&warnings[0]["wrong"], &warnings[0]["right"]);
    for (text, part) in [
        (wrong, "does not suffice: client `reader` may only read"),
        (wrong, "so that every order will fail"),
        (right, "`bosh.teams.TEAM.admin`"),
    ] {
        assert!(text.as_str().unwrap().contains(part), "{report}");
    }
    assert!(!ran.output.contains(SECRET), "{report}");
}

#[tokio::test]
async fn schemas_are_asked_of_the_adapter_unless_the_broker_runs_elsewhere() {
    let foundation = Foundation::start().await;
    let script = r#"echo "hunter2 on stderr" >&2; echo '{"hunter2": '; touch "$folder/asked""#;
    let file = foundation
        .broker()
        .with("/broker/enable_plan_schemas", true.into())
        .with_adapter(&foundation.adapters().script(script))
        .write("broker.yml")
        .display()
        .to_string();
    let asked = foundation.folder().join("asked");

    let far = run(&["check", "--config", &file, "--elsewhere"]);
    assert_eq!(far.status, 0, "{}", far.output);
    assert!(!asked.exists());

    let near = run(&["check", "--config", &file]);
    assert_eq!(near.status, 1, "{}", near.output);
    assert!(asked.exists());
    for plan in ["small", "large"] {
        let reported = format!("the schemas of plan `{plan}`");
        let key = "`broker.enable_plan_schemas` fails: ";
        let reports = |line: &str| line.contains(key) && line.contains(&reported);
        assert!(near.output.lines().any(reports), "{}", near.output);
    }
    assert!(!near.output.contains("hunter2"), "{}", near.output);
}

#[tokio::test]
async fn each_plan_is_ordered_on_trial_unless_the_adapter_is_switched_off() {
    let foundation = Foundation::start().await;
    let group = "/service_catalog/plans/0/instance_groups/0/name";
    let unknown = foundation.broker().with(group, "no-such-group".into());
    let script = r#"echo "this plan is unknown" >&2; exit 1"#;
    let broken = foundation
        .broker()
        .with_adapter(&foundation.adapters().script(script));

    let file = broken.write("broken.yml").display().to_string();
    let ran = run(&["check", "--config", &file, "--format", "json"]);
    let report = ran.report();
    assert_eq!(ran.status, 1, "{report}");
    let errors = report["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 2, "{report}");
    for (index, plan) in ["small", "large"].into_iter().enumerate() {
        let error = &errors[index];
        assert_eq!(error["key"], format!("service_catalog.plans[{index}]"));
        assert_eq!(error["code"], "ODB-3003", "{report}");
        let wrong = error["wrong"].as_str().unwrap();
        assert!(
            wrong.starts_with(&format!("is plan `{plan}`, which cannot be ordered: "))
                && wrong.contains("this plan is unknown"),
            "{report}"
        );
    }

    let off = run(&["check", "--config", &file, "--adapter", "off"]);
    assert_eq!(off.status, 0, "{}", off.output);
    let left_out = "not checked: the adapter's answers; `--adapter on` asks for them\n";
    assert!(off.output.contains(left_out), "{}", off.output);

    let file = unknown.write("unknown.yml").display().to_string();
    let ran = run(&["check", "--config", &file]);
    assert_eq!(ran.status, 1, "{}", ran.output);
    assert!(ran.output.contains("no-such-group"), "{}", ran.output);
    expect_no_secrets(&foundation, &ran.output);
}

#[tokio::test]
async fn a_world_readable_file_is_warned_about() {
    let foundation = Foundation::start().await;
    let file = foundation.broker().write("broker.yml");
    for (mode, is_reported) in [(0o640, false), (0o644, true), (0o604, true)] {
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        let ran = run(&["check", "--config", &file.display().to_string()]);
        assert_eq!(ran.status, 0, "{}", ran.output);
        let reported = ran
            .output
            .contains("warning: the file has secrets and every user of this machine can read it; ");
        assert_eq!(reported, is_reported, "{mode:o}: {}", ran.output);
    }
}

#[tokio::test]
async fn a_reference_in_place_of_a_value_is_an_error() {
    let foundation = Foundation::start().await;
    let with = |pointer: &str, value: Value| {
        let configuration = foundation.broker().with(pointer, value);
        let file = configuration.write("broker.yml").display().to_string();
        let ran = run(&[
            "check",
            "--elsewhere",
            "--config",
            &file,
            "--format",
            "json",
        ]);
        (ran.status, ran.report())
    };
    for (pointer, value, key) in [
        ("/broker/password", json!("((hunter2))"), "broker.password"),
        (
            "/service_catalog/plans/0/instance_groups/0/azs",
            json!(["((hunter2))"]),
            "service_catalog.plans[0].instance_groups[0].azs[0]",
        ),
    ] {
        let (status, report) = with(pointer, value);
        assert_eq!(status, 1, "{report}");
        assert_eq!(report["errors"][0]["key"], key, "{report}");
        assert_eq!(report["errors"].as_array().unwrap().len(), 1, "{report}");
        assert!(!report.to_string().contains("hunter2"), "{report}");
    }
    // In a text for people it may be meant; what adapters get, they may refer to.
    let (status, report) = with(
        "/service_catalog/service_description",
        json!("A store ((small))"),
    );
    assert_eq!(status, 0, "{report}");
    let key = "service_catalog.service_description";
    assert_eq!(report["warnings"][0]["key"], key, "{report}");
    let (status, report) = with(
        "/service_catalog/plans/0/properties",
        json!({"secret": "((/a/b))"}),
    );
    assert_eq!(status, 0, "{report}");
    assert_eq!(report["warnings"], json!([]), "{report}");
}

#[test]
fn a_configuration_comes_by_standard_input_or_is_not_there() {
    let mut child = broker(&["check", "--config", "-", "--elsewhere"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it can be started");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(b"broker:\n  port: 0\n").expect("it reads");
    drop(stdin);
    let ran = Ran::of(child.wait_with_output().expect("it ends"));
    assert_eq!(ran.status, 1);
    let reported = "standard input:2:9: error: `broker.port` is 0; ";
    assert!(
        ran.output.starts_with(reported) || ran.output.contains(&format!("\n{reported}")),
        "{}",
        ran.output
    );

    let ran = run(&[
        "check",
        "--config",
        "/nowhere/broker.yml",
        "--format",
        "json",
    ]);
    assert_eq!(ran.status, 1);
    let reported = ran.report()["errors"][0]["wrong"].to_string();
    assert!(reported.contains("cannot be read"), "{reported}");
    for command in ["serve", "doctor"] {
        let ran = run(&[command, "--config", "/nowhere/broker.yml"]);
        assert_eq!(ran.status, 1, "{command}");
        assert!(ran.output.contains("/nowhere/broker.yml"), "{}", ran.output);
    }
}

#[test]
fn a_reader_who_has_seen_enough_does_no_harm() {
    let (reader, writer) = std::io::pipe().expect("there is a pipe");
    drop(reader);
    let status = broker(&["schema"])
        .stdout(writer)
        .status()
        .expect("it can be started");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn the_schema_that_is_printed_is_the_one_in_the_project() {
    let printed = run(&["schema"]);
    assert_eq!(printed.status, 0);
    assert!(
        printed.output == SCHEMA,
        "run `on-demand-broker schema > spec/schemas/broker.schema.json`"
    );
}

#[tokio::test]
async fn the_commands_of_the_guide_do_what_it_says() {
    let foundation = Foundation::start().await;
    foundation.broker().write("broker.yml");
    let blocks: Vec<&str> = GUIDE
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert_eq!(blocks.len(), 4);
    let executable = Binaries::find().path("on-demand-broker");
    let path = std::env::var_os("PATH").expect("there is a shell somewhere");
    let folders = [executable.parent().expect("it is in a folder").to_owned()];
    let path = std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&path)));

    for block in blocks {
        let mut shell = Command::new("bash");
        shell.args(["-euc", block]).current_dir(foundation.folder());
        shell.env("PATH", path.as_ref().expect("no folder has a colon"));
        let ran = Ran::of(shell.output().expect("there is Bash"));
        assert_eq!(ran.status, 0, "{block}: {}{}", ran.output, ran.errors);
    }
    let schema = fs::read_to_string(foundation.folder().join("broker.schema.json"));
    assert_eq!(schema.expect("a command has written it"), SCHEMA);
    // Two lines of the guide's example come from the file with the twenty errors.
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let said = twenty_errors(folder.path(), &[]).output;
    for line in GUIDE
        .lines()
        .filter(|line| line.starts_with("broker.yml:") && line.contains('`'))
    {
        assert!(said.lines().any(|said| said == line), "{line}\n{said}");
    }
}
