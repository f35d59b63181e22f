//! Another client deletes, changes or creates the instance, or runs the same errand.

use reqwest::Method;
use serde_json::json;

use super::{DELETE_ALL, GENERATIONS, Stage, fails, holds, outcomes::deletion_requests};

#[tokio::test]
async fn a_deletion_in_progress_is_waited_for_and_not_asked_for_again() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let guid = stage.order("db").await;
        stage.next_task(&guid, holds()).await;
        stage.begin_to_delete(&guid).await;

        let errand = stage.errand(DELETE_ALL, &[]).start();
        let skipped = format!(
            "service instance {guid} is being deleted, will skip sending the delete request"
        );
        errand.says(&skipped).await;
        errand
            .says(&format!(
                "Waiting for service instance {guid} to be deleted"
            ))
            .await;
        stage.foundation.control().clear_task_faults().await;

        let run = errand.ended().await.expect_status(0);
        let deleted = format!("Result: deleted service instance {guid}");
        assert!(run.texts().contains(&deleted.as_str()), "{}", run.stderr);
        assert_eq!(deletion_requests(&stage, &guid).await, 0, "{generation:?}");
        stage.expect_nothing_left().await;
    }
}

#[tokio::test]
async fn a_failed_deletion_by_another_client_is_followed_by_our_own() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let guid = stage.order("db").await;
        let held = stage.next_task(&guid, holds()).await;
        let later = json!({
            "deployment": format!("service-instance_{guid}"),
            "at": { "place": "step", "stage": "Deleting instances" },
            "effect": fails(),
        });
        stage.foundation.control().set_task_fault(&later).await;
        stage.begin_to_delete(&guid).await;
        let errand = stage.errand(DELETE_ALL, &[]).start();
        let waits = format!("Waiting for service instance {guid} to be deleted");
        errand.says(&waits).await;
        assert_eq!(deletion_requests(&stage, &guid).await, 0, "{generation:?}");

        stage.foundation.control().clear_task_fault(held).await;
        let run = errand.ended().await.expect_status(0);

        let reported = format!("service instance {guid}: Delete operation failed.");
        run.expect_said(&reported);
        assert_eq!(deletion_requests(&stage, &guid).await, 1, "{generation:?}");
        stage.expect_nothing_left().await;
    }
}

#[tokio::test]
async fn an_update_in_progress_is_waited_for() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let guid = stage.order("db").await;
        begin_to_update(&stage, &guid).await;

        let errand = stage.errand(DELETE_ALL, &[]).start();
        let waits = format!(
            "service instance {guid} has an operation of type 'update' in progress, will be deleted when that has ended"
        );
        errand.says(&waits).await;
        assert_eq!(deletion_requests(&stage, &guid).await, 0, "{generation:?}");
        stage.foundation.control().clear_task_faults().await;

        let run = errand.ended().await.expect_status(0);
        assert_eq!(run.stderr.matches(&waits).count(), 1, "{}", run.stderr);
        stage.expect_nothing_left().await;
    }
}

#[tokio::test]
async fn an_update_that_does_not_end_fails_the_instance_as_an_unexpected_operation() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let guid = stage.order("db").await;
        begin_to_update(&stage, &guid).await;

        let run = stage
            .delete_all(&["--give-up-after", "1s"])
            .await
            .expect_status(1);

        let reported = format!(
            "Result: failed to delete service instance {guid}. Error: gave up after 1 s: Unexpected operation type: 'update', \
             which had not ended."
        );
        assert!(run.texts().contains(&reported.as_str()), "{}", run.stderr);
        assert_eq!(deletion_requests(&stage, &guid).await, 0, "{generation:?}");
    }
}

#[tokio::test]
async fn a_creation_in_progress_is_abandoned() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let hold = json!({ "at": { "place": "start" }, "effect": holds() });
        stage.foundation.control().set_task_fault(&hold).await;
        let plan = stage.controller.plan("small").await;
        let order = stage.controller.order("db", &plan).await;
        stage.controller.answer(&order).await.unwrap();
        let guid = stage.guid("db").await;

        let errand = stage.errand(DELETE_ALL, &[]).start();
        errand
            .says(&format!(
                "Waiting for service instance {guid} to be deleted"
            ))
            .await;
        stage.foundation.control().clear_task_faults().await;

        errand.ended().await.expect_success();
        stage.expect_nothing_left().await;
    }
}

#[tokio::test]
async fn two_runs_at_once_delete_everything_once() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        for number in 0..4 {
            stage.order(&format!("db-{number}")).await;
        }

        let (one, other) = (
            stage.errand(DELETE_ALL, &[]).start(),
            stage.errand(DELETE_ALL, &[]).start(),
        );
        one.ended().await.expect_success();
        other.ended().await.expect_success();

        stage.expect_nothing_left().await;
        let deletions = stage.deletions().await;
        assert_eq!(deletions.len(), 4, "{generation:?}: {deletions:#?}");
    }
}

/// Begins an update that does not end before the task faults are cleared.
async fn begin_to_update(stage: &Stage, guid: &str) {
    stage.next_task(guid, holds()).await;
    let path = format!("/v3/service_instances/{guid}");
    let change = json!({ "parameters": { "maxclients": 200 } });
    let (status, answer) = stage
        .controller
        .send(Method::PATCH, &path, Some(&change))
        .await;
    assert_eq!(status, 202, "{answer}");
    stage.comes_to(guid, "update in progress").await;
}
