//! `delete-all-service-instances-and-deregister-broker`: plans are closed, all instances deleted, the broker
//! unregistered.

use odb_stories::eventually;
use serde_json::json;

use super::{GENERATIONS, PURGE, Stage, fails, holds, rejection};
use crate::TIMEOUT;

#[tokio::test]
async fn access_is_closed_before_the_first_deletion_and_the_broker_goes_last() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let guid = stage.order("db").await;

        let run = stage.purge(&[]).await.expect_status(0);

        let texts = run.texts();
        let steps = [
            "Disabling service access for all plans".to_owned(),
            "Deleting all service instances".to_owned(),
            "Deleter Configuration: polling_initial_offset: 0, polling_interval: 0.".to_owned(),
            format!("Result: deleted service instance {guid}"),
            "Deregistering service brokers".to_owned(),
            "FINISHED PURGE INSTANCES AND DEREGISTER BROKER".to_owned(),
        ];
        let locations = steps.map(|step| texts.iter().position(|text| *text == step));
        assert!(
            locations.is_sorted() && locations[0].is_some(),
            "{generation:?}: {texts:#?}"
        );
        assert!(!texts.contains(&"FINISHED DELETES"), "{texts:#?}");
        let changes = stage.changes().await;
        let instance = format!("DELETE {}", generation.path(&guid));
        let is_access = |change: &&String| change.contains("/service_plans/");
        let deleted = changes
            .iter()
            .position(|change| *change == instance)
            .unwrap();
        assert_eq!(
            changes[..deleted].iter().filter(is_access).count(),
            2,
            "{changes:#?}"
        );
        assert_eq!(
            changes[deleted..].iter().filter(is_access).count(),
            0,
            "{changes:#?}"
        );
        let last = changes.last().unwrap();
        assert!(
            last.starts_with(
                generation.or("DELETE /v3/service_brokers/", "DELETE /v2/service_brokers/")
            ),
            "{changes:#?}"
        );
        stage.expect_nothing_left().await;
        assert_eq!(brokers(&stage).await, 0);
        // A run after the end succeeds, and one without instances unregisters the broker.
        stage.purge(&[]).await.expect_success();
        stage.foundation.cf().register(&stage.broker).await;
        let run = stage.purge(&[]).await.expect_status(0);
        run.expect_said("No service instances found.");
        assert_eq!(brokers(&stage).await, 0);
    }
}

#[tokio::test]
async fn organizations_lose_their_access_before_the_first_deletion() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let guid = stage.order("db").await;
        stage
            .cf(&["disable-service-access", "redis", "-p", "small"])
            .await;
        stage
            .cf(&[
                "enable-service-access",
                "redis",
                "-p",
                "small",
                "-o",
                "acme",
            ])
            .await;
        stage.next_task(&guid, holds()).await;

        let errand = stage
            .errand(PURGE, &["--broker-name", "redis-broker"])
            .start();
        errand
            .says(&format!(
                "Waiting for service instance {guid} to be deleted"
            ))
            .await;
        let plan = stage.controller.plan("small").await;
        let visibility = stage
            .get(&format!("/v3/service_plans/{plan}/visibility"))
            .await;
        assert_eq!(visibility["type"], "admin", "{generation:?}");
        stage.foundation.control().clear_task_faults().await;

        let run = errand.ended().await.expect_status(0);
        let reported = "plan `small` is disabled for the organizations: ";
        assert!(run.stderr.contains(reported), "{}", run.stderr);
        assert_eq!(brokers(&stage).await, 0);
    }
}

#[tokio::test]
async fn an_instance_that_appears_meanwhile_goes_too() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let first = stage.order("first").await;
        stage.next_task(&first, holds()).await;
        let errand = stage
            .errand(PURGE, &["--broker-name", "redis-broker"])
            .start();
        errand
            .says(&format!(
                "Waiting for service instance {first} to be deleted"
            ))
            .await;
        // An administrator may order plans that no organization sees.
        let second = stage.order("second").await;
        stage.foundation.control().clear_task_faults().await;

        let run = errand.ended().await.expect_status(0);

        let texts = run.texts();
        assert!(
            texts.contains(&"1 service instance(s) were created in the meantime"),
            "{texts:#?}"
        );
        let deleted = format!("Result: deleted service instance {second}");
        assert!(texts.contains(&deleted.as_str()), "{texts:#?}");
        stage.expect_nothing_left().await;
        assert_eq!(brokers(&stage).await, 0);
    }
}

#[tokio::test]
async fn the_broker_stays_as_long_as_an_instance_does() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let stuck = stage.order("stuck").await;
        stage.order("db").await;
        stage.next_task(&stuck, fails()).await;

        let run = stage.purge(&[]).await.expect_status(1);

        assert_eq!(
            run.last_text(),
            "Purger Failed: 1 of 2 service instance(s) are not deleted: 1 failed; run the errand again to delete them"
        );
        assert_eq!(brokers(&stage).await, 1);
        assert_eq!(stage.instances().await, ["stuck"]);
        stage.purge(&[]).await.expect_success();
        assert_eq!(brokers(&stage).await, 0);
    }
}

#[tokio::test]
async fn nothing_is_deleted_while_access_cannot_be_closed() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        stage.order("db").await;
        let (method, path) = generation.or(
            ("PATCH", "/v3/service_plans/*/visibility"),
            ("PUT", "/v2/service_plans/*"),
        );
        stage
            .answers(method, path, 403, &rejection(10003, "CF-NotAuthorized"))
            .await;

        let run = stage.purge(&[]).await.expect_status(1);

        let reported = run.last_text();
        assert!(
            reported.starts_with("Purger Failed: could not disable access to plan `")
                && reported.contains("CF-NotAuthorized"),
            "{reported}"
        );
        assert_eq!(stage.instances().await, ["db"]);
        assert_eq!(brokers(&stage).await, 1);
    }
}

/// A typo in the name: the plans of another broker are not closed, deleted or unregistered.
#[tokio::test]
async fn nothing_is_done_to_what_another_broker_offers() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        stage.order("db").await;
        let _other = stage.another_broker().await;

        for (name, why) in [
            ("nobody", "no service broker found with name: nobody"),
            ("idle-broker", "does not offer the service offering"),
        ] {
            let before = stage.changes().await;
            let errand = stage.errand(PURGE, &["--broker-name", name, "--output", "json"]);
            let run = errand.run().await.expect_status(1);
            assert!(run.last_text().contains(why), "{}", run.stderr);
            assert_eq!(run.json()["status"], "failed");
            assert_eq!(stage.changes().await, before, "{generation:?}");
        }
        assert_eq!(stage.instances().await, ["db"]);
        assert_eq!(brokers(&stage).await, 3);
    }
}

/// How many brokers there are.
async fn brokers(stage: &Stage) -> u64 {
    let found = eventually("brokers receive requests", TIMEOUT, async || {
        let found = stage.get("/v3/service_brokers").await;
        found["pagination"]["total_results"]
            .as_u64()
            .ok_or_else(|| json!(found).to_string())
    });
    found.await
}
