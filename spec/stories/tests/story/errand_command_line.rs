//! How errands are called, and what they say of what they are given (`spec/contracts/errands.md` §1.1).

use std::path::Path;

use odb_stories::{Errand, ErrandRun};
use tempfile::TempDir;

/// The programs of the Go release with the flag for their file, if they have one of that kind.
const ERRANDS: [(&str, Option<&str>); 9] = [
    ("register-broker", Some("-configPath")),
    ("deregister-broker", Some("-configFilePath")),
    ("upgrade-all-service-instances", Some("-configPath")),
    ("recreate-all-service-instances", Some("-configPath")),
    ("delete-all-service-instances", Some("-configFilePath")),
    (
        "delete-all-service-instances-and-deregister-broker",
        Some("-configFilePath"),
    ),
    ("orphan-deployments", Some("-configPath")),
    ("collect-service-metrics", None),
    ("broker-post-start", Some("-configFilePath")),
];

/// Errands that the Go release does not have.
const OF_OUR_OWN: [&str; 2] = ["operation", "cancel-operation"];

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

async fn called(folder: &Path, name: &str, flags: &[&str]) -> ErrandRun {
    let errand = Errand::alone_by_its_name(folder, name);
    errand.with(flags).run().await
}

/// The arguments of an errand besides its file.
fn beside_its_file(name: &str) -> &'static [&'static str] {
    match name {
        "deregister-broker" | "delete-all-service-instances-and-deregister-broker" => {
            &["-brokerName", "redis-broker"]
        }
        _ => &[],
    }
}

#[tokio::test]
async fn every_errand_is_listed_by_the_program_and_helps_under_its_own_name() {
    let folder = folder();
    let listed = Errand::alone(folder.path(), "--help").run().await;
    let listed = listed.expect_status(0).output;
    let names = ERRANDS.iter().map(|(name, _)| *name).chain(OF_OUR_OWN);
    for name in names {
        let is_listed = listed
            .lines()
            .any(|line| line.trim().split(' ').next() == Some(name));
        assert!(is_listed, "`{name}` is not listed: {listed}");

        // As with Go, usage goes to stderr.
        let usage = called(folder.path(), name, &["-h"]).await.expect_status(0);
        assert_eq!(usage.output, "");
        usage.expect_said("Usage: ");

        let help = Errand::alone(folder.path(), name).with(&["--help"]);
        let help = help.run().await.expect_status(0);
        assert!(help.output.contains("Exit status: "), "{}", help.output);
        assert_eq!(help.stderr, "");
    }
}

#[tokio::test]
async fn a_command_line_that_means_nothing_has_status_2_and_usage_on_stderr() {
    let folder = folder();
    for (name, file) in ERRANDS {
        let mut lines = vec![vec!["-noSuchFlag"], vec!["--noSuchFlag=1"]];
        // The value is missing.
        lines.extend(file.map(|flag| vec![flag]));
        for flags in lines {
            let run = called(folder.path(), name, &flags).await.expect_status(2);
            assert_eq!(run.output, "");
            run.expect_said("Usage: ");
        }
    }
    let run = Errand::alone(folder.path(), "no-such-errand").run().await;
    run.expect_status(2);
}

