//! Features that the Go errands do not have: continued runs, budgets, gates, selections, and dry runs.

use std::collections::BTreeSet;

use odb_stories::{ErrandRun, Fault};
use serde_json::{Value, json};

use super::{BOTH, Fleet, RECREATE, UPGRADE, expect_summary, own_texts, summary};

fn rows(run: &ErrandRun) -> Vec<Value> {
    let rows = run.json()["instances"].as_array().cloned();
    rows.unwrap_or_default()
}

#[tokio::test]
async fn a_run_that_was_killed_is_continued_and_no_instance_is_deployed_twice() {
    for errand in BOTH {
        let fleet = Fleet::of(4).await;
        let file = fleet.file().with("/max_in_flight", json!(1));
        fleet.hold(1).await;
        let mut running = fleet.errand(errand, &file).start();
        let waiting = format!("[{}] Waiting for operation", fleet.instances[1]);
        running.says(&waiting).await;
        running.kill();
        let _ = running.ended().await;

        let refused = fleet.errand(errand, &file).with(&["--continue"]);
        let refused = refused.run().await.expect_status(1);
        refused.expect_said("add --take-over");
        let continued = ["--continue", "--take-over", "--output", "json"];
        let continued = fleet.errand(errand, &file).with(&continued).start();
        let id = &fleet.instances[1];
        let goes_on = format!("[{id}] Operation of the interrupted run continues: bosh task id");
        continued.says(&goes_on).await;
        fleet.foundation.control().clear_task_faults().await;
        let run = continued.ended().await.expect_status(0);

        run.expect_said("Continuing the run that began at");
        for location in 0..4 {
            assert_eq!(
                fleet.deployments_of(location).await,
                1,
                "{location}: {run:?}"
            );
        }
        expect_summary(&run, "already processed in this run: ");
        let rows = rows(&run);
        assert_eq!(rows.len(), 4);
        assert!(
            rows.iter().all(|row| row["outcome"] == "succeeded"),
            "{rows:?}"
        );

        let again = fleet
            .errand(errand, &file)
            .with(&["--continue"])
            .run()
            .await;
        let again = again.expect_status(0);
        again.expect_said("No run to continue");
        expect_summary(&again, "successful operations: 4;");
    }
}

#[tokio::test]
async fn what_the_run_has_failed_on_stays_failed_unless_it_is_to_be_tried_again() {
    let fleet = Fleet::of(2).await;
    let file = fleet.file();
    fleet.fail(0).await;
    let _ = fleet.run(UPGRADE, &file).await.expect_status(1);

    let stays = fleet
        .errand(UPGRADE, &file)
        .with(&["--continue"])
        .run()
        .await;
    let stays = stays.expect_status(1);
    let id = &fleet.instances[0];
    assert!(
        stays.last_text().starts_with(&format!(
            "[{id}] Operation failed before the run was interrupted"
        )),
        "{stays:?}"
    );
    expect_summary(&stays, &format!("failed to process: 1 [{id}]"));
    assert_eq!(fleet.deployments_of(0).await, 1);

    let retried = fleet
        .errand(UPGRADE, &file)
        .with(&["--continue", "--retry-failed"])
        .run()
        .await
        .expect_status(0);
    expect_summary(&retried, "successful operations: 1;");
    assert_eq!(fleet.deployments_of(0).await, 2);
    assert_eq!(fleet.deployments_of(1).await, 1);

    let alone = fleet
        .errand(UPGRADE, &file)
        .with(&["--retry-failed"])
        .run()
        .await;
    let alone = alone.expect_status(1);
    alone.expect_said_last("set `continue`");
}

#[tokio::test]
async fn no_further_instance_is_begun_when_the_budget_for_failures_is_used_up() {
    let fleet = Fleet::of(4).await;
    let file = fleet
        .file()
        .with("/max_in_flight", json!(1))
        .with("/run", json!({ "max_failures": "25%" }));
    fleet.fail(0).await;
    fleet.fail(1).await;
    let run = fleet
        .errand(UPGRADE, &file)
        .with(&["--output", "json"])
        .run()
        .await
        .expect_status(1);
    assert!(
        run.stderr.contains(
            "2 service instances have failed and 1 are allowed: the run stops, 2 were not started"
        ),
        "{run:?}"
    );
    let outcomes: Vec<_> = rows(&run)
        .iter()
        .map(|row| row["outcome"].clone())
        .collect();
    assert_eq!(outcomes, ["failed", "failed", "not_reached", "not_reached"]);
    for location in [2, 3] {
        assert_eq!(fleet.deployments_of(location).await, 0);
    }
    // A flag wins over the file.
    fleet.fail(0).await;
    fleet.fail(1).await;
    let run = fleet
        .errand(UPGRADE, &file)
        .with(&["--max-failures", "2"])
        .run()
        .await;
    assert!(summary(&run.expect_status(1)).contains("successful operations: 2;"));
}

