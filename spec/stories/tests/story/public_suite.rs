//! The public conformance suite, `odb-conformance`, against a broker (`spec/coverage/osb-api.md`).

mod faulty_broker;

use std::{collections::BTreeSet, fs};

use faulty_broker::{FaultyBroker, HANDED_OUT, Peculiarity};
use odb_stories::{Broker, ConformanceSuite, Foundation, SuiteRun, eventually};
use serde_json::{Value, json};

use crate::TIMEOUT;

/// An adapter that records its bindings, so that it can report which exist.
const RECORDS_BINDINGS: &str = r#"read_input
binding=$(jq -r '.create_binding.binding_id // "" | select(. != "")' <<<"$input")
[[ $call != delete-binding ]] || binding=$(jq -r .delete_binding.binding_id <<<"$input")
case $call in
  create-binding)
    [[ ! -e $folder/binding-$binding ]] || exit 49
    touch "$folder/binding-$binding"
    ;;
  delete-binding)
    [[ -e $folder/binding-$binding ]] || exit 41
    rm "$folder/binding-$binding"
    ;;
esac
as_redis"#;

/// A broker that offers whatever can be looked at.
async fn broker_with_everything(foundation: &Foundation) -> Broker {
    let adapter = foundation.adapters().script(RECORDS_BINDINGS);
    let info = json!({ "version": "1.2.3", "description": "A newer Redis" });
    foundation
        .broker()
        .with_adapter(&adapter)
        .with("/broker/require_organization_and_space", true.into())
        .with("/broker/enable_fetch_instance", true.into())
        .with("/service_catalog/bindings_retrievable", true.into())
        .with_secure_bindings()
        .with("/service_catalog/plans/0/maintenance_info", info)
        .start()
        .await
}

fn results<'r>(report: &'r Value, result: &str) -> BTreeSet<&'r str> {
    let results = report["results"].as_array().expect("it is a list");
    let alike = results.iter().filter(|entry| entry["result"] == result);
    alike.filter_map(|entry| entry["rule"].as_str()).collect()
}

fn listed(run: &SuiteRun) -> BTreeSet<&str> {
    let lines = run.output.lines();
    lines.filter_map(|line| line.split(' ').next()).collect()
}

#[tokio::test]
async fn this_broker_keeps_every_rule_and_nothing_is_left_behind() {
    let foundation = Foundation::start().await;
    let broker = broker_with_everything(&foundation).await;
    let junit = foundation.folder().join("junit.xml");
    let text = foundation.folder().join("report.txt");

    let run = ConformanceSuite::against(&broker, &foundation)
        .with(&["--report", "json"])
        .with(&["--report", &format!("junit:{}", junit.display())])
        .with(&["--report", &format!("text:{}", text.display())])
        .run()
        .await;

    let report = run.report();
    for result in ["failed", "warning"] {
        assert_eq!(results(&report, result), BTreeSet::new(), "{report:#}");
    }
    // Features that this broker does not have or declare. Credentials in CredHub need a reader (B-04).
    let skipped = [
        "B-04", "B-09", "B-12", "C-03", "LB-01", "P-03", "P-11", "U-06", "U-12",
    ];
    assert_eq!(
        results(&report, "skipped"),
        BTreeSet::from(skipped),
        "{report:#}"
    );
    assert_eq!(run.status, 0, "{run:?}");
    assert!(results(&report, "passed").len() >= 60);
    assert_eq!(report["left_behind"], json!([]));
    let none: Vec<String> = Vec::new();
    assert_eq!(foundation.director().deployments().await, none);

    let junit = fs::read_to_string(junit).expect("it was written");
    assert!(junit.contains("failures=\"0\""), "{junit}");
    assert!(junit.contains("P-01: "), "{junit}");
    let text = fs::read_to_string(text).expect("it was written");
    assert!(text.contains("passed   G-06   must"), "{text}");
    for reported in [&run.output, &junit, &text] {
        assert!(
            !reported.contains(broker.password()),
            "it prints the password"
        );
    }
}

#[tokio::test]
async fn a_run_that_can_check_nothing_says_so_at_once_and_is_no_success() {
    let (foundation, broker) = Foundation::bare().start_with_broker().await;

    let nope = ConformanceSuite::against(&broker, &foundation).with(&["--service", "nope"]);
    let password = foundation.folder().join("wrong-password");
    fs::write(&password, "wrong").expect("the test made the folder");
    let unauthenticated_client = ConformanceSuite::new(foundation.folder())
        .with(&["--url", broker.url(), "--username", "broker"])
        .with(&["--password-file", &password.display().to_string()])
        .with(&["--insecure-skip-verify"]);
    for (suite, reported) in [
        (nope, "there is no offering called `nope`"),
        (unauthenticated_client, "401"),
    ] {
        let run = suite.run().await;
        assert_eq!(run.status, 1, "{run:?}");
        let message = &run.errors;
        assert!(message.contains("nothing can be checked: "), "{run:?}");
        assert!(message.contains(reported), "{run:?}");
        assert_eq!(run.output, "", "no rule was looked at");
    }
}

