//! The broker or the operator goes away in the middle.

use serde_json::json;

use super::{BOTH, Fleet, expect_summary, own_texts};

/// Weakness 9 of `spec/contracts/errands.md` §11.1: one unanswered poll failed an instance whose task continued.
#[tokio::test]
async fn a_broker_that_is_started_anew_in_the_middle_fails_no_instance() {
    for errand in BOTH {
        let mut fleet = Fleet::of(2).await;
        fleet.hold(0).await;
        let file = fleet.file().with("/max_in_flight", json!(1));
        let running = fleet.errand(errand, &file).start();
        running.says("Waiting for operation").await;
        fleet.broker.stop().await;
        running.says("retrying in").await;
        fleet.broker = super::configuration(&fleet.foundation).start().await;
        fleet.foundation.control().clear_task_faults().await;
        let run = running.ended().await.expect_status(0);
        expect_summary(&run, "successful operations: 2;");
        for location in [0, 1] {
            assert_eq!(fleet.deployments_of(location).await, 1);
        }
    }
}

#[tokio::test]
async fn asked_to_stop_it_begins_nothing_more_and_says_what_goes_on() {
    for errand in BOTH {
        let fleet = Fleet::of(3).await;
        fleet.hold(0).await;
        let file = fleet.file().with("/max_in_flight", json!(1));
        let mut running = fleet.errand(errand, &file).start();
        running.says("Waiting for operation").await;
        running.terminate();
        let run = running.ended().await.expect_status(1);
        assert_eq!(
            run.last_text(),
            "stopped by a signal: 1 operations continue at the broker, 2 service instances were not started"
        );
        expect_summary(
            &run,
            "Number of operations that continue: 1; Number of service instances that were not started: 2",
        );
        fleet.foundation.control().clear_task_faults().await;
        assert!(own_texts(&run).len() > 3);
    }
}
