//! `odb-adapter check` as its users meet it: the command, its report, its exit status.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output};

use odb_adapter_kit::check::rules;
use odb_stories::Binaries;
use serde_json::Value;

fn odb_adapter(arguments: &[&str]) -> Output {
    Command::new(Binaries::find().path("odb-adapter"))
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn broken(name: &str) -> String {
    crate::broken::adapter(name).display().to_string()
}

#[test]
fn an_error_is_reported_with_its_reason_its_remedy_and_the_command_to_reproduce_it() {
    let kept = tempfile::tempdir().unwrap();
    let adapter = broken("wrong_name");
    let folder = kept.path().join("kept");
    let output = odb_adapter(&[
        "check",
        &adapter,
        "--keep",
        folder.to_str().unwrap(),
        "--deadline",
        "50",
    ]);
    let report = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{report}");
    for part in [
        "error M-02: the manifest's name is not the deployment's",
        "  why:    the broker rejects it",
        "  remedy: write `deployment_name`",
        "spec/contracts/adapter-protocol.md, \"What the broker checks in a generated manifest\"",
        "1 error, ",
    ] {
        assert!(report.contains(part), "{part} is not in {report}");
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for file in fs::read_dir(&folder).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
    let again = report
        .lines()
        .find_map(|line| line.strip_prefix("  again:  odb-adapter "));
    let again: Vec<&str> = again.unwrap().split(' ').collect();
    let output = odb_adapter(&again);
    let shown = text(&output.stdout);
    assert!(
        shown.contains("name: cache"),
        "{shown}{}",
        text(&output.stderr)
    );
}

#[test]
fn the_report_is_there_for_programs() {
    let adapter = broken("wrong_name");
    let output = odb_adapter(&["check", &adapter, "--output", "json", "--deadline", "50"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["passed"], false);
    assert_eq!(report["errors"], 1);
    let errors = report["findings"].as_array().unwrap();
    let finding = errors
        .iter()
        .find(|finding| finding["severity"] == "error")
        .unwrap();
    assert_eq!(finding["id"], "M-02");
    assert_eq!(finding["area"], "orders");
    assert_eq!(finding["call"]["subcommand"], "generate-manifest");
    let areas = report["areas"].as_array().unwrap();
    assert!(
        areas
            .iter()
            .all(|area| area["calls"].as_u64() > Some(0) || area["skipped"].is_string())
    );
}

#[test]
fn what_cannot_be_checked_is_reported_on_stderr_with_another_exit_status() {
    let adapter = broken("faultless");
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let misspelt = write("misspelt.yml", "plan: []\n");
    let unknown_plan = write(
        "unknown-plan.yml",
        "service_deployment: {releases: [], stemcells: []}\n\
         plans: [{name: small, instance_groups: []}]\n\
         plan_changes: [{from: small, to: larg}]\n",
    );
    let nothing = write("nothing.yml", "forms: [stdin]\n");
    let not_executable = write("adapter", "");
    let made = folder.path().join("my-cache");
    fs::create_dir_all(made.join("adapter")).unwrap();
    fs::write(made.join("adapter/adapter.yml"), "").unwrap();
    let made = made.display().to_string();
    let cases: [(&[&str], &str); 8] = [
        (
            &["check", "/no/such/adapter"],
            "could not access `/no/such/adapter`",
        ),
        (&["check", &not_executable], "is not executable"),
        (
            &["check", &adapter, "--inputs", &misspelt],
            "unknown field `plan`",
        ),
        (
            &["check", &adapter, "--inputs", &unknown_plan],
            "unknown plan `larg` in",
        ),
        (
            &["check", &adapter, "--inputs", &nothing],
            "releases and stemcells for the adapter's requests are missing",
        ),
        (&["check", &adapter, "--output", "xml"], "xml"),
        (
            &["check", &adapter, "--plan", "medium"],
            "unknown plan `medium`: no file has this name; available in the inputs: `small`, `large`",
        ),
        (&["check", &made], "has no `adapter.yml`; did you mean `"),
    ];
    for (arguments, reported) in cases {
        let output = odb_adapter(arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(reported), "{reported} is not in {stderr}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn an_adapter_is_checked_with_one_plan_of_the_inputs_by_its_name() {
    let adapter = broken("faultless");
    let plan = ["--plan", "large", "--output", "json", "--deadline", "50"];
    let output = odb_adapter(&[&["check", &adapter], &plan[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let orders = &report["areas"][0];
    assert_eq!(
        (&orders["name"], &orders["calls"]),
        (&"orders".into(), &2.into())
    );
}

#[test]
fn an_adapter_is_checked_with_what_its_broker_is_configured_with() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("broker.yml");
    let broker = "
broker: {port: 8080, use_stdin: true, enable_secure_manifests: true}
service_adapter: {path: /somewhere/else}
service_deployment:
  releases: [{name: cache, version: '3', jobs: [cache-server, smoke-tests]}]
  stemcells: [{os: ubuntu-jammy, version: '1.80'}]
service_catalog:
  id: cache
  global_properties: {maxmemory: 32}
  plans:
  - name: small
    plan_id: small-id
    description: a small cache
    quotas: {service_instance_limit: 3}
    lifecycle_errands: {post_deploy: [{name: smoke-tests, disabled: true}]}
    instance_groups: [{name: cache, vm_type: small, instances: 1, networks: [default], azs: [z1]}]
";
    fs::write(&config, broker).unwrap();
    let inputs = folder.path().join("adapter-check.yml");
    fs::write(&inputs, "broker_config: broker.yml\n").unwrap();
    let inputs = inputs.display().to_string();
    let output = odb_adapter(&[
        "check",
        &broken("faultless"),
        "--inputs",
        &inputs,
        "--deadline",
        "50",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

#[test]
fn an_executable_that_cannot_be_started_is_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("adapter");
    fs::write(&path, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    let inputs = broken("adapter-check.yml");
    let output = odb_adapter(&["check", path.to_str().unwrap(), "--inputs", &inputs]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("error P-01: the executable cannot be started"));
}

/// Compares command and inputs with the document.
#[test]
fn the_document_is_true_to_the_letter() {
    let document = document();
    let folder = tempfile::tempdir().unwrap();
    let inputs = fenced(&document, "yaml");
    fs::write(folder.path().join("adapter-check.yml"), inputs).unwrap();
    symlink(broken("faultless"), folder.path().join("my-adapter")).unwrap();
    let words: Vec<&str> = fenced(&document, "sh").split_whitespace().collect();
    assert_eq!(words[0], "odb-adapter");
    let output = Command::new(Binaries::find().path("odb-adapter"))
        .args(&words[1..])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let report = text(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{report}{}",
        text(&output.stderr)
    );
    let shown = fenced(&document, "text")
        .lines()
        .take_while(|line| !line.contains("..."));
    for line in shown {
        // On a busy machine there may be a warning instead of the last word.
        let line = line.trim_end_matches("ok").trim_end();
        assert!(report.contains(line), "{line} is not in {report}");
    }
}

#[test]
fn every_finding_is_documented() {
    let document = document();
    let mut documented: Vec<&str> = document
        .lines()
        .filter(|line| is_of_a_finding(line))
        .collect();
    documented.sort_unstable();
    let mut rules: Vec<String> = rules::all()
        .map(|rule| {
            let kind = match rule.severity {
                rules::Severity::Error => "error",
                rules::Severity::Warning => "warning",
            };
            format!("| {} | {kind} | {} |", rule.id, rule.error)
        })
        .collect();
    rules.sort_unstable();
    assert_eq!(documented, rules);
}

#[test]
fn every_finding_names_a_section_that_there_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let protocol = fs::read_to_string(root.join("spec/contracts/adapter-protocol.md")).unwrap();
    let headings: Vec<&str> = protocol
        .lines()
        .filter(|line| line.starts_with('#'))
        .collect();
    for rule in rules::all() {
        let is_there = headings
            .iter()
            .any(|heading| heading.contains(rule.section));
        assert!(is_there, "{}: \"{}\"", rule.id, rule.section);
    }
}

fn document() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join("docs/authors/check.md")).unwrap()
}

/// The first block of that language.
fn fenced<'d>(document: &'d str, language: &str) -> &'d str {
    let (_, rest) = document.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0
}

/// Whether a line is a row of a table of findings, such as `| K-02 | …`.
fn is_of_a_finding(line: &str) -> bool {
    let id = line
        .strip_prefix("| ")
        .and_then(|rest| rest.split(' ').next());
    id.is_some_and(|id| {
        id.split_once('-').is_some_and(|(area, number)| {
            area.len() == 1 && number.len() == 2 && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    })
}
