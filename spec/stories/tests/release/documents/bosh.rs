//! Command lines of the BOSH CLI: such as it takes, with files that are there and manifests that a Director would take.

use std::path::Path;

use odb_adapter_sdk::yaml;
use odb_stories::{
    manifest::{Manifest, OpsFile, Variables},
    release::Jobs,
};
use serde_json::Value;

use super::{
    bosh_cli::{Command, parse},
    manifests::expect_deployable,
};

/// The file of variables that shows where certificates belong.
const EXAMPLE: &str = "manifests/vars/example.yml";

/// Manifests of other projects that our ops files change.
const OF_OTHERS: [&str; 2] = ["cf-deployment.yml", "bosh.yml"];

/// Holds a call of `bosh` to what the BOSH CLI, the project and a Director take. Files are those below a folder.
pub(super) fn expect_fine(location: &str, call: &[String], folder: &Path) {
    let command = expect_known(location, call);
    // Commands that need an operand are not parsed without.
    match command.name {
        "deploy" | "interpolate" | "create-env" => {
            expect_manifest(location, &command, command.operands[0], folder);
        }
        "update-config" | "update-cloud-config" | "update-runtime-config" => {
            let file = folder.join(command.operands[0]);
            let manifest = Manifest::read(&file);
            manifest.unwrap_or_else(|error| panic!("{location}: {error}"));
            expect_name(location, &command, &file);
        }
        _ => {}
    }
}

/// Holds a call of `bosh` to what there is of subcommands, flags, errands and jobs, whatever files it names.
pub(super) fn expect_known<'c>(location: &str, call: &'c [String]) -> Command<'c> {
    let command = parse(call).unwrap_or_else(|error| panic!("{location}: {error} in {call:?}"));
    match command.name {
        "run-errand" => expect_errand(location, command.operands[0]),
        "ssh" => {
            for script in values(&command, &["-c", "--command"]) {
                expect_our_program(location, script);
            }
        }
        _ => {}
    }
    for (_, job) in command.flags.iter().filter(|(flag, _)| *flag == "--job") {
        let is_own = Jobs::of_project().has(job);
        assert!(is_own, "{location}: there is no job `{job}`");
    }
    command
}

/// Operations and variables are read in the order in which they are given, and what is deployed is complete.
fn expect_manifest(location: &str, command: &Command<'_>, base: &str, folder: &Path) {
    let operations = values(command, &["-o", "--ops-file"]).map(|file| {
        let read = OpsFile::read(&folder.join(file));
        read.unwrap_or_else(|error| panic!("{location}: {error}"))
    });
    let operations: Vec<OpsFile> = operations.collect();
    let variables = variables(location, command, folder);
    if OF_OTHERS.iter().any(|name| base.ends_with(name)) {
        return;
    }
    let manifest = Manifest::read(&folder.join(base));
    let manifest = manifest.unwrap_or_else(|error| panic!("{location}: {error}"));
    let manifest = operations
        .iter()
        .try_fold(manifest, Manifest::with_operations);
    let manifest = manifest.unwrap_or_else(|error| panic!("{location}: {error}"));
    if command.name == "deploy" {
        let name = manifest.document()["name"].as_str().unwrap_or_default();
        let deployment = values(command, &["-d", "--deployment"]).next();
        assert_eq!(
            deployment,
            Some(name),
            "{location}: the manifest has another name"
        );
    }
    if manifest.document()["instance_groups"].is_array() {
        expect_deployable(location, &manifest, &variables);
    }
}

/// A configuration of the project has the name that its own head gives it: another name would have it there twice.
fn expect_name(location: &str, command: &Command<'_>, file: &Path) {
    let text = std::fs::read_to_string(file);
    let text = text.unwrap_or_else(|error| panic!("{location}: {error}"));
    let kind = values(command, &["--type"]).next().unwrap_or_default();
    let name = values(command, &["--name"]).next().unwrap_or_default();
    let reported = format!("`bosh update-config --type={kind} --name={name}`");
    assert!(
        text.contains(&reported),
        "{location}: the file does not say {reported}"
    );
}

/// Files first: what is given by name has the last word.
fn variables(location: &str, command: &Command<'_>, folder: &Path) -> Variables {
    let mut variables = Variables::new();
    for file in values(command, &["-l", "--vars-file"]) {
        variables = if file == EXAMPLE {
            Variables::of_example()
        } else {
            let read = variables.with_file(&folder.join(file));
            read.unwrap_or_else(|error| panic!("{location}: {error}"))
        };
    }
    for (flag, value) in &command.flags {
        let pair = || value.split_once('=').expect("a variable has a value");
        variables = match *flag {
            "-v" | "--var" => {
                let (name, value) = pair();
                let value: Value = yaml::from_str(value).expect("values are YAML");
                variables.with(name, value)
            }
            "--var-file" => {
                let (name, file) = pair();
                let text = std::fs::read_to_string(folder.join(file));
                variables.with(
                    name,
                    text.unwrap_or_else(|error| panic!("{location}: {error}")),
                )
            }
            _ => variables,
        };
    }
    variables
}

fn values<'c>(command: &'c Command<'c>, names: &'c [&str]) -> impl Iterator<Item = &'c str> {
    let flags = command.flags.iter();
    flags
        .filter(|(flag, _)| names.contains(flag))
        .map(|(_, value)| *value)
}

fn expect_errand(location: &str, name: &str) {
    let jobs = Jobs::of_project();
    let is_errand = jobs.has(name) && jobs.folder_of(name).join("templates/bin/run.erb").exists();
    assert!(is_errand, "{location}: there is no errand `{name}`");
}

/// A command of our programs on a VM has an existing subcommand and flags, and runs where programs may be executed:
/// stemcells mount `/tmp` with `noexec`.
fn expect_our_program(location: &str, script: &str) {
    let mut words: Vec<&str> = script.split_whitespace().collect();
    if words.first() == Some(&"sudo") {
        let user = if words.get(1) == Some(&"-u") { 3 } else { 1 };
        words.drain(..user);
    }
    let (Some(program), rest) = (words.first(), words.get(1..).unwrap_or_default()) else {
        return;
    };
    let is_executable = !program.starts_with("/tmp/");
    assert!(is_executable, "{location}: nothing runs in /tmp: {script}");
    let error = match program.rsplit('/').next().unwrap_or_default() {
        "doctor" => {
            let job = program.strip_prefix("/var/vcap/jobs/");
            let job = job.and_then(|rest| rest.strip_suffix("/bin/doctor"));
            let job = job.unwrap_or_else(|| panic!("{location}: {program} is of no job"));
            let template = Jobs::of_project().folder_of(job);
            let is_there = template.join("templates/bin/doctor.erb").exists();
            assert!(is_there, "{location}: there is no `{program}`");
            super::inline::fault_of("on-demand-broker", &[&["doctor"], rest].concat())
        }
        name @ ("on-demand-broker" | "odb-errand") => super::inline::fault_of(name, rest),
        _ => None,
    };
    assert_eq!(error, None, "{location}: {script}");
}
