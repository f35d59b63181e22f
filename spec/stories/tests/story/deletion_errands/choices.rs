//! Which instances are deleted, whether any are, and how the errand is called.

use serde_json::json;

use super::{GENERATIONS, Generation, Stage, rejection};

#[tokio::test]
async fn only_what_matches_every_filter_is_deleted_and_the_rest_is_no_failure() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        stage.order("one").await;
        let two = stage.order("two").await;
        stage.order_of("large", "three").await;
        for (arguments, left) in [
            (
                &["--org", "another"] as &[&str],
                &["one", "three", "two"] as &[&str],
            ),
            (
                &["--plan", "large", "--space", "development", "--org", "acme"],
                &["one", "two"],
            ),
            (&["--instance", &two], &["one"]),
            (&["--space", stage.foundation.space()], &[]),
        ] {
            let run = stage.delete_all(arguments).await.expect_status(0);
            assert_eq!(
                run.last_text(),
                "FINISHED DELETES",
                "{generation:?} {arguments:?}"
            );
            assert_eq!(
                stage.instances().await,
                left,
                "{generation:?} {arguments:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_plan_or_an_instance_that_is_misspelled_deletes_nothing() {
    let stage = Stage::of(Generation::V3).await;
    let guid = stage.order("db").await;
    for (arguments, text) in [
        (
            &["--plan", "smal"][..],
            "the service offering has no plan `smal`; its plans are: large, small",
        ),
        (
            &["--instance", &guid, "--instance", "unknown"],
            "these service instances are not in the selection: unknown; nothing was deleted",
        ),
    ] {
        let run = stage.delete_all(arguments).await.expect_status(1);

        assert_eq!(run.last_text(), text);
        assert_eq!(stage.instances().await, ["db"]);
    }
}

#[tokio::test]
async fn a_dry_run_lists_what_would_be_deleted_and_changes_nothing() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let guid = stage.order("db").await;

        let run = stage
            .delete_all(&["--dry-run", "--output", "json"])
            .await
            .expect_status(0);

        assert_eq!(
            run.last_text(),
            "1 service instance(s) would be deleted; nothing was changed"
        );
        let row = json!({
            "service_instance_id": guid,
            "plan": "small",
            "organization": "acme",
            "space": "development",
            "outcome": "would_change",
        });
        assert_eq!(run.json()["instances"], json!([row]));
        let row = run.stderr.lines().find(|line| line.starts_with(&guid));
        let row = row.unwrap_or_else(|| panic!("{}", run.stderr));
        let cells: Vec<_> = row.split_whitespace().collect();
        assert_eq!(cells[1..], ["small", "acme/development", "would", "change"]);
        let run = stage.purge(&["--dry-run"]).await.expect_status(0);
        run.expect_said(&guid);
        assert_eq!(
            stage.changes().await,
            Vec::<String>::new(),
            "{generation:?}"
        );
        assert_eq!(stage.instances().await, ["db"]);
    }
}

#[tokio::test]
async fn an_instance_that_cannot_be_deleted_is_forgotten_where_the_operator_wants_that() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let stuck = stage.order("stuck").await;
        stage.next_task(&stuck, super::fails()).await;

        let run = stage
            .delete_all(&["--purge-failed", "--output", "json"])
            .await
            .expect_status(0);

        let row = &run.json()["instances"][0];
        assert_eq!(row["outcome"], "purged");
        let cause = row["cause"].as_str().unwrap_or_default();
        assert!(cause.starts_with("Delete operation failed."), "{row}");
        let reported = run.last_text();
        assert!(
            reported.starts_with(
                "FINISHED DELETES. 1 service instance(s) could not be deleted and were purged"
            ),
            "{reported}"
        );
        assert!(reported.contains("orphan-deployments"), "{reported}");
        let shown = run.stderr.lines().find(|line| line.starts_with(&stuck));
        assert!(
            shown.is_some_and(|row| row.contains("purged")),
            "{}",
            run.stderr
        );
        assert_eq!(stage.instances().await, Vec::<String>::new());
        let deployments = stage.foundation.director().deployments().await;
        assert_eq!(deployments, [format!("service-instance_{stuck}")]);
    }
}

