//! An errand runs through all instances, and the broker records its progress.

use odb_stories::{Broker, Foundation, new_id};
use serde_json::{Value, json};

async fn begun(broker: &Broker, kind: &str) -> Value {
    let begun = broker.platform().begin_run(&json!({ "kind": kind })).await;
    begun.expect_status(201).json()
}

async fn ended(broker: &Broker, run: &Value, outcome: &str) -> Value {
    let answer = end(broker, run, outcome).await;
    answer.expect_status(200).json()
}

async fn end(broker: &Broker, run: &Value, outcome: &str) -> odb_stories::Response {
    let id = run["id"].as_str().unwrap();
    let body = json!({ "outcome": outcome });
    broker.platform().end_run(id, &body).await
}

/// The latest run, without derived members.
async fn latest(broker: &Broker, kind: &str) -> Value {
    let mut latest = broker
        .platform()
        .latest_run(kind)
        .await
        .expect_status(200)
        .json();
    let members = latest.as_object_mut().unwrap();
    members.remove("is_current");
    members.remove("is_running");
    latest
}

async fn is_current(broker: &Broker, kind: &str) -> Value {
    let latest = broker.platform().latest_run(kind).await;
    latest.expect_status(200).json()["is_current"].clone()
}

#[tokio::test]
async fn a_run_is_recorded_over_a_restart_and_ends_once_and_for_all_when_it_has_succeeded() {
    let (_foundation, mut broker) = Foundation::bare().start_with_broker().await;
    for kind in ["upgrade", "recreate"] {
        let refused = broker.platform().latest_run(kind).await;
        let refused = refused.expect_status(404);
        // Errands distinguish it by these members from the 404 of a broker without runs.
        let reported = refused.json();
        assert_eq!(reported["code"], "ODB-2009", "{reported}");
        assert_eq!(reported["request_id"], refused.request_id(), "{reported}");
    }
    let run = begun(&broker, "upgrade").await;
    assert_eq!(run["kind"], "upgrade");
    assert_eq!(run.get("outcome"), None);
    assert!(
        run["began"].is_string() && run["target"].is_string(),
        "{run}"
    );

    broker.kill();
    broker.start_again().await;
    assert_eq!(latest(&broker, "upgrade").await, run);
    broker
        .platform()
        .latest_run("recreate")
        .await
        .expect_status(404);

    let failed = ended(&broker, &run, "failed").await;
    assert_eq!(failed["outcome"], "failed");
    assert_eq!(
        (&failed["id"], &failed["began"]),
        (&run["id"], &run["began"])
    );
    assert_eq!(ended(&broker, &run, "failed").await, failed);
    let succeeded = ended(&broker, &run, "succeeded").await;
    assert_eq!(latest(&broker, "upgrade").await, succeeded);
    assert_eq!(ended(&broker, &run, "succeeded").await, succeeded);
    end(&broker, &run, "failed").await.expect_status(409);
}

#[tokio::test]
async fn a_later_run_takes_the_location_of_the_one_before_and_leaves_other_kinds_alone() {
    let (_foundation, broker) = Foundation::bare().start_with_broker().await;
    let unknown = json!({ "id": new_id() });
    end(&broker, &unknown, "failed").await.expect_status(404);
    let first = begun(&broker, "upgrade").await;
    let recreation = begun(&broker, "recreate").await;
    let second = begun(&broker, "upgrade").await;
    assert_ne!(first["id"], second["id"]);

    let refused = end(&broker, &first, "succeeded").await;
    let text = refused.expect_status(409).description();
    assert!(text.contains(first["id"].as_str().unwrap()), "{text}");
    assert_eq!(latest(&broker, "upgrade").await, second);
    assert_eq!(latest(&broker, "recreate").await, recreation);
    ended(&broker, &recreation, "succeeded").await;
    assert_eq!(latest(&broker, "upgrade").await, second);
    ended(&broker, &second, "succeeded").await;
}