/// Without a runtime CredHub the credentials of a binding are not recorded; the adapter can report that it exists (49).
#[tokio::test]
async fn without_credhub_a_repeated_binding_is_the_one_thing_to_warn_of() {
    let foundation = Foundation::start().await;
    let adapter = foundation.adapters().script(RECORDS_BINDINGS);
    let broker = foundation.broker().with_adapter(&adapter).start().await;

    let run = ConformanceSuite::against(&broker, &foundation)
        .with(&["--only", "B,FB,UB", "--report", "json"])
        .run()
        .await;

    let report = run.report();
    assert_eq!(run.status, 0, "{report:#}");
    assert_eq!(
        results(&report, "warning"),
        BTreeSet::from(["B-05"]),
        "{report:#}"
    );
    let passed = results(&report, "passed");
    assert!(
        passed.is_superset(&BTreeSet::from(["B-04", "B-06"])),
        "{report:#}"
    );
}

#[tokio::test]
async fn only_what_is_asked_for_is_looked_at() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;

    let run = ConformanceSuite::against(&broker, &foundation)
        .with(&["--only", "C,P-02", "--skip", "C-04,C-06"])
        .with(&["--report", "json"])
        .run()
        .await;

    let report = run.report();
    let looked_at: BTreeSet<&str> = report["results"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| entry["rule"].as_str())
        .collect();
    let expected = ["C-01", "C-02", "C-03", "C-05", "C-07", "P-02"];
    assert_eq!(looked_at, BTreeSet::from(expected));
    foundation.director().expect_untouched().await;
}

#[tokio::test]
async fn an_interrupted_run_deletes_what_it_has_made() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let process = ConformanceSuite::against(&broker, &foundation)
        .with(&["--only", "L-01", "--report", "json"])
        .start();
    let mut process = process;
    eventually(
        "an instance is being made",
        TIMEOUT,
        async || match foundation.director().history().await.len() {
            0 => Err("there is none".to_owned()),
            _ => Ok(()),
        },
    )
    .await;

    process.terminate();
    let run = SuiteRun::of(process).await;

    assert_eq!(run.status, 1, "{run:?}");
    let report = run.report();
    assert_eq!(results(&report, "skipped"), BTreeSet::from(["L-01"]));
    assert_eq!(report["left_behind"], json!([]));
    let none: Vec<String> = Vec::new();
    assert_eq!(foundation.director().deployments().await, none);
}

#[tokio::test]
async fn a_command_line_that_cannot_be_understood_is_refused_with_what_would_be_right() {
    let folder = tempfile::tempdir().unwrap();
    let password = folder.path().join("password");
    fs::write(&password, "secret").unwrap();
    let file = password.display().to_string();
    let url = ["--url", "http://127.0.0.1:9", "--username", "broker"];
    let with_password = [&url[..], &["--password-file", &file]].concat();

    for (arguments, word) in [
        (vec![], "--url"),
        (url.to_vec(), "ODB_CONFORMANCE_PASSWORD"),
        ([&with_password[..], &["--only", "Q-01"]].concat(), "Q-01"),
        ([&with_password[..], &["--report", "pdf"]].concat(), "junit"),
        (
            [&with_password[..], &["--parameters", &file]].concat(),
            "no JSON",
        ),
        ([&with_password[..], &["--ca-cert", &file]].concat(), "PEM"),
        (
            [&with_password[..], &["--report", "json:/proc/none/report"]].concat(),
            "`/proc/none/report`",
        ),
        (
            [&["--url", "ftp://broker"], &with_password[2..]].concat(),
            "https://",
        ),
        (
            [&["--url", "http://u:p@broker"], &with_password[2..]].concat(),
            "--password-file",
        ),
    ] {
        let run = ConformanceSuite::new(folder.path())
            .with(&arguments)
            .run()
            .await;
        assert_eq!(run.status, 2, "{arguments:?}: {run:?}");
        assert!(run.errors.contains(word), "{arguments:?}: {run:?}");
        assert!(!run.errors.contains("secret"), "{arguments:?}: {run:?}");
    }
}