/// The table "Missing or bad arguments".
#[tokio::test]
async fn what_is_missing_or_wrong_of_a_file_is_reported_in_the_words_of_the_go_errands() {
    let folder = folder();
    let bad = folder.path().join("bad.yml");
    std::fs::write(&bad, "cf: [unfinished").unwrap();
    let bad = bad.display().to_string();
    let no_file = "open /nowhere.yml: no such file or directory";
    for (name, missing, unreadable, invalid) in [
        (
            "register-broker",
            "-configPath must be given as argument",
            "error reading file -configPath: ",
            "error unmarshaling config file: ",
        ),
        (
            "upgrade-all-service-instances",
            "-configPath must be given as argument",
            "",
            "",
        ),
        (
            "recreate-all-service-instances",
            "-configPath must be given as argument",
            "",
            "",
        ),
        (
            "orphan-deployments",
            "-configPath must be given as argument",
            "",
            "failed to unmarshal errand config: ",
        ),
        (
            "deregister-broker",
            "Missing argument -configFilePath",
            "Error reading config file: ",
            "Invalid config file: ",
        ),
        (
            "delete-all-service-instances",
            "Error reading config file: open : no such file or directory",
            "Error reading config file: ",
            "Invalid config file: ",
        ),
        (
            "delete-all-service-instances-and-deregister-broker",
            "Missing argument -configFilePath",
            "Error reading config file: ",
            "Invalid config file: ",
        ),
    ] {
        let flag = file_flag(name);
        let others = beside_its_file(name);
        let with = |flags: &[&str]| {
            let flags = [others, flags].concat();
            let errand = Errand::alone_by_its_name(folder.path(), name).with(&flags);
            async move { errand.run().await.expect_status(1) }
        };
        assert_eq!(with(&[]).await.last_text(), missing, "{name}");
        assert_eq!(with(&[flag, ""]).await.last_text(), missing, "{name}");

        let run = with(&[flag, "/nowhere.yml"]).await;
        assert_eq!(run.last_text(), format!("{unreadable}{no_file}"), "{name}");

        let run = with(&[flag, &bad]).await;
        let expected = format!("{invalid}{bad}:1:");
        assert!(run.last_text().starts_with(&expected), "{}", run.stderr);
        assert_eq!(run.output, "");
    }
}

fn file_flag(name: &str) -> &'static str {
    let found = ERRANDS.iter().find(|(errand, _)| *errand == name);
    found.and_then(|(_, flag)| *flag).unwrap()
}

#[tokio::test]
async fn a_broker_to_be_forgotten_has_to_be_named_before_anything_else() {
    let folder = folder();
    for name in [
        "deregister-broker",
        "delete-all-service-instances-and-deregister-broker",
    ] {
        let file = folder.path().join("nameless.yml");
        let text = "cf: {url: 'https://api.example.com', uaa: {url: 'https://uaa.example.com', authentication: \
                    {client_credentials: {client_id: c, secret: s}}}}\nservice_catalog: {id: x}\n";
        std::fs::write(&file, text).unwrap();
        for flags in [&[][..], &["-configFilePath", &file.display().to_string()]] {
            let run = called(folder.path(), name, flags).await.expect_status(1);
            assert_eq!(run.last_text(), "Missing argument -brokerName");
        }
        let run = Errand::alone(folder.path(), name)
            .run()
            .await
            .expect_status(2);
        assert!(
            run.last_text().starts_with("Missing flag --broker-name: "),
            "{}",
            run.stderr
        );
    }
}

/// Our own form names our own flags.
#[tokio::test]
async fn a_file_that_is_not_given_is_asked_for_by_the_flag_of_the_form_in_use() {
    let folder = folder();
    for name in [
        "register-broker",
        "deregister-broker",
        "upgrade-all-service-instances",
        "delete-all-service-instances",
        "orphan-deployments",
    ] {
        let errand = Errand::alone(folder.path(), name).with(beside_its_file(name));
        let run = errand.run().await.expect_status(2);
        let text = "Missing flag --config: give the errand's configuration file";
        assert_eq!(run.last_text(), text, "{name}");
    }
}

#[tokio::test]
async fn every_error_of_a_file_is_reported_with_its_location() {
    let folder = folder();
    let file = folder.path().join("orphans.yml");
    let text = "broker_api:\n  url: ftp://broker\n  authentication:\n    basic: {username: broker, pasword: hunter2}\n";
    std::fs::write(&file, text).unwrap();

    let flags = ["-configPath", &file.display().to_string()];
    let run = called(folder.path(), "orphan-deployments", &flags).await;
    let run = run.expect_status(1);

    let stderr = &run.stderr;
    assert!(
        stderr.contains("orphans.yml:2:8: `broker_api.url`"),
        "{stderr}"
    );
    assert!(
        stderr.contains(":4:31: `broker_api.authentication.basic.password` is missing"),
        "{stderr}"
    );
    assert!(
        stderr.contains("brokerUsername, brokerPassword and brokerUrl are required"),
        "{stderr}"
    );
    assert!(
        stderr.contains("; write `password` for `pasword` at 4:31"),
        "{stderr}"
    );
    assert!(!stderr.contains("hunter2"), "{stderr}");
    assert_eq!(
        run.last_text(),
        "failed to unmarshal errand config: the configuration has 2 errors"
    );
}