#[tokio::test]
async fn an_instance_that_has_not_failed_yet_is_not_forgotten() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        let slow = stage.order("slow").await;
        stage.next_task(&slow, super::holds()).await;

        let said = ["--purge-failed", "--give-up-after", "3", "--output", "json"];
        let run = stage.delete_all(&said).await.expect_status(1);

        let row = &run.json()["instances"][0];
        assert_eq!(row["outcome"], "failed", "{generation:?}");
        let cause = row["cause"].as_str().unwrap_or_default();
        assert!(cause.contains("It was not purged"), "{row}");
        assert_eq!(stage.instances().await, ["slow"]);
        stage.foundation.control().clear_task_faults().await;
    }
}

#[tokio::test]
async fn one_at_a_time_is_what_the_go_program_does() {
    let stage = Stage::of(Generation::V3).await;
    for name in ["one", "two", "three"] {
        stage.order(name).await;
    }

    let run = stage
        .delete_all(&["--max-in-flight", "1"])
        .await
        .expect_status(0);

    let results = run.texts().into_iter();
    let results = results.filter_map(|text| text.strip_prefix("Result: deleted service instance "));
    let results: Vec<_> = results.collect();
    let texts = run.texts();
    for guid in &results {
        let begun = texts
            .iter()
            .position(|text| *text == format!("Deleting service instance {guid}"));
        let ended = texts
            .iter()
            .position(|text| *text == format!("Result: deleted service instance {guid}"));
        let between = &texts[begun.unwrap()..ended.unwrap()];
        let foreign = between.iter().filter(|text| {
            text.starts_with("Deleting service instance ") && !text.ends_with(*guid)
        });
        assert_eq!(foreign.count(), 0, "{between:#?}");
    }
    assert_eq!(results.len(), 3);
}

/// Their plans have nothing in common but the id of the offering.
#[tokio::test]
async fn an_offering_of_several_brokers_is_not_touched_before_one_is_named() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        stage.order("db").await;
        let _other = stage.another_broker().await;

        let run = stage.delete_all(&[]).await.expect_status(1);

        run.expect_said_last("more than one broker");
        for (name, why) in [
            ("nobody", "no service broker found with name: nobody"),
            ("idle-broker", "does not offer the service offering"),
        ] {
            let run = stage.delete_all(&["--broker-name", name]).await;
            let run = run.expect_status(1);
            assert!(run.last_text().contains(why), "{}", run.stderr);
        }
        assert_eq!(
            stage.changes().await,
            Vec::<String>::new(),
            "{generation:?}"
        );
        let named = &["--broker-name", "redis-broker"];
        stage.delete_all(named).await.expect_success();
        stage.expect_nothing_left().await;
    }
}

#[tokio::test]
async fn a_list_that_cannot_be_had_is_reported_with_its_cause() {
    for generation in GENERATIONS {
        let stage = Stage::of(generation).await;
        stage.order("db").await;
        let path = generation.or(
            "/v3/service_instances",
            "/v2/service_plans/*/service_instances",
        );
        stage
            .answers("GET", path, 403, &rejection(10003, "CF-NotAuthorized"))
            .await;

        let run = stage.delete_all(&["--output", "json"]).await;
        let run = run.expect_status(1);

        let reported = run.last_text();
        let document = run.json();
        assert_eq!(document["status"], "failed");
        assert_eq!(document["error"], reported);
        assert!(
            reported.contains("could not list the service instances")
                && reported.contains("CF-NotAuthorized"),
            "{reported}"
        );
        assert_eq!(stage.changes().await, Vec::<String>::new());
    }
}
