//! A Director that stops and starts again, and faults for its tasks.

use odb_sandbox::director::{TaskEffect, TaskFault, TaskPoint};
use serde_json::{Value, json};

use crate::story::{Story, stage};

const DEPLOYMENT: &str = "service-instance_a1";

fn fault(at: TaskPoint, effect: TaskEffect) -> TaskFault {
    TaskFault {
        deployment: Some(DEPLOYMENT.to_owned()),
        at,
        effect,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_restart_waiting_tasks_are_run_and_those_at_work_are_abandoned() {
    let mut story = Story::begin().await;
    let director = &story.sandbox.director;
    director.arm(fault(stage("Preparing deployment"), TaskEffect::Hold));
    let at_work = story.recreate(DEPLOYMENT).await;
    story.until_held().await;
    story.sandbox.director.arm(TaskFault {
        deployment: None,
        at: TaskPoint::Queue,
        effect: TaskEffect::Hold,
    });
    let waiting = story.ask_vms(DEPLOYMENT).await;
    story.until_held().await;

    story.sandbox.restart().await;

    let ended = story.ended(waiting).await;
    assert_eq!(ended["state"], "done", "{ended}");
    let abandoned = story.ended(at_work).await;
    assert_eq!(
        (&abandoned["state"], &abandoned["result"]),
        (&json!("timeout"), &Value::Null)
    );
    let events = story
        .text(&format!("/tasks/{at_work}/output?type=event"))
        .await;
    assert_eq!(events.lines().count(), 1, "{events}");
    story.sandbox.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_director_knows_survives_a_restart_and_ids_are_not_used_again() {
    let mut story = Story::begin().await;
    let config = |content: &str| json!({"type": "t", "name": "n", "content": content});
    let first = story.post_json("/configs", &config("a: 1\n")).await;
    let deleted = story.post_json("/configs", &config("a: 2\n")).await;
    story
        .delete_path(&format!("/configs/{}", text(&deleted["id"])))
        .await;
    let paths = [
        "/tasks?verbose=2",
        "/tasks/1/output?type=event",
        "/configs?latest=false",
        "/events",
        "/locks",
        "/deployments",
        "/deployments/service-instance_a1/instances",
        "/link_providers?deployment=service-instance_a1",
        "/links?deployment=service-instance_a1",
    ];
    let mut before = Vec::new();
    for path in paths {
        before.push(story.text(path).await);
    }

    story.sandbox.restart().await;

    for (path, before) in paths.iter().zip(before) {
        assert_eq!(story.text(path).await, before, "{path}");
    }
    let next = story.post_json("/configs", &config("a: 3\n")).await;
    let number = |config: &Value| text(&config["id"]).parse::<u64>().unwrap();
    assert_eq!(number(&next), number(&first) + 2);
    story.sandbox.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_armed_failure_happens_once_with_its_number_and_words() {
    let story = Story::begin().await;
    let fail = TaskEffect::Fail {
        code: 450_001,
        message: "the agent had enough".to_owned(),
    };
    let step = TaskPoint::Step {
        stage: "Updating instance".to_owned(),
        task: Some("srv/".to_owned()),
        status: Some("executing drain".to_owned()),
    };
    story.sandbox.director.arm(fault(step, fail));

    let failing = story.recreate(DEPLOYMENT).await;
    let ended = story.ended(failing).await;
    assert_eq!(
        (&ended["state"], &ended["result"]),
        (&json!("error"), &json!("the agent had enough"))
    );
    let events = story
        .text(&format!("/tasks/{failing}/output?type=event"))
        .await;
    let last: Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    assert_eq!(
        last["error"],
        json!({"code": 450_001, "message": "the agent had enough"})
    );
    assert!(story.sandbox.director.armed().is_empty());
    let again = story.recreate(DEPLOYMENT).await;
    assert_eq!(story.ended(again).await["state"], "done");
    story.sandbox.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_of_the_audit_are_found_by_what_they_report() {
    let story = Story::begin().await;
    let task = story.recreate(DEPLOYMENT).await;
    story.ended(task).await;
    let found = async |query: &str| {
        let events: Value =
            serde_json::from_str(&story.text(&format!("/events?{query}")).await).unwrap();
        events.as_array().unwrap().clone()
    };

    let locks = found(&format!("task={task}&object_type=lock")).await;
    let actions: Vec<&Value> = locks.iter().map(|event| &event["action"]).collect();
    assert_eq!(actions, ["release", "acquire"], "the newest first");
    let newest = text(&locks[0]["id"]);
    let older = found(&format!("before_id={newest}")).await;
    assert!(
        older
            .iter()
            .all(|event| number(event) < newest.parse().unwrap())
    );
    assert!(found("user=nobody").await.is_empty());
    assert!(found("after_time=2100-01-01 00:00:00 UTC").await.is_empty());
    let refused = story.text("/events?before_time=soon").await;
    assert_eq!(refused, "Invalid before parameter: 'soon' ");
    story.sandbox.shut_down().await;
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn number(event: &Value) -> u64 {
    text(&event["id"]).parse().unwrap()
}