#[tokio::test]
async fn one_process_at_a_time_carries_out_a_run() {
    let (_foundation, broker) = Foundation::bare().start_with_broker().await;
    let platform = broker.platform();
    let begin = |holder: &str| json!({ "kind": "upgrade", "holder": holder });
    let run = platform.begin_run(&begin("ada")).await;
    let run = run.expect_status(201).json();
    let id = run["id"].as_str().unwrap();
    assert_eq!(run["lease"]["holder"], "ada");
    let now = platform.latest_run("upgrade").await.json();
    assert_eq!(now["is_running"], true);

    let refused = platform.begin_run(&begin("bob")).await;
    let refused = refused.expect_status(409).json();
    assert_eq!(refused["code"], "ODB-2044");
    let bob = json!({ "holder": "bob" });
    let refused = platform.lease_run(id, &bob).await;
    let text = refused.expect_status(409).description();
    let since = run["lease"]["since"].as_str().unwrap();
    assert!(text.contains("`ada`") && text.contains(since), "{text}");

    platform.stop_run(id).await.expect_status(202);
    let ada = json!({ "holder": "ada" });
    let renewed = platform.lease_run(id, &ada).await;
    let renewed = renewed.expect_status(200).json();
    assert_eq!(renewed["is_stop_requested"], true);

    let take_over = json!({ "holder": "bob", "take_over": true });
    let taken = platform.lease_run(id, &take_over).await;
    let taken = taken.expect_status(200).json();
    assert_eq!(taken["lease"]["holder"], "bob");
    assert_eq!(taken.get("is_stop_requested"), None);
    platform.lease_run(id, &ada).await.expect_status(409);

    ended(&broker, &run, "failed").await;
    platform.stop_run(id).await.expect_status(409);
    let continue_first = json!({ "kind": "upgrade", "if_unfinished": "refuse" });
    let refused = platform.begin_run(&continue_first).await;
    let refused = refused.expect_status(409).json();
    assert_eq!(refused["code"], "ODB-2045");
    platform.lease_run(id, &ada).await.expect_status(200);
    ended(&broker, &run, "succeeded").await;
    platform.lease_run(id, &ada).await.expect_status(409);
    platform.lease_run(&new_id(), &ada).await.expect_status(409);
    platform.begin_run(&continue_first).await.expect_status(201);
}

#[tokio::test]
async fn a_run_reports_what_it_deploys_which_another_configuration_does_not() {
    let (foundation, mut broker) = Foundation::bare().start_with_broker().await;
    let run = begun(&broker, "upgrade").await;
    assert_eq!(begun(&broker, "upgrade").await["target"], run["target"]);
    assert_eq!(is_current(&broker, "upgrade").await, true);
    broker.stop().await;
    let pointer = "/service_catalog/plans/1/instance_groups/0/vm_type";
    let broker = foundation
        .broker()
        .with(pointer, "small".into())
        .start()
        .await;

    assert_eq!(latest(&broker, "upgrade").await["target"], run["target"]);
    assert_eq!(is_current(&broker, "upgrade").await, false);
    assert_ne!(begun(&broker, "upgrade").await["target"], run["target"]);
}

#[tokio::test]
async fn what_is_no_run_is_refused() {
    let (foundation, broker) = Foundation::bare().start_with_broker().await;
    let platform = broker.platform();
    for body in [
        json!({}),
        json!({ "kind": "delete" }),
        json!({ "kind": 1 }),
        json!([]),
    ] {
        platform.begin_run(&body).await.expect_status(400);
    }
    for kind in ["", "delete"] {
        platform.latest_run(kind).await.expect_status(400);
    }
    platform
        .end_run("1", &json!({ "outcome": "failed" }))
        .await
        .expect_status(400);
    let run = begun(&broker, "upgrade").await;
    end(&broker, &run, "skipped").await.expect_status(400);
    let unauthenticated_client = platform.with_wrong_password();
    unauthenticated_client
        .latest_run("upgrade")
        .await
        .expect_status(401);
    unauthenticated_client
        .begin_run(&json!({ "kind": "upgrade" }))
        .await
        .expect_status(401);

    let director = foundation.director();
    let configs = director.configs().await;
    let name = configs
        .iter()
        .find(|config| config["type"] == "odb-run")
        .unwrap()["name"]
        .clone();
    director
        .write_config_of_team("odb-run", name.as_str().unwrap(), "{}")
        .await;
    let text = platform
        .latest_run("upgrade")
        .await
        .expect_status(500)
        .description();
    assert!(text.contains("odb-run"), "{text}");
    let next = begun(&broker, "upgrade").await;
    assert_eq!(latest(&broker, "upgrade").await, next);
}

#[tokio::test]
async fn without_bosh_configs_it_is_said_that_no_run_is_recorded() {
    let foundation = Foundation::bare().start().await;
    let broker = foundation
        .broker()
        .with("/broker/disable_bosh_configs", true.into())
        .start()
        .await;
    let platform = broker.platform();

    let refused = platform.begin_run(&json!({ "kind": "upgrade" })).await;
    let text = refused.expect_status(501).description();
    assert!(text.contains("BOSH configs"), "{text}");
    platform.latest_run("upgrade").await.expect_status(501);
    let instance = platform.created().await;
    let known = platform.inventory_of(&instance).await;
    let known = known.expect_status(200).json();
    assert_eq!(known["owner"], "unknown");
    assert_eq!(
        known["operation"]["state"], "succeeded",
        "the process knows: {known}"
    );
}
