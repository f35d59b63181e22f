//! `orphan-deployments`, as an operator or a job of the release runs it (`spec/contracts/errands.md` §7).

use odb_stories::{Broker, Errand, ErrandConfiguration, ErrandRun, Foundation, eventually, new_id};
use serde_json::{Value, json};

use super::{ask, deployment, fail, hold, is_at_work, made_without_a_record, orphans};
use crate::TIMEOUT;

const NAME: &str = "orphan-deployments";

#[tokio::test]
async fn the_list_is_printed_as_the_go_errand_prints_it_and_the_status_says_whether_it_is_empty() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    foundation.cf().register(&broker).await;
    let configuration = ErrandConfiguration::of(&foundation, &broker);
    let errand = || Errand::by_its_name(&foundation, NAME).configured(&configuration);

    let none = errand().run().await.expect_status(0);
    assert_eq!(none.output, "[]\n");
    let instance = forgotten(&broker).await;

    let some = errand().run().await.expect_status(10);
    let listed = json!([{ "deployment_name": deployment(&instance) }]);
    assert_eq!(some.output, format!("{listed}\n"));
    let begin =
        "Orphan BOSH deployments detected with no corresponding service instance in the platform.";
    assert!(some.last_text().starts_with(begin), "{some:?}");
    let old = ask(broker.platform(), "/mgmt/orphan_deployments").await;
    assert_eq!(old.expect_status(200).json(), listed);
    assert_eq!(foundation.director().deployments().await.len(), 1);

    let wrong = configuration.with("/broker_api/authentication/basic/password", "no".into());
    let refused = Errand::by_its_name(&foundation, NAME).configured(&wrong);
    let refused = refused.run().await.expect_status(1);
    let begin = "error retrieving orphan deployments: HTTP response status: 401 Unauthorized";
    assert!(refused.last_text().starts_with(begin), "{refused:?}");
    assert_eq!(refused.output, "");
}

#[tokio::test]
async fn each_one_is_explained_to_people_in_a_table_and_to_programs_in_json() {
    let foundation = Foundation::start().await;
    let unmarked = new_id();
    made_without_a_record(&foundation, &unmarked).await;
    let broker = foundation.broker().start().await;
    foundation.cf().register(&broker).await;
    let marked = forgotten(&broker).await;

    let reported = run(&foundation, &broker, &["--explain"]).await;

    let reported = reported.expect_status(10);
    assert_eq!(reported.json().as_array().map(Vec::len), Some(2));
    let row = |instance: &str| {
        let mut lines = reported.stderr.lines();
        lines
            .find(|line| line.starts_with(&deployment(instance)))
            .unwrap_or_else(|| panic!("{reported:?}"))
            .to_owned()
    };
    assert!(row(&marked).contains("this broker"), "{reported:?}");
    assert!(row(&marked).contains("the platform does not have it"));
    assert!(row(&marked).contains("create succeeded"));
    assert!(row(&unmarked).contains("unknown"), "{reported:?}");
    let json = run(&foundation, &broker, &["--explain", "--output", "json"]).await;
    let json = json.expect_status(10).json();
    let without_age = |list: &Value| {
        let mut list = list.clone();
        for orphan in list.as_array_mut().unwrap() {
            orphan["age_seconds"] = Value::Null;
        }
        list
    };
    let by_the_broker = Value::from(orphans(&broker).await);
    assert_eq!(without_age(&json), without_age(&by_the_broker));
}

#[tokio::test]
async fn orphans_are_deleted_only_when_their_number_is_given() {
    let foundation = Foundation::start().await;
    let unmarked = new_id();
    made_without_a_record(&foundation, &unmarked).await;
    let broker = foundation.broker().start().await;
    foundation.cf().register(&broker).await;
    let marked = [forgotten(&broker).await, forgotten(&broker).await];
    let director = foundation.director();
    let history = director.history().await;

    for (said, why) in [
        (vec!["--delete"], "--confirm 2"),
        (
            vec!["--delete", "--confirm", "3"],
            "2 deployments would be deleted, not 3",
        ),
        (
            vec!["--delete", "--confirm", "0"],
            "2 deployments would be deleted, not 0",
        ),
    ] {
        let refused = run(&foundation, &broker, &said).await.expect_status(1);
        assert!(refused.last_text().contains(why), "{refused:?}");
    }
    let unconfirmed = run(&foundation, &broker, &["--delete", "--output", "json"]).await;
    let document = unconfirmed.expect_status(1).json();
    assert_eq!(document["status"], "failed");
    assert_eq!(document["deleted"], json!([]));
    assert_eq!(director.history().await, history);

    let said = ["--delete", "--confirm", "2", "--output", "json"];
    let deleted = run(&foundation, &broker, &said).await.expect_status(10);
    let account = deleted.json();
    let mut names: Vec<String> = marked.iter().map(|id| deployment(id)).collect();
    names.sort();
    assert_eq!(account["deleted"], json!(names));
    assert_eq!(account["left"][0]["deployment_name"], deployment(&unmarked));
    assert_eq!(director.deployments().await, [deployment(&unmarked)]);

    let said = ["--delete", "--include-unmarked", "--confirm", "1"];
    let refused = run(&foundation, &broker, &said).await.expect_status(1);
    refused.expect_said("--plan");
    let said = [&said[..], &["--plan", "small"]].concat();
    expect_success(&run(&foundation, &broker, &said).await);
    director.expect_nothing_left().await;
    expect_success(&run(&foundation, &broker, &["--delete"]).await);
}

