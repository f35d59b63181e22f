//! Upgrades of many instances.

use odb_stories::{Odb, StandIn, TaskFault};
use serde_json::json;

use super::operator_of;

#[tokio::test]
async fn a_rollout_visits_only_what_is_out_of_date_unless_all_is_wanted() {
    let (_foundation, _broker, odb) = operator_of(&["cache", "sessions"]).await;

    let start = odb.run(&["rollout", "start", "-o", "json"]).await;
    let report = start.expect_status(0).json();
    assert_eq!(report["counts"], json!({ "skipped": 2 }));
    let all = odb.run(&["rollout", "start", "--all", "-o", "json"]).await;
    let report = all.expect_status(0).json();
    assert_eq!(report["counts"], json!({ "succeeded": 2 }));
    assert!(report["instances"][0]["name"].is_string(), "{report}");
    let status = odb.run(&["rollout", "status"]).await.expect_status(0);
    let row = status.row("upgrade");
    assert_eq!((row[1], row[3], row[4]), ("succeeded", "current", "2/2"));
    let nothing = odb.run(&["rollout", "stop"]).await.expect_status(1);
    assert_eq!(nothing.stderr, "No upgrade run is in progress\n");
}

#[tokio::test]
async fn people_read_names_a_summary_and_the_next_command() {
    let (foundation, _broker, odb) = operator_of(&["cache"]).await;
    let dry = odb.run(&["rollout", "start", "--all", "--dry-run"]).await;
    assert!(dry.expect_status(0).stderr.contains("1 instance: 1 "));
    let fault = TaskFault::at_start().fails(100, "no disk space left");
    foundation.control().set_task(fault).await;

    let failed = odb.run(&["rollout", "start", "--all"]).await;

    let failed = failed.expect_status(1);
    let lines: Vec<&str> = failed.stderr.lines().collect();
    let end = lines.len();
    assert!(
        failed.stderr.contains("cache: Starting to process"),
        "{failed:?}"
    );
    assert!(failed.stderr.contains("no disk space left"), "{failed:?}");
    assert_eq!(lines[end - 3], "1 instance: 1 failed");
    assert_eq!(
        lines[end - 2],
        "Next: odb rollout continue --all --retry-failed"
    );
    assert_eq!(lines[end - 1], "1 failed of 1 instances");
    let again = ["rollout", "continue", "--all", "--retry-failed"];
    odb.run(&again).await.expect_status(0);
}

#[tokio::test]
async fn an_unfinished_rollout_is_continued_or_replaced_and_a_running_one_is_stopped() {
    let (foundation, _broker, odb) = operator_of(&["cache", "sessions"]).await;
    let fault = TaskFault::at_start().holds();
    foundation.control().set_task(fault).await;
    let start = ["rollout", "start", "--all", "--max-in-flight", "1"];
    let running = odb.start(&start);
    running.says("Starting to process").await;

    let second = odb.run(&["rollout", "continue"]).await.expect_status(1);
    assert!(second.stderr.contains("Another process, `"), "{second:?}");
    let status = odb.run(&["rollout", "status"]).await.expect_status(10);
    assert_eq!(status.row("upgrade")[1], "in progress");
    odb.run(&["rollout", "stop"]).await.expect_status(0);
    let stopped = running.ended().await.expect_status(1);
    assert!(
        stopped.stderr.contains("An operator stops this run"),
        "{stopped:?}"
    );
    foundation.control().clear_task_faults().await;

    let refused = odb.run(&start).await.expect_status(1);
    assert!(
        refused
            .stderr
            .contains("odb rollout start --kind upgrade --restart"),
        "{refused:?}"
    );
    let go_on = ["rollout", "continue", "--all"];
    odb.run(&go_on).await.expect_status(0);
    odb.run(&start).await.expect_status(0);
}

#[tokio::test]
async fn a_named_instance_is_the_only_one() {
    let (_foundation, _broker, odb) = operator_of(&["cache", "sessions"]).await;
    let named = [
        "rollout",
        "start",
        "--all",
        "--instance",
        "cache",
        "-o",
        "json",
    ];
    let report = odb.run(&named).await.expect_status(0).json();
    assert_eq!(report["instances"].as_array().unwrap().len(), 1);
    assert_eq!(report["instances"][0]["name"], "cache");
    let but = [
        "rollout",
        "start",
        "--all",
        "--exclude",
        "cache",
        "-o",
        "json",
    ];
    let report = odb.run(&but).await.expect_status(0).json();
    assert_eq!(report["instances"][0]["name"], "sessions");
    let wrong = ["rollout", "start", "--instance", "cahce"];
    let unknown = odb.run(&wrong).await.expect_status(1);
    assert!(
        unknown.stderr.contains("Did you mean `cache`?"),
        "{unknown:?}"
    );
}

#[tokio::test]
async fn a_stop_is_requested_from_the_broker() {
    const RUN: &str = "9d6c1d2e-54b1-4b3c-9f2a-0f6d1c2b3a4d";
    let broker = StandIn::answering(404, "404 page not found\n").await;
    let run = json!({
        "id": RUN, "kind": "upgrade", "began": "2026-01-01T12:00:00Z", "target": "t",
        "is_current": true,
    });
    broker.answers("GET /mgmt/v1/runs/latest", 200, &run.to_string());
    let folder = tempfile::tempdir().unwrap();
    let odb = Odb::alone(folder.path());
    let access = [
        ("ODB_URL", broker.url()),
        ("ODB_USERNAME", "broker"),
        ("ODB_PASSWORD", "password"),
    ];

    let stop = ["rollout", "stop"];
    let old = odb.run_with(&stop, &access).await.expect_status(1);
    assert!(
        old.stderr.contains("cannot stop runs. Press Ctrl-C"),
        "{old:?}"
    );
    let request = format!("POST /mgmt/v1/runs/{RUN}/stop");
    broker.answers(&request, 202, "{}");
    let stopped = odb.run_with(&stop, &access).await.expect_status(0);
    assert!(
        stopped.stderr.contains("Next: odb rollout status"),
        "{stopped:?}"
    );
    assert!(broker.request_lines().contains(&request));
}
