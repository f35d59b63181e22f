//! The errand is stopped, killed, and run again.

use std::{collections::BTreeSet, time::Duration};

use odb_stories::{RunningErrand, eventually};
use serde_json::{Value, json};

use super::{DELETE_ALL, GENERATIONS, Stage, holds, outcomes::deletion_requests};
use crate::TIMEOUT;

/// A fleet may take longer than one instance.
const FLEET: Duration = Duration::from_mins(5);

#[tokio::test]
async fn asked_to_stop_it_begins_no_more_and_says_what_goes_on() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let mut guids = Vec::new();
        for name in ["one", "two", "three"] {
            guids.push(stage.order(name).await);
        }
        for guid in &guids {
            stage.next_task(guid, holds()).await;
        }
        let arguments = ["--max-in-flight", "2", "--output", "json"];
        let mut errand = stage.errand(DELETE_ALL, &arguments).start();
        eventually("two are being deleted", TIMEOUT, async || {
            let stderr = errand.stderr();
            if stderr.matches("Waiting for service instance").count() == 2 {
                Ok(())
            } else {
                Err(stderr)
            }
        })
        .await;

        errand.terminate();
        let run = errand.ended().await.expect_status(1);

        assert_eq!(
            run.last_text(),
            "3 of 3 service instance(s) are not deleted: 2 still being deleted, 1 not tried; run the errand again to delete them"
        );
        assert_eq!(
            run.stderr.matches("is still being deleted").count(),
            2,
            "{}",
            run.stderr
        );
        let report = run.json();
        assert_eq!(report["status"], "stopped");
        assert_eq!(
            report["counts"],
            json!({ "in_progress": 2, "not_reached": 1 })
        );

        // The next run picks them up.
        stage.foundation.control().clear_task_faults().await;
        stage.delete_all(&[]).await.expect_success();
        for guid in &guids {
            assert_eq!(deletion_requests(&stage, guid).await, 1, "{generation:?}");
        }
        stage.expect_nothing_left().await;
    }
}

#[tokio::test]
async fn killed_again_and_again_it_deletes_a_fleet_to_the_last_instance_and_none_twice() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        seed(&stage, 60).await;
        let all = guids(&stage).await;
        assert!(all.len() >= 60);

        for deleted in [5, 20, 40] {
            let mut errand = stage.errand(DELETE_ALL, &[]).start();
            let left = all.len() - deleted;
            falls_to(&stage, left, &mut errand).await;
            errand.kill();
        }
        let errand = stage.errand(DELETE_ALL, &["--output", "json"]).start();
        let run = errand.ended_within(FLEET).await.expect_status(0);

        assert_eq!(run.json()["status"], "succeeded", "{}", run.output);
        assert_eq!(guids(&stage).await, BTreeSet::new());
        let director = stage.foundation.director();
        assert_eq!(director.deployments().await, Vec::<String>::new());
        let deletions = stage.deletions().await;
        let names: BTreeSet<_> = deletions.iter().collect();
        assert_eq!(
            names.len(),
            deletions.len(),
            "one was deleted twice: {deletions:#?}"
        );
        for guid in &all {
            let requests = deletion_requests(&stage, guid).await;
            assert!(
                requests <= 1,
                "{generation:?}: {guid} was asked for {requests} times"
            );
        }
    }
}

/// Seeded instances: most of them work, some have failed before.
async fn seed(stage: &Stage, instances: usize) {
    // The manifests of the others are as the service adapter makes this one's.
    stage.order("example").await;
    stage.foundation.control().seed_fleet(instances, 7).await;
}

async fn guids(stage: &Stage) -> BTreeSet<String> {
    let found = stage.get("/v3/service_instances?per_page=500").await;
    let rows = found["resources"].as_array().into_iter().flatten();
    let guids = rows.map(|row: &Value| row["guid"].as_str().unwrap_or_default().to_owned());
    guids.collect()
}

async fn falls_to(stage: &Stage, left: usize, errand: &mut RunningErrand) {
    eventually("so many are deleted", FLEET, async || {
        let count = guids(stage).await.len();
        assert!(errand.is_running() || count == 0, "{}", errand.stderr());
        if count <= left {
            Ok(())
        } else {
            Err(format!("{count} are left"))
        }
    })
    .await;
}