#[tokio::test]
async fn only_those_that_are_named_are_explained_and_deleted() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    foundation.cf().register(&broker).await;
    let (wanted, other) = (forgotten(&broker).await, forgotten(&broker).await);
    let healthy = super::order(&foundation, "cache").await;

    let said = ["--explain", "--instance", &wanted];
    let explained = run(&foundation, &broker, &said).await.expect_status(10);
    let names = json!([{ "deployment_name": deployment(&wanted) }]);
    assert_eq!(explained.json(), names);
    let said = ["--delete", "--instance", &wanted, "--confirm", "1"];
    expect_success(&run(&foundation, &broker, &said).await);
    let said = ["--delete", "--instance", &healthy, "--output", "json"];
    let left = run(&foundation, &broker, &said).await.expect_status(10);

    assert_eq!(
        left.json()["left"][0]["deployment_name"],
        deployment(&healthy)
    );
    let mut there = vec![deployment(&other), deployment(&healthy)];
    there.sort();
    let mut found = foundation.director().deployments().await;
    found.sort();
    assert_eq!(found, there);
}

#[tokio::test]
async fn one_that_cannot_be_deleted_is_reported_and_the_others_are_deleted_anyway() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    foundation.cf().register(&broker).await;
    let mut instances = [forgotten(&broker).await, forgotten(&broker).await];
    instances.sort();
    fail(&foundation, &instances[0], "Deleting instances").await;

    let said = ["--delete", "--confirm", "2", "--output", "json"];
    let run_once = run(&foundation, &broker, &said).await.expect_status(1);

    let account = run_once.json();
    assert_eq!(account["deleted"], json!([deployment(&instances[1])]));
    let failed = &account["failed"][0];
    assert_eq!(failed["deployment_name"], deployment(&instances[0]));
    assert!(
        failed["cause"].as_str().unwrap().contains("task-id"),
        "{failed}"
    );
    let said = ["--delete", "--confirm", "1"];
    expect_success(&run(&foundation, &broker, &said).await);
    assert!(foundation.director().deployments().await.is_empty());
}

#[tokio::test]
async fn an_errand_that_was_killed_is_run_again_and_waits_for_the_deletion_that_goes_on() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    foundation.cf().register(&broker).await;
    let mut instances = [forgotten(&broker).await, forgotten(&broker).await];
    instances.sort();
    hold(&foundation, &instances[0], "Deleting instances").await;
    let configuration = ErrandConfiguration::of(&foundation, &broker);
    let errand = || Errand::new(&foundation, NAME).configured(&configuration);
    let said = ["--delete", "--confirm", "2"];

    let mut killed = errand().with(&said).start();
    is_at_work(&foundation, "delete deployment").await;
    killed.kill();
    let again = errand().with(&said).start();
    let name = deployment(&instances[0]);
    eventually("it has found the deletion", TIMEOUT, async || {
        let stderr = again.stderr();
        let is_so = stderr.contains(&format!("{name}: is already being deleted"));
        is_so.then_some(()).ok_or(stderr)
    })
    .await;
    let mut stopped = errand().with(&said).start();
    stopped
        .says(&format!("{name}: is already being deleted"))
        .await;
    stopped.terminate();
    let stopped = stopped.ended().await.expect_status(1);
    stopped.expect_said(&format!(
        "{name}: its deletion may continue; run this errand again to see its end"
    ));
    foundation.control().clear_task_faults().await;

    expect_success(&again.ended().await);
    let director = foundation.director();
    assert_eq!(director.deployments().await, Vec::<String>::new());
    let history = director.history().await;
    let deletions = history.iter().filter(|task| task.starts_with("delete"));
    assert_eq!(deletions.count(), 2, "{history:#?}");
}

fn expect_success(run: &ErrandRun) {
    assert_eq!(run.status, Some(0), "{run:?}");
}

async fn run(foundation: &Foundation, broker: &Broker, said: &[&str]) -> ErrandRun {
    let configuration = ErrandConfiguration::of(foundation, broker);
    let errand = Errand::new(foundation, NAME).configured(&configuration);
    errand.with(said).run().await
}

/// An instance that the platform does not know.
async fn forgotten(broker: &Broker) -> String {
    let instance = new_id();
    let platform = broker.platform();
    platform.create(&instance).await;
    instance
}
