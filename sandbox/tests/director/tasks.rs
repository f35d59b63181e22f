//! Tasks: queue, locks, cancelling, lists and outputs.

use odb_sandbox::director::{TaskEffect, TaskFault, TaskPoint};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    client::Client,
    foundation::{Foundation, redis},
};

/// A manifest whose health check takes a minute, unless it is cancelled.
fn slow(name: &str) -> Value {
    let mut manifest = redis(name);
    manifest["instance_groups"][1]["properties"] = json!({"health-check": {"systest-sleep": 60}});
    manifest
}

/// Starts a slow errand, and waits until it runs.
async fn busy(bosh: &Client, deployment: &str) -> u64 {
    bosh.deployed(&slow(deployment)).await;
    let task = bosh
        .run_errand(deployment, "health-check", &json!({}))
        .await;
    bosh.task_when(task, |task| task["state"] == "processing")
        .await;
    task
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_task_waits_for_the_lock_and_gives_up() {
    let foundation = Foundation::impatient(3);
    let bosh = foundation.admin();
    let errand = busy(&bosh, "c3").await;
    assert_eq!(bosh.get("/deployments").await.json()[0]["locked"], true);
    let locks = bosh.get("/locks").await.json();
    assert_eq!(
        (&locks[0]["resource"], &locks[0]["task_id"]),
        (&json!(["c3"]), &json!(errand.to_string()))
    );

    let deploy = bosh.deploy(&slow("c3")).await;
    assert_eq!(bosh.ended(deploy).await["state"], "error");
    let (code, text) = bosh.error_of(deploy).await;
    assert_eq!(code, "100");
    assert!(
        text.starts_with("Failed to acquire lock for lock:deployment:c3 uid: "),
        "{text}"
    );
    let end = format!(
        ". Locking task id is {errand}, description: 'run errand health-check from deployment c3'"
    );
    assert!(text.ends_with(&end), "{text}");

    bosh.delete(&format!("/task/{errand}")).await;
    bosh.ended(errand).await;
    bosh.deployed(&slow("c3")).await;
    assert_eq!(bosh.get("/locks").await.body, "[]");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_errand_ends_and_leaves_no_vm() {
    let foundation = Foundation::start();
    let bosh = foundation.admin();
    let task = busy(&bosh, "c3").await;
    let answer = bosh.delete(&format!("/task/{task}")).await;
    assert_eq!(answer.reported(), (204, ""));
    let ended = bosh.ended(task).await;
    assert_eq!(
        (&ended["state"], &ended["result"]),
        (&json!("cancelled"), &json!("task cancelled"))
    );
    assert_eq!(
        bosh.error_of(task).await,
        ("10001".to_owned(), format!("Task {task} cancelled"))
    );
    assert_eq!(foundation.vm_folders().len(), 1);

    let again = bosh.delete(&format!("/task/{task}")).await;
    assert_eq!(again.status, 400);
    assert_eq!(
        again.body,
        format!("Cannot cancel task {task}: invalid state (cancelled)")
    );
    assert_eq!(bosh.delete(&format!("/tasks/{task}")).await.status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_waits_in_the_queue_for_a_worker_and_can_be_cancelled_there() {
    let foundation = Foundation::impatient(1);
    let bosh = foundation.admin();
    let errand = busy(&bosh, "first").await;
    let queued = bosh.deploy(&redis("second")).await;
    let waiting = bosh.get("/tasks?state=queued").await.json();
    assert_eq!(waiting[0]["id"], queued);
    assert_eq!(
        (&waiting[0]["started_at"], &waiting[0]["timestamp"]),
        (&json!(null), &json!(null))
    );

    assert_eq!(bosh.delete(&format!("/task/{queued}")).await.status, 204);
    assert_eq!(
        bosh.get(&format!("/tasks/{queued}")).await.json()["state"],
        "cancelling"
    );
    bosh.delete(&format!("/task/{errand}")).await;
    let ended = bosh.ended(queued).await;
    assert_eq!(
        (&ended["state"], &ended["started_at"]),
        (&json!("cancelled"), &json!(null))
    );
    assert_eq!(bosh.events(queued).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_are_found_by_deployment_state_and_context() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let headers = [
        ("content-type", "text/yaml; charset=utf-8"),
        ("x-bosh-context-id", "ctx-1"),
    ];
    let task = bosh
        .call(
            Method::POST,
            "/deployments",
            &headers,
            redis("a").to_string(),
        )
        .await
        .task();
    bosh.done(task).await;
    let other = bosh.deployed(&redis("b")).await;

    let ids = async |query: &str| {
        let tasks = bosh.get(&format!("/tasks?{query}")).await.json();
        tasks
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["id"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids("deployment=a&context_id=ctx-1&verbose=2").await, [task]);
    assert_eq!(ids("context_id=none-such").await, [0; 0]);
    assert_eq!(ids("state=done,error&limit=1").await, [other]);
    assert_eq!(ids("state=bogus").await, [0; 0]);
    assert_eq!(ids("").await, [other, task]);

    let shown = bosh.get(&format!("/tasks/{task}")).await;
    assert_eq!(shown.header("content-type"), "application/json");
    let keys: Vec<String> = shown.json().as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        keys,
        [
            "id",
            "state",
            "description",
            "timestamp",
            "started_at",
            "result",
            "user",
            "deployment",
            "context_id"
        ]
    );
    assert_eq!(shown.json()["result"], "/deployments/a");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_output_can_be_read_in_parts() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let task = bosh.deployed(&redis("a")).await;
    let path = format!("/tasks/{task}/output?type=event");
    let whole = bosh.get(&path).await;
    let size = whole.body.len();
    let ranged = async |range: &str| {
        bosh.call(Method::GET, &path, &[("range", range)], String::new())
            .await
    };

    let start = ranged("bytes=0-99").await;
    assert_eq!(start.reported(), (206, &whole.body[..100]));
    assert_eq!(start.header("content-range"), format!("bytes 0-99/{size}"));
    let rest = ranged("bytes=100-").await;
    assert_eq!(rest.body, whole.body[100..]);
    let beyond = ranged(&format!("bytes={size}-")).await;
    assert_eq!(beyond.reported(), (416, "Byte range unsatisfiable"));
    assert_eq!(beyond.header("content-range"), format!("bytes */{size}"));

    assert_eq!(
        bosh.get(&format!("/tasks/{task}/output?type=none"))
            .await
            .status,
        204
    );
    let unknown = bosh.get(&format!("/tasks/{task}/output?type=bogus")).await;
    assert_eq!(
        unknown.body,
        r#"{"code":600000,"description":"Unknown type bogus"}"#
    );
    assert_eq!(
        bosh.get(&format!("/tasks/{task}/output?type=debug"))
            .await
            .header("content-type"),
        "text/plain;charset=utf-8"
    );
}

/// The worker changes the state and nothing else (cloudfoundry/bosh, `jobs/db_job.rb`, `fail_task`).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_whose_process_is_killed_is_an_error_without_a_word() {
    let foundation = Foundation::impatient(3);
    let bosh = foundation.admin();
    foundation.director().arm(TaskFault {
        deployment: Some("d".to_owned()),
        at: TaskPoint::Step {
            stage: "Creating missing vms".to_owned(),
            task: None,
            status: None,
        },
        effect: TaskEffect::KillChild,
    });

    let task = bosh.deploy(&redis("d")).await;
    let ended = bosh.ended(task).await;

    assert_eq!(
        (&ended["state"], &ended["result"], &ended["timestamp"]),
        (&json!("error"), &json!(null), &ended["started_at"])
    );
    let last = bosh.events(task).await.pop().unwrap();
    assert_eq!(
        (last.stage.as_str(), last.state.as_str()),
        ("Creating missing vms", "started")
    );
    let locks = bosh.get("/locks").await.json();
    assert_eq!(locks[0]["task_id"], json!(task.to_string()));
    let next = bosh.deploy(&redis("d")).await;
    let (code, text) = bosh.error_of(next).await;
    assert_eq!(code, "100");
    assert!(text.starts_with("Failed to acquire lock"), "{text}");
}
