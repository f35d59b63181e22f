//! One process at a time carries out a run, and an operator stops it from elsewhere.

use serde_json::json;

use super::{BOTH, Fleet};

#[tokio::test]
async fn a_run_that_another_process_carries_out_is_refused_and_can_be_stopped() {
    for errand in BOTH {
        let fleet = Fleet::of(2).await;
        fleet.hold(0).await;
        let file = fleet.file().with("/max_in_flight", json!(1));
        let running = fleet.errand(errand, &file).start();
        running.says("Waiting for operation").await;
        let process = format!("process {} on ", running.id());
        let some = ["--instance", &fleet.instances[1]];
        for flags in [&[][..], &["--continue"], &some] {
            let refused = fleet.errand(errand, &file).with(flags).run().await;
            refused.expect_status(1).expect_said(&process);
        }
        let kind = errand.split('-').next().unwrap();
        let platform = fleet.broker.platform();
        let run = platform.latest_run(kind).await.json();
        let stopped = platform.stop_run(run["id"].as_str().unwrap()).await;
        stopped.expect_status(202);

        let run = running.ended().await.expect_status(1);
        run.expect_said("An operator stops this run");
        run.expect_said("1 service instances were not started");
        fleet.foundation.control().clear_task_faults().await;
        let continued = fleet.errand(errand, &file).with(&["--continue"]);
        continued.run().await.expect_status(0);
        for location in [0, 1] {
            assert_eq!(fleet.deployments_of(location).await, 1, "{location}");
        }
    }
}

#[tokio::test]
async fn a_process_stops_when_another_one_takes_the_run_over() {
    let fleet = Fleet::of(2).await;
    fleet.hold(0).await;
    let file = fleet.file().with("/max_in_flight", json!(1));
    let upgrade = || fleet.errand(super::UPGRADE, &file);
    let first = upgrade().start();
    first.says("Waiting for operation").await;
    let second = upgrade().with(&["--continue", "--take-over"]).start();
    second
        .says("Operation of the interrupted run continues")
        .await;
    let ended = first.ended().await.expect_status(1);
    ended.expect_said("This run stops: Another process, `");
    // The first process has not ended the run of the second one.
    let latest = fleet.broker.platform().latest_run("upgrade").await.json();
    assert_eq!(latest["is_running"], true, "{latest}");
    fleet.foundation.control().clear_task_faults().await;
    second.ended().await.expect_status(0);
    for location in [0, 1] {
        assert_eq!(fleet.deployments_of(location).await, 1, "{location}");
    }
}
