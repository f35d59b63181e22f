//! How the deletion of an instance ends, line by line of the table in `spec/contracts/errands.md` §5.

use serde_json::json;

use super::{GENERATIONS, Stage, fails, holds, rejection};

#[tokio::test]
async fn every_instance_of_the_offering_is_deleted() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let guids = [
            stage.order("one").await,
            stage.order("two").await,
            stage.order_of("large", "three").await,
        ];

        let run = stage.delete_all(&[]).await.expect_status(0);

        let texts = run.texts();
        assert_eq!(
            texts[0],
            "Deleter Configuration: polling_initial_offset: 0, polling_interval: 0."
        );
        for guid in &guids {
            let steps = [
                format!("Deleting service instance {guid}"),
                format!("Waiting for service instance {guid} to be deleted"),
                format!("Result: deleted service instance {guid}"),
            ];
            let locations = steps.map(|step| texts.iter().position(|text| *text == step));
            assert!(
                locations.is_sorted() && locations[0].is_some(),
                "{generation:?} {guid}: {texts:#?}"
            );
        }
        assert_eq!(run.last_text(), "FINISHED DELETES");
        assert_eq!(run.output, "");
        stage.expect_nothing_left().await;
        assert_eq!(stage.deletions().await.len(), 3);
        let changes = stage.changes().await;
        let run = stage.delete_all(&["--output", "json"]).await;
        let run = run.expect_status(0);
        let texts = run.texts();
        let end = &texts[texts.len() - 2..];
        assert_eq!(end, ["No service instances found.", "FINISHED DELETES"]);
        assert_eq!(run.json()["instances"], json!([]));
        assert_eq!(stage.changes().await, changes, "{generation:?}");
    }
}

#[tokio::test]
async fn an_instance_that_cannot_be_deleted_does_not_keep_the_others_and_is_deleted_by_the_next_run()
 {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let stuck = stage.order("stuck").await;
        let others = [stage.order("one").await, stage.order("two").await];
        stage.next_task(&stuck, fails()).await;

        let run = stage.delete_all(&["--output", "json"]).await;
        let run = run.expect_status(1);

        let report = run.json();
        assert_eq!(report["counts"], json!({ "succeeded": 2, "failed": 1 }));
        let rows = report["instances"].as_array().expect("it is a list");
        let row = rows.iter().find(|row| row["service_instance_id"] == *stuck);
        let row = row.expect("each instance has a row");
        let place = json!([row["plan"], row["space"], row["outcome"]]);
        assert_eq!(place, json!(["small", "development", "failed"]));
        let cause = row["cause"].as_str().expect("it has a cause");
        assert!(cause.contains("Instance deletion failed"), "{cause}");
        let failed =
            format!("Result: failed to delete service instance {stuck}. Delete operation failed.");
        let texts = run.texts();
        assert!(
            texts.iter().any(|text| text.starts_with(&failed)),
            "{generation:?}: {texts:#?}"
        );
        for other in &others {
            let deleted = format!("Result: deleted service instance {other}");
            assert!(texts.contains(&deleted.as_str()), "{texts:#?}");
        }
        assert_eq!(
            run.last_text(),
            "1 of 3 service instance(s) are not deleted: 1 failed; run the errand again to delete them"
        );
        assert_eq!(stage.instances().await, ["stuck"]);
        stage.comes_to(&stuck, "delete failed").await;

        // The Go program never deleted it again.
        stage.delete_all(&[]).await.expect_success();
        stage.expect_nothing_left().await;
    }
}

#[tokio::test]
async fn a_broker_that_is_not_there_fails_the_instance_with_the_platforms_words() {
    for generation in GENERATIONS {
        let mut stage = Stage::of(generation).await;
        let guid = stage.order("db").await;
        stage.broker.stop().await;

        let run = stage.delete_all(&[]).await.expect_status(1);

        let failed = format!("Result: failed to delete service instance {guid}. ");
        let texts = run.texts();
        let reported = texts.iter().find(|text| text.starts_with(&failed));
        assert!(
            reported.is_some_and(|text| text.contains("broker")),
            "{generation:?}: {texts:#?}"
        );
        stage.broker.start_again().await;
        stage.delete_all(&[]).await.expect_success();
        stage.expect_nothing_left().await;
    }
}

