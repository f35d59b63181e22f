//! Which broker a command reaches, and what becomes of the credentials.

use std::fs;

use odb_stories::{Odb, ProcessTable};

use super::operator_of;

#[tokio::test]
async fn a_context_is_kept_for_its_owner_alone_and_refused_when_others_can_read_it() {
    let (_foundation, broker, odb) = operator_of(&[]).await;

    assert_eq!(odb.mode(), 0o600);
    let listed = odb.run(&["context", "list"]).await.expect_status(0);
    assert_eq!(listed.row("*"), ["*", "test", broker.url(), "broker"]);
    odb.set_mode(0o640);
    let refused = odb.run(&["instance", "list"]).await.expect_status(1);
    let remedy = format!("chmod 600 {}", odb.file().display());
    assert!(refused.stderr.trim().ends_with(&remedy), "{refused:?}");
}

#[tokio::test]
async fn flags_win_over_the_environment_and_that_over_the_file() {
    let (foundation, broker, odb) = operator_of(&[]).await;
    let list = ["instance", "list", "-o", "json"];
    odb.run(&list).await.expect_status(0);

    // The address of the environment, without credentials for it.
    let elsewhere = [("ODB_URL", "https://127.0.0.1:1")];
    let refused = odb.run_with(&list, &elsewhere).await.expect_status(1);
    assert!(refused.stderr.contains("--username"), "{refused:?}");

    // All of the environment, and no file.
    let nobody = Odb::new(&foundation);
    let authority = foundation.authority_file();
    let all = [
        ("ODB_URL", broker.url()),
        ("ODB_USERNAME", "broker"),
        ("ODB_PASSWORD", broker.password()),
        ("ODB_CA_CERT", &authority),
    ];
    nobody.run_with(&list, &all).await.expect_status(0);
    let wrong = ["instance", "list", "--username", "another"];
    let refused = nobody.run_with(&wrong, &all).await.expect_status(1);
    assert!(refused.stderr.contains("401"), "{refused:?}");
    let unselected = nobody.run(&list).await.expect_status(1);
    assert!(
        unselected.stderr.contains("odb context set"),
        "{unselected:?}"
    );
    let unknown = odb.run(&["instance", "list", "--context", "tset"]).await;
    assert_eq!(
        unknown.expect_status(1).stderr.trim(),
        "Unknown context `tset`. Did you mean `test`?"
    );
}

#[tokio::test]
async fn several_brokers_have_a_column() {
    let (foundation, broker, odb) = operator_of(&["cache"]).await;
    odb.set_context("other", &foundation, &broker).await;

    let listed = odb.run(&["instance", "list", "--all-contexts"]).await;

    let listed = listed.expect_status(0);
    assert!(listed.output.starts_with("BROKER"), "{listed:?}");
    assert_eq!(listed.row("test")[1], "cache");
    assert_eq!(listed.row("other")[1], "cache");
    let one = odb
        .run(&["instance", "show", "cache", "--all-contexts"])
        .await;
    assert!(one.expect_status(1).stderr.contains("--context NAME"));
}

#[tokio::test]
async fn the_password_is_in_no_output_and_on_no_command_line() {
    let (_foundation, broker, odb) = operator_of(&["cache"]).await;
    let password = broker.password();

    let watch = odb.start(&["watch"]);
    let command_line = fs::read(format!("/proc/{}/cmdline", watch.id())).unwrap();
    assert!(!String::from_utf8_lossy(&command_line).contains(password));
    assert!(ProcessTable::look().with_argument(password).is_empty());
    watch.interrupt();
    let watched = watch.ended().await;
    let mut said = watched.output + &watched.stderr;
    for arguments in [
        &["context", "list", "-o", "yaml"][..],
        &["instance", "list", "-o", "json"],
        &["broker", "check"],
        &["broker", "list", "-o", "json"],
        &["broker", "doctor", "-o", "json"],
        &["instance", "list", "--url", "https://127.0.0.1:1"],
    ] {
        let run = odb.run(arguments).await;
        said += &(run.output + &run.stderr);
    }
    let wrong = [("ODB_PASSWORD", "a-wrong-password")];
    let refused = odb.run_with(&["instance", "list"], &wrong).await;
    said += &refused.expect_status(1).stderr;
    assert!(!said.contains(password), "{said}");
    assert!(!said.contains("a-wrong-password"), "{said}");
}
