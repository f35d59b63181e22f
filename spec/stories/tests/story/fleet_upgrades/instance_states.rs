//! Instances are busy, gone, broken or fail: each ends in one account (`spec/contracts/errands.md` §4.3 to §4.6).

use odb_stories::eventually;
use serde_json::json;

use super::{BOTH, Fleet, RECREATE, UPGRADE, expect_summary, foundations, own_texts, summary};
use crate::TIMEOUT;

#[tokio::test]
async fn orphans_and_deleted_instances_do_not_fail_a_run() {
    for setup in foundations() {
        let fleet = Fleet::on(setup, 5, |broker| broker).await;
        let director = fleet.foundation.director();
        director.delete_deployment(&fleet.deployment(1)).await;
        for (errand, forgotten, successful) in [(UPGRADE, 2, 3), (RECREATE, 3, 2)] {
            // The first instance is held until another one has been forgotten.
            fleet.hold(0).await;
            let file = fleet.file().with("/max_in_flight", json!(1));
            let errand = fleet.errand(errand, &file).start();
            errand.says("Waiting for operation").await;
            fleet.purge(forgotten).await;
            fleet.foundation.control().clear_task_faults().await;

            let run = errand.ended().await.expect_status(0);

            let (texts, ids) = (own_texts(&run), &fleet.instances);
            for text in [
                format!(
                    "[{}] Result: orphan service instance detected - no corresponding bosh deployment",
                    ids[1]
                ),
                format!("[{}] Result: already deleted from platform", ids[forgotten]),
            ] {
                assert!(texts.contains(&text), "{text}: {texts:#?}");
            }
            let counts = format!(
                "Number of successful operations: {successful}; Number of skipped operations: 0; Number of service instance \
                 orphans detected: 1; Number of deleted instances before operation could happen: 1;"
            );
            expect_summary(&run, &counts);
        }
        assert_eq!(
            fleet.deployments_of(2).await,
            0,
            "what the platform has forgotten is left alone"
        );
    }
}

/// Neither the platform nor the Director knows them any more; the list that the run goes by still has them.
#[tokio::test]
async fn instances_that_are_deleted_with_their_deployments_are_counted_as_deleted() {
    for setup in foundations() {
        for errand in BOTH {
            let fleet = Fleet::on(setup.clone(), 4, |broker| broker).await;
            let (director, control) = (fleet.foundation.director(), fleet.foundation.control());
            for location in [0, 2] {
                director
                    .delete_deployment(&fleet.deployment(location))
                    .await;
            }
            let look_up = json!({
                "server": "cloud-controller",
                "requests": {
                    "method": "GET",
                    "path": format!("/*/service_instances/{}", fleet.instances[0]),
                },
                "times": 1,
                "effect": { "kind": "hold", "moment": "before" },
            });
            let look_up = control.set_fault(&look_up).await;
            let file = fleet.file().with("/max_in_flight", json!(1));
            let running = fleet.errand(errand, &file).start();
            eventually("the first instance is looked up", TIMEOUT, async || {
                let state = control.fault(look_up.id).await;
                (state.holds > 0).then_some(()).ok_or(format!("{state:?}"))
            })
            .await;
            for location in [0, 2] {
                fleet.purge(location).await;
            }
            let before = control.broker_calls(0).await.pop();
            let before = before.map_or(0, |call| call.number);
            control.clear_faults().await;

            let run = running.ended().await.expect_status(0);

            let (texts, ids) = (own_texts(&run), &fleet.instances);
            for location in [0, 2] {
                let text = format!("[{}] Result: already deleted from platform", ids[location]);
                assert!(texts.contains(&text), "{text}: {texts:#?}");
            }
            let counts = "Number of successful operations: 2; Number of skipped operations: 0; Number of service instance \
                          orphans detected: 0; Number of deleted instances before operation could happen: 2;";
            assert!(summary(&run).contains(counts), "{}", summary(&run));
            let mut calls = control.broker_calls(before).await;
            calls.retain(|call| call.method == "GET" && call.path.ends_with("/service_instances"));
            assert!(calls.is_empty(), "the list is read once: {calls:#?}");
        }
    }
}

#[tokio::test]
async fn a_busy_instance_is_tried_again_when_the_others_are_done() {
    for setup in foundations() {
        let fleet = Fleet::on(setup, 2, |broker| broker).await;
        fleet.occupy(0).await;
        let file = fleet.file().with("/attempt_limit", json!(30));
        let errand = fleet.errand(UPGRADE, &file).start();
        let busy = format!("[{}] Result: operation in progress", fleet.instances[0]);
        errand.says(&busy).await;
        errand.says("Sleep interval until next attempt: 1s").await;
        fleet.foundation.control().clear_task_faults().await;
        let run = errand.ended().await.expect_status(0);
        assert!(
            own_texts(&run)
                .contains(&"Processing all remaining instances. Attempt 2/30".to_owned())
        );
        expect_summary(&run, "successful operations: 2;");
    }
}

#[tokio::test]
async fn a_failing_instance_does_not_stop_the_others_and_the_run_fails_in_the_end() {
    for setup in foundations() {
        let fleet = Fleet::on(setup, 3, |broker| broker).await;
        for errand in BOTH {
            fleet.fail(0).await;
            let file = fleet.file().with("/max_in_flight", json!(1));
            let run = fleet.run(errand, &file).await.expect_status(1);
            let id = &fleet.instances[0];
            let texts = own_texts(&run);
            let failed = format!("[{id}] Result: Service Instance operation failure");
            assert!(texts.contains(&failed), "{texts:#?}");
            let last = run.last_text();
            assert!(
                last.starts_with(&format!("[{id}] Operation failed: bosh task id ")),
                "{last}"
            );
            expect_summary(&run, "successful operations: 2;");
            expect_summary(&run, &format!("failed to process: 1 [{id}]"));
        }
    }
}

/// Weakness 12 of `spec/contracts/errands.md` §11.1 remains: without its plan, the target is unknown.
#[tokio::test]
async fn the_broker_says_why_it_cannot_operate_on_an_instance() {
    let mut fleet = Fleet::of(1).await;
    fleet
        .replace_broker(|broker| {
            broker
                .without_plan("small")
                .with("/broker/disable_cf_startup_checks", true.into())
        })
        .await;
    let run = fleet.run(UPGRADE, &fleet.file()).await.expect_status(1);
    let id = &fleet.instances[0];
    let last = run.last_text();
    assert!(
        last.starts_with(&format!(
            "operation type: upgrade failed for service instance {id}: unexpected status code: 500. description: "
        )),
        "{last}"
    );
}

#[tokio::test]
async fn nothing_further_is_begun_after_a_failing_canary() {
    for errand in BOTH {
        let fleet = Fleet::of(3).await;
        fleet.fail(0).await;
        let file = fleet
            .file()
            .with("/canaries", json!(2))
            .with("/max_in_flight", json!(1));
        let run = fleet.run(errand, &file).await.expect_status(1);
        let last = run.last_text();
        let id = &fleet.instances[0];
        assert!(
            last.starts_with(&format!(
                "canaries didn't process successfully: [{id}] Operation failed: bosh task id "
            )),
            "{last}"
        );
        for location in [1, 2] {
            assert_eq!(fleet.deployments_of(location).await, 0);
        }
        assert!(!run.stderr.contains("FINISHED CANARIES"));
        expect_summary(&run, "Number of service instances that were not started: 2");
    }
}