#[tokio::test]
async fn what_the_platform_does_not_know_any_more_is_deleted_and_what_it_lists_anyway_is_counted() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let guid = stage.order("db").await;
        let gone = generation.or(
            rejection(10010, "CF-ResourceNotFound"),
            rejection(60004, "CF-ServiceInstanceNotFound"),
        );
        stage
            .answers("GET", &generation.path(&guid), 404, &gone)
            .await;

        let run = stage.delete_all(&[]).await.expect_status(1);

        let deleted = format!("Result: deleted service instance {guid}");
        assert!(run.texts().contains(&deleted.as_str()), "{}", run.stderr);
        let offering = run.last_text().to_owned();
        assert!(
            offering.starts_with("expected 0 instances for service offering with unique ID: ")
                && offering.ends_with(". Got 1 instance(s)."),
            "{offering}"
        );
    }
}

#[tokio::test]
async fn a_404_that_is_not_the_platforms_own_is_no_deletion() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let guid = stage.order("db").await;
        stage.next_task(&guid, holds()).await;
        let router = json!("404 Not Found: Requested route does not exist.");
        stage
            .answers("GET", &generation.polled(&guid), 404, &router)
            .await;

        let run = stage.delete_all(&[]).await.expect_status(1);

        let failed = format!("Result: failed to delete service instance {guid}. Error: ");
        assert!(
            run.stderr.contains(&failed),
            "{generation:?}: {}",
            run.stderr
        );
    }
}

#[tokio::test]
async fn credentials_that_are_refused_end_the_run_early() {
    for generation in GENERATIONS {
        for (method, path) in [
            ("DELETE", generation.path("*")),
            ("GET", generation.polled("*")),
        ] {
            let stage = Stage::of(generation).await;
            for name in ["one", "two", "three"] {
                let guid = stage.order(name).await;
                stage.next_task(&guid, holds()).await;
            }
            let expired = rejection(1000, "CF-InvalidAuthToken");
            stage.answers(method, &path, 401, &expired).await;

            let run = stage
                .delete_all(&["--max-in-flight", "1"])
                .await
                .expect_status(1);

            assert_eq!(
                run.last_text(),
                "3 of 3 service instance(s) are not deleted: 1 failed, 2 not tried; run the errand again to delete them",
                "{generation:?} {method}"
            );
        }
    }
}

#[tokio::test]
async fn an_instance_that_cannot_be_looked_at_is_deleted_anyway() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let guid = stage.order("db").await;
        let path = generation.path(&guid);
        let fault = json!({
            "server": "cloud-controller",
            "requests": { "method": "GET", "path": path },
            "times": 1,
            "effect": { "kind": "answer", "status": 500, "headers": {}, "body": "oh" },
        });
        stage.foundation.control().set_fault(&fault).await;

        let run = stage.delete_all(&[]).await.expect_status(0);

        let reported = format!(
            "could not retrieve information about service instance {guid}, will try to delete"
        );
        assert!(run.texts().contains(&reported.as_str()), "{}", run.stderr);
        stage.expect_nothing_left().await;
    }
}

#[tokio::test]
async fn a_lost_answer_to_the_request_is_no_reason_for_a_second_one() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let guid = stage.order("db").await;
        stage.next_task(&guid, holds()).await;
        let fault = json!({
            "server": "cloud-controller",
            "requests": { "method": "DELETE", "path": generation.path(&guid) },
            "times": 1,
            "effect": { "kind": "drop", "moment": "after" },
        });
        stage.foundation.control().set_fault(&fault).await;

        let errand = stage.errand(super::DELETE_ALL, &[]).start();
        let reported = format!(
            "service instance {guid} is being deleted, will skip sending the delete request"
        );
        errand.says(&reported).await;
        stage.foundation.control().clear_task_faults().await;

        errand.ended().await.expect_success();
        stage.expect_nothing_left().await;
        assert_eq!(stage.deletions().await.len(), 1, "{generation:?}");
    }
}

#[tokio::test]
async fn the_time_for_one_instance_is_limited() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let guid = stage.order("db").await;
        stage.next_task(&guid, holds()).await;

        let run = stage
            .delete_all(&["--give-up-after", "1s"])
            .await
            .expect_status(1);

        let reported = format!(
            "Result: failed to delete service instance {guid}. Error: gave up after 1 s: its deletion had not ended yet."
        );
        assert!(run.texts().contains(&reported.as_str()), "{}", run.stderr);
    }
}

/// How often the deletion of an instance was asked for.
pub(super) async fn deletion_requests(stage: &Stage, instance: &str) -> usize {
    let wanted = format!("DELETE {}", stage.generation.path(instance));
    let changes = stage.changes().await;
    changes.iter().filter(|change| **change == wanted).count()
}