#[tokio::test]
async fn changes_of_a_broker_that_needs_parameters_are_skipped_until_they_are_given() {
    let broker = FaultyBroker::with(Peculiarity::ChangesNeedParameters).await;
    let folder = tempfile::tempdir().unwrap();
    let parameters = folder.path().join("parameters");
    fs::write(&parameters, r#"{"size":3}"#).unwrap();
    let of_changes = BTreeSet::from(["A-05", "D-04", "U-02", "U-08", "U-09", "U-13"]);
    let given = ["--update-parameters", &parameters.display().to_string()];

    for (arguments, result) in [(&[][..], "skipped"), (&given, "passed")] {
        let run = broker.suite(arguments).await;
        let report = run.report();
        assert_eq!(run.status, 0, "{report:#}");
        assert!(results(&report, "warning").is_empty(), "{report:#}");
        let found = results(&report, result);
        assert!(found.is_superset(&of_changes), "{report:#}");
    }
}

/// Creations in progress are polled with their tokens, bindings are deleted first, rejections are retried.
#[tokio::test]
async fn a_broker_that_deletes_late_is_left_with_nothing() {
    let broker = FaultyBroker::with(Peculiarity::DeletesLate).await;

    let run = broker.suite(&["--only", "B-04,D-05"]).await;

    let report = run.report();
    assert_eq!(report["left_behind"], json!([]), "{report:#}");
    assert_eq!(broker.instances(), Vec::<String>::new());
    assert_eq!(results(&report, "passed"), BTreeSet::from(["B-04"]));
    assert_eq!(run.status, 0, "{report:#}");
}

/// A run may have taken hours.
#[tokio::test]
async fn a_report_that_cannot_be_written_loses_no_other() {
    let broker = FaultyBroker::with(Peculiarity::DeletesNothing(403)).await;
    let folder = tempfile::tempdir().unwrap();
    let junit = folder.path().join("junit.xml");

    let run = broker
        .run_of_suite(&["--only", "P-09", "--report", "json:/dev/full"])
        .with(&["--report", &format!("junit:{}", junit.display())])
        .run()
        .await;

    assert_eq!(run.status, 1, "{run:?}");
    assert!(run.errors.contains("`/dev/full`"), "{run:?}");
    let junit = fs::read_to_string(junit).unwrap();
    assert!(junit.contains("P-09: "), "{junit}");
    // Where everything else goes to files, people find the text where they look.
    assert!(run.output.contains("passed   P-09"), "{run:?}");
    let [instance] = &broker.instances()[..] else {
        panic!("there should be one: {:?}", broker.instances());
    };
    let reported =
        format!("left behind: service instance {instance}: its deletion was answered with 403");
    assert!(run.errors.contains(&reported), "{run:?}");
    assert!(run.output.contains(&reported), "{run:?}");
}

/// After an interrupt a run cleans up, which can take long; after a second one it does not.
#[tokio::test]
async fn a_run_that_is_interrupted_twice_ends_at_once() {
    let broker = FaultyBroker::with(Peculiarity::DeletesNothing(503)).await;
    let process = broker.run_of_suite(&["--only", "P-09"]).start();
    eventually("it cleans up", TIMEOUT, async || {
        match broker.refused_deletions() {
            0 => Err("it has deleted nothing yet".to_owned()),
            _ => Ok(()),
        }
    })
    .await;

    process.interrupt();
    eventually("it describes itself", TIMEOUT, async || {
        let said = process.errors();
        if said.contains("the next interruption") {
            Ok(())
        } else {
            Err(said)
        }
    })
    .await;
    process.interrupt();
    let run = SuiteRun::of(process).await;

    assert_eq!(run.status, 1, "{run:?}");
    let instance = &broker.instances()[0];
    let reported =
        format!("left behind: service instance {instance}: the run was interrupted twice");
    assert!(run.errors.contains(&reported), "{run:?}");
    assert_eq!(run.output, "", "it has come to its end: {run:?}");
}

/// Rules that take too long to break: an answer after a minute.
const NOT_BROKEN: [&str; 1] = ["O-02"];

#[tokio::test]
async fn a_broker_that_keeps_every_rule_passes_with_all_that_can_be_shown() {
    let run = FaultyBroker::start(&[]).await.suite(&[]).await;

    let report = run.report();
    assert_eq!(run.status, 0, "{report:#}");
    for result in ["failed", "warning"] {
        assert_eq!(results(&report, result), BTreeSet::new(), "{report:#}");
    }
    let skipped = BTreeSet::from(["B-07", "U-06"]);
    assert_eq!(results(&report, "skipped"), skipped, "{report:#}");
}

/// A suite that cannot fail is a defect.
#[tokio::test]
async fn a_broker_that_breaks_a_rule_is_caught_at_that_rule() {
    let list = FaultyBroker::start(&[]).await.suite(&["--list"]).await;
    let rules = listed(&list);
    assert!(rules.len() > 60, "{list:?}");

    for rule in rules {
        if NOT_BROKEN.contains(&rule) {
            continue;
        }
        let broker = FaultyBroker::start(&[rule]).await;
        let run = broker.suite(&["--only", rule]).await;

        let report = run.report();
        let result = &report["results"][0];
        assert_eq!(result["rule"], rule);
        let expected = match result["level"].as_str() {
            Some("must") => ("failed", 1),
            _ => ("warning", 0),
        };
        let seen = (result["result"].as_str().unwrap_or_default(), run.status);
        assert_eq!(seen, expected, "{rule} is broken: {report:#}");
        assert!(
            !run.output.contains(HANDED_OUT),
            "{rule} makes it print credentials: {report:#}"
        );
        assert_eq!(report["left_behind"], json!([]), "{rule}: {report:#}");
    }
}
