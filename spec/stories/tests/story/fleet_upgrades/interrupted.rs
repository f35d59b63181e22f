//! A run has not come to a good end, and the operator continues it: all of it, some of it, or for another offer.

use odb_stories::new_id;
use serde_json::json;

use super::{BOTH, Fleet, UPGRADE, summary};

#[tokio::test]
async fn a_run_over_some_instances_neither_ends_nor_replaces_the_one_over_all() {
    let fleet = Fleet::of(3).await;
    let file = fleet.file();
    fleet.fail(0).await;
    let _ = fleet.run(UPGRADE, &file).await.expect_status(1);

    let some = ["--instance", &fleet.instances[2]];
    let part = fleet.errand(UPGRADE, &file).with(&some).run().await;
    let part = part.expect_status(0);
    assert!(
        part.stderr.contains("covers a part of the fleet"),
        "{part:?}"
    );
    assert_eq!(fleet.deployments_of(2).await, 2);

    let some = [
        "--continue",
        "--retry-failed",
        "--instance",
        &fleet.instances[0],
    ];
    let part = fleet.errand(UPGRADE, &file).with(&some).run().await;
    let part = part.expect_status(0);
    assert!(part.stderr.contains("Continuing the run"), "{part:?}");
    assert!(part.stderr.contains("does not end with it"), "{part:?}");
    assert_eq!(fleet.deployments_of(0).await, 2);

    let flags = ["--continue"];
    let whole = fleet.errand(UPGRADE, &file).with(&flags).run().await;
    let whole = whole.expect_status(0);
    assert!(whole.stderr.contains("Continuing the run"), "{whole:?}");
    assert!(
        summary(&whole).ends_with("already processed in this run: 3"),
        "{whole:?}"
    );
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

        assert!(run.stderr.contains("the catalog has changed"), "{run:?}");
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
async fn a_continued_run_does_not_pass_by_a_canary_that_is_not_healthy() {
    let fleet = Fleet::of(3).await;
    let file = fleet
        .file()
        .with("/canaries", json!(1))
        .with("/run", json!({ "health_gate": true, "health_timeout": 1 }));
    let control = fleet.foundation.control();
    control
        .set_fault(&json!({
            "server": "director",
            "requests": { "method": "GET", "path": "/deployments/*/instances" },
            "effect": { "kind": "answer", "status": 500 },
        }))
        .await;
    for flags in [&[][..], &["--continue"]] {
        let run = fleet
            .errand(UPGRADE, &file)
            .with(&["--output", "json"])
            .with(flags)
            .run()
            .await
            .expect_status(1);
        let document = run.json();
        assert_eq!(
            document["counts"],
            json!({ "unhealthy": 1, "not_reached": 2 }),
            "{run:?}"
        );
        let error = document["error"].as_str().unwrap();
        assert!(error.contains("not healthy after its operation"), "{error}");
        for (location, times) in [(0, 1), (1, 0), (2, 0)] {
            assert_eq!(
                fleet.deployments_of(location).await,
                times,
                "{location}: {run:?}"
            );
        }
    }
    control.clear_faults().await;

    let run = fleet
        .errand(UPGRADE, &file)
        .with(&["--continue", "--health-timeout", "60"])
        .run()
        .await
        .expect_status(0);
    assert!(
        summary(&run).contains("successful operations: 2;"),
        "{run:?}"
    );
    assert_eq!(fleet.deployments_of(0).await, 1);
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

#[tokio::test]
async fn a_dry_run_reports_that_an_instance_that_is_busy_would_be_deployed() {
    let fleet = Fleet::of(2).await;
    fleet.occupy(0).await;
    let flags = ["--dry-run", "--output", "json"];
    let run = fleet
        .errand(UPGRADE, &fleet.file())
        .with(&flags)
        .run()
        .await;
    let document = run.expect_status(0).json();
    let counts = json!({ "unchanged": 1, "would_change": 1 });
    assert_eq!(document["counts"], counts, "{document}");
    fleet.foundation.control().clear_task_faults().await;
}