#[tokio::test]
async fn the_next_wave_waits_until_the_last_one_is_healthy() {
    let fleet = Fleet::of(3).await;
    let gate = json!({ "health_gate": true, "wave": 1, "health_timeout": 60 });
    let file = fleet.file().with("/run", gate);
    let run = fleet.run(RECREATE, &file).await.expect_status(0);
    let texts = own_texts(&run);
    let looks = texts
        .iter()
        .filter(|text| *text == "All instances are healthy");
    assert_eq!(looks.count(), 3, "{texts:#?}");

    let vms = fleet
        .foundation
        .control()
        .set(Fault::of("director", "GET /deployments/*/instances").answers(500))
        .await;
    let flags = ["--health-timeout", "1"];
    let run = fleet.errand(UPGRADE, &file).with(&flags).run().await;
    let run = run.expect_status(1);
    assert!(fleet.foundation.control().fault(vms.id).await.has_struck());
    let id = &fleet.instances[0];
    assert!(
        run.last_text()
            .starts_with(&format!("[{id}] not healthy after its operation: ")),
        "{run:?}"
    );
    expect_summary(&run, "that were not started: 2");
}

#[tokio::test]
async fn only_those_that_are_chosen_are_operated_on() {
    for errand in BOTH {
        let fleet = Fleet::of(3).await;
        let ids = &fleet.instances;
        let space = fleet.foundation.space().to_owned();
        for (flags, chosen) in [
            (
                vec!["--instance", &ids[0], "--instance", &ids[2]],
                vec![0, 2],
            ),
            (vec!["--exclude", &ids[0], "--exclude", &ids[2]], vec![1]),
            (vec!["--plan", "small", "--exclude", &ids[1]], vec![0, 2]),
            (vec!["--space", &space, "--exclude", &ids[2]], vec![0, 1]),
        ] {
            let run = fleet.errand(errand, &fleet.file()).with(&flags).run().await;
            let run = run.expect_status(0);
            let chosen: BTreeSet<&str> = chosen
                .iter()
                .map(|location: &usize| ids[*location].as_str())
                .collect();
            let texts = own_texts(&run);
            let listed = texts
                .iter()
                .find_map(|text| text.strip_prefix("Service Instances: "));
            let listed: BTreeSet<&str> = listed.unwrap_or_default().split(' ').collect();
            assert_eq!(listed, chosen, "{flags:?}: {run:?}");
        }
        for (location, times) in [(0, 3), (1, 2), (2, 2)] {
            assert_eq!(fleet.deployments_of(location).await, times);
        }
        for flags in [
            ["--plan", "large"],
            ["--exclude", "small"],
            ["--instance", "nobody"],
        ] {
            let run = fleet.errand(errand, &fleet.file()).with(&flags).run().await;
            let run = run.expect_status(1);
            run.expect_said_last("service instance");
        }
        let mistyped = ["--exclude", &ids[0], "--exclude", "my-cahce"];
        let run = fleet.errand(errand, &fleet.file()).with(&mistyped).run();
        let reported = run.await.expect_status(1).last_text().to_owned();
        assert!(
            reported.contains("my-cahce") && !reported.contains(&ids[0]),
            "{reported}"
        );
        assert_eq!(fleet.deployments_of(0).await, 3);
    }
}

#[tokio::test]
async fn a_dry_run_reports_what_would_change_and_changes_nothing() {
    let mut fleet = Fleet::of(3).await;
    fleet
        .replace_broker(|broker| {
            broker.with(
                "/service_catalog/plans/0/instance_groups/0/vm_type",
                "large".into(),
            )
        })
        .await;
    let control = fleet.foundation.control();
    let before = control.latest_call().await;

    let run = fleet
        .errand(UPGRADE, &fleet.file())
        .with(&["--dry-run", "--output", "json"])
        .run()
        .await
        .expect_status(0);

    let texts = own_texts(&run);
    let reported = "3 instances: instance groups: instance_groups[redis-server].vm_type changes from \"small\" to \"large\"";
    assert!(texts.contains(&reported.to_owned()), "{texts:#?}");
    assert!(texts.contains(&"3 instances: VMs would be recreated".to_owned()));
    let document = run.json();
    assert_eq!(document["dry_run"], true);
    assert_eq!(document["changes"][0]["instances"], 3);
    assert_eq!(document["risks"]["recreates_vms"], 3);
    assert!(
        rows(&run)
            .iter()
            .all(|row| row["outcome"] == "would_change")
    );
    let calls = control.broker_calls(before).await;
    let writes: Vec<_> = calls
        .iter()
        .filter(|call| call.method != "GET" && !call.is_for_a_token())
        .collect();
    assert!(writes.is_empty(), "{writes:#?}");
    for location in 0..3 {
        assert_eq!(fleet.deployments_of(location).await, 0);
    }

    let recreation = fleet
        .errand(RECREATE, &fleet.file())
        .with(&["--dry-run"])
        .run()
        .await;
    let recreation = recreation.expect_status(0);
    recreation.expect_said("3 would change");
    assert_eq!(fleet.deployments_of(0).await, 0);
}
