//! A run has not come to a good end, and the operator continues it: all of it, some of it, or for another offer.

use odb_stories::new_id;
use serde_json::json;

use super::{BOTH, Fleet, UPGRADE, expect_summary};

#[tokio::test]
async fn a_run_over_some_instances_neither_ends_nor_replaces_the_one_over_all() {
    let fleet = Fleet::of(3).await;
    let file = fleet.file();
    fleet.fail(0).await;
    let _ = fleet.run(UPGRADE, &file).await.expect_status(1);

    let some = ["--instance", &fleet.instances[2]];
    let part = fleet.errand(UPGRADE, &file).with(&some).run().await;
    let part = part.expect_status(0);
    part.expect_said("covers a part of the fleet");
    assert_eq!(fleet.deployments_of(2).await, 2);

    let some = [
        "--continue",
        "--retry-failed",
        "--instance",
        &fleet.instances[0],
    ];
    let part = fleet.errand(UPGRADE, &file).with(&some).run().await;
    let part = part.expect_status(0);
    part.expect_said("Continuing the run");
    part.expect_said("does not end with it");
    assert_eq!(fleet.deployments_of(0).await, 2);

    let flags = ["--continue"];
    let whole = fleet.errand(UPGRADE, &file).with(&flags).run().await;
    let whole = whole.expect_status(0);
    whole.expect_said("Continuing the run");
    expect_summary(&whole, "already processed in this run: 3");
    for (location, times) in [(0, 2), (1, 1), (2, 2)] {
        assert_eq!(fleet.deployments_of(location).await, times, "{location}");
    }
}

#[tokio::test]
async fn a_run_for_another_offer_than_today_s_is_not_continued() {
    for errand in BOTH {
        let mut fleet = Fleet::of(2).await;
        fleet.fail(0).await;
        let _ = fleet.run(errand, &fleet.file()).await.expect_status(1);
        fleet
            .replace_broker(|broker| {
                let vm_type = "/service_catalog/plans/0/instance_groups/0/vm_type";
                broker.with(vm_type, "large".into())
            })
            .await;

        let run = fleet
            .errand(errand, &fleet.file())
            .with(&["--continue"])
            .run()
            .await
            .expect_status(0);

        run.expect_said("the catalog has changed");
        for location in 0..2 {
            assert_eq!(
                fleet.deployments_of(location).await,
                2,
                "{location}: {run:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_selected_instance_that_was_deleted_does_not_stop_the_run() {
    let fleet = Fleet::of(2).await;
    let file = fleet.file();
    fleet.fail(0).await;
    let _ = fleet.run(UPGRADE, &file).await.expect_status(1);
    let deleted = new_id();
    let run = fleet
        .errand(UPGRADE, &file)
        .with(&["--continue", "--retry-failed", "--output", "json"])
        .with(&["--instance", &fleet.instances[0], "--instance", &deleted])
        .run()
        .await
        .expect_status(0);
    assert_eq!(
        run.json()["counts"],
        json!({ "succeeded": 1, "gone": 1 }),
        "{run:?}"
    );
}

#[tokio::test]
async fn programs_read_a_document_of_a_run_that_could_not_begin() {
    let fleet = Fleet::of(1).await;
    let flags = ["--retry-failed", "--output", "json"];
    let run = fleet
        .errand(UPGRADE, &fleet.file())
        .with(&flags)
        .run()
        .await;
    let document = run.expect_status(1).json();
    assert_eq!(document["status"], "failed");
    let error = document["error"].as_str().unwrap();
    assert!(error.contains("set `continue`"), "{error}");

    let file = fleet.file().with("/max_in_flight", json!(0));
    let flags = ["--output", "json"];
    let run = fleet.errand(UPGRADE, &file).with(&flags).run().await;
    let document = run.expect_status(1).json();
    assert_eq!(document["status"], "failed");
    assert!(document["error"].is_string(), "{document}");
}
