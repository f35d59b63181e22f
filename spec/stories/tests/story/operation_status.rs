//! The operator looks at what is being done with an instance: its stages, their tasks and their steps.

use odb_stories::{
    Broker, Errand, ErrandConfiguration, Foundation, Order, Platform, StandIn, eventually, new_id,
};
use serde_json::{Value, json};

use crate::TIMEOUT;

/// The stages of an operation: name and state.
fn stages(status: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let stages = status["stages"].as_array().into_iter().flatten();
    stages
        .map(|stage| (text(&stage["name"]), text(&stage["state"])))
        .collect()
}

fn reported(stages: &[(&str, &str)]) -> Vec<(String, String)> {
    let reported = stages
        .iter()
        .map(|(name, state)| ((*name).to_owned(), (*state).to_owned()));
    reported.collect()
}

async fn hold(foundation: &Foundation, stage: &str) {
    foundation
        .control()
        .set_task_fault(&json!({
            "at": { "place": "step", "stage": stage },
            "effect": { "kind": "hold" },
        }))
        .await;
}

/// The operators' view once the first stage in this state has a step.
async fn status_at(platform: &Platform, instance: &str, heading: &str) -> Value {
    eventually("the step is reported", TIMEOUT, async || {
        let status = platform.operation_status(instance).await;
        let status = status.expect_status(200).json();
        let all = status["stages"].as_array().into_iter().flatten();
        let mut steps = all.filter_map(|stage| stage["steps"].as_array()).flatten();
        if steps.any(|step| {
            step["stage"]
                .as_str()
                .is_some_and(|it| it.starts_with(heading))
        }) {
            Ok(status)
        } else {
            Err(status.to_string())
        }
    })
    .await
}

#[tokio::test]
async fn an_operator_sees_stages_tasks_and_steps_without_a_call_to_an_upstream() {
    let foundation = Foundation::start_with_director_admin().await;
    let broker = foundation.broker().start().await;
    let (platform, instance) = (broker.platform(), new_id());
    hold(&foundation, "Updating instance").await;
    let answer = platform.provision(&instance, &Order::small()).await;
    let token = answer.accepted();

    let status = status_at(platform, &instance, "Updating instance").await;

    assert_eq!(
        stages(&status),
        reported(&[("deploy", "running"), ("errand health-check", "waiting")])
    );
    assert_eq!(status["kind"], "create");
    assert_eq!(status["state"], "in progress");
    assert_eq!(status["request"], answer.request_id());
    assert_eq!(status["service_instance_id"], instance);
    let token: Value = serde_json::from_str(&token).expect("a token is JSON");
    assert_eq!(status["token"], token);
    let deploy = &status["stages"][0];
    assert_eq!(deploy["task"], token["BoshTaskID"]);
    let steps = deploy["steps"].as_array().expect("the task has steps");
    let updating = &steps[steps.len() - 1];
    assert_eq!(updating["stage"], "Updating instance redis-server");
    assert_eq!(
        (&updating["done"], &updating["total"]),
        (&json!(0), &json!(1))
    );
    let current = updating["current"].as_str().unwrap_or_default();
    assert!(current.starts_with("redis-server/0 (canary)"), "{current}");
    assert!(
        steps[..steps.len() - 1]
            .iter()
            .all(|step| step["done"] == step["total"]),
        "{steps:?}"
    );

    // A held task is followed, the status is not: whatever is asked now, the reconciler asks.
    let held = foundation
        .control()
        .set_fault(&json!({ "server": "director", "effect": { "kind": "hold" } }))
        .await;
    for _ in 0..5 {
        platform
            .operation_status(&instance)
            .await
            .expect_status(200);
    }
    let fault = foundation.control().fault(held.id).await;
    assert!(fault.holds <= 1, "{fault:?}");
    foundation.control().clear_faults().await;

    let ended = platform
        .end_of_operation(&instance, &token.to_string())
        .await;
    assert_eq!(ended.state, "succeeded", "{ended:?}");
    let status = platform.operation_status(&instance).await.json();
    assert_eq!(status["state"], "succeeded");
    assert_eq!(status["token"], Value::Null);
    assert_eq!(
        stages(&status),
        reported(&[("deploy", "done"), ("errand health-check", "done")])
    );
}

#[tokio::test]
async fn what_has_ended_is_reported_by_the_next_process_too_with_its_cause() {
    let effect = json!({ "kind": "fail", "code": 400_001, "message": "no disk space left" });
    expect_cause(
        &effect,
        ": no disk space left; last event: Updating instance",
    )
    .await;
}

#[tokio::test]
async fn of_a_task_whose_process_was_killed_the_operator_reads_how_far_it_got() {
    let effect = json!({ "kind": "kill_child" });
    let reported = " ended in the state `error` and does not say why; last event: Updating instance: redis-server/0";
    expect_cause(&effect, reported).await;
}

async fn expect_cause(effect: &Value, reported_task: &str) {
    let foundation = Foundation::start_with_director_admin().await;
    let mut broker = foundation.broker().start().await;
    let (platform, instance) = (broker.platform().clone(), new_id());
    platform
        .provision_to_the_end(&instance, &Order::small())
        .await;
    foundation
        .control()
        .set_task_fault(&json!({
            "at": { "place": "step", "stage": "Updating instance" },
            "effect": effect,
        }))
        .await;
    let change = Order::small().with_parameters(json!({ "maxclients": 222 }));
    let token = platform.update(&instance, &change).await.accepted();
    let ended = platform.end_of_operation(&instance, &token).await;
    assert_eq!(ended.state, "failed", "{ended:?}");

    let warm = platform.operation_status(&instance).await.json();
    broker.kill();
    broker.start_again().await;
    let cold = platform.operation_status(&instance).await.json();

    for status in [&warm, &cold] {
        assert_eq!(status["kind"], "update", "{status}");
        assert_eq!(status["state"], "failed", "{status}");
        assert_eq!(
            stages(status),
            reported(&[("deploy", "failed"), ("errand health-check", "waiting")])
        );
        let error = status["stages"][0]["error"].as_str().unwrap_or_default();
        let task = &status["stages"][0]["task"];
        let whole = format!("task {task}{reported_task}");
        assert!(error.starts_with(&whole), "`{whole}`: {status}");
    }
    assert_eq!(warm, cold);
}

#[tokio::test]
async fn an_operation_is_shown_on_by_the_process_that_picks_it_up() {
    let foundation = Foundation::start_with_director_admin().await;
    let mut broker = foundation.broker().start().await;
    let (platform, instance) = (broker.platform().clone(), new_id());
    platform
        .provision_to_the_end(&instance, &Order::small())
        .await;
    hold(&foundation, "Deleting instances").await;
    let token = platform.deprovision(&instance).await.accepted();
    status_at(&platform, &instance, "Deleting instances").await;
    broker.kill();
    broker.start_again().await;

    let status = status_at(&platform, &instance, "Deleting instances").await;

    assert_eq!(
        stages(&status),
        reported(&[
            ("errand cleanup-data", "done"),
            ("delete", "running"),
            ("clean-up", "waiting")
        ])
    );
    let picked_up: Value = serde_json::from_str(&token).expect("a token is JSON");
    assert_eq!(status["token"], picked_up);
    foundation.control().clear_faults().await;
    let ended = platform.end_of_operation(&instance, &token).await;
    assert!(
        ended.state == "succeeded" || ended.state == "gone",
        "{ended:?}"
    );
}

#[tokio::test]
async fn without_a_record_the_directors_tasks_decide() {
    let foundation = Foundation::start_with_director_admin().await;
    let configuration = foundation
        .broker()
        .with("/broker/disable_bosh_configs", true.into());
    let mut broker = configuration.start().await;
    let (platform, instance) = (broker.platform().clone(), new_id());
    platform
        .provision_to_the_end(&instance, &Order::small())
        .await;
    broker.kill();
    broker.start_again().await;

    let status = platform.operation_status(&instance).await.json();

    assert_eq!(status["state"], "succeeded");
    assert_eq!(status["kind"], Value::Null);
    assert_eq!(
        stages(&status),
        reported(&[("deploy", "done"), ("errand health-check", "done")])
    );
    platform
        .operation_status(&new_id())
        .await
        .expect_status(404);
}

fn errand(foundation: &Foundation, broker: &Broker, instance: &str, flags: &[&str]) -> Errand {
    Errand::new(foundation, "operation")
        .configured(&ErrandConfiguration::of(foundation, broker))
        .with(&["--instance", instance])
        .with(flags)
}

#[tokio::test]
async fn a_client_that_follows_an_operation_reads_each_step_until_it_has_succeeded() {
    let foundation = Foundation::start_with_director_admin().await;
    let broker = foundation.broker().start().await;
    let (platform, instance) = (broker.platform(), new_id());
    hold(&foundation, "Updating instance").await;
    platform
        .provision(&instance, &Order::small())
        .await
        .accepted();
    status_at(platform, &instance, "Updating instance").await;

    let glance = errand(&foundation, &broker, &instance, &[]).run().await;
    let glance = glance.expect_status(10).output;
    assert!(glance.contains("running  deploy"), "{glance}");
    assert!(glance.contains("waiting  errand health-check"), "{glance}");
    let following = errand(&foundation, &broker, &instance, &["--follow"]).start();
    eventually("the step is reported", TIMEOUT, async || {
        let stderr = following.stderr();
        let step = "Updating instance redis-server 0/1: redis-server/0 (canary)";
        stderr.contains(step).then_some(()).ok_or(stderr)
    })
    .await;
    foundation.control().clear_faults().await;

    let followed = following.ended().await.expect_status(0);

    let text = &followed.output;
    assert!(text.starts_with("create of service instance"), "{text}");
    assert!(text.contains(": succeeded"), "{text}");
    assert!(text.contains("done     deploy"), "{text}");
    assert!(text.contains("done     errand health-check"), "{text}");
}

#[tokio::test]
async fn an_operation_that_has_failed_is_shown_with_its_cause_and_a_status_of_failure() {
    let foundation = Foundation::start_with_director_admin().await;
    let broker = foundation.broker().start().await;
    let (platform, instance) = (broker.platform(), new_id());
    foundation
        .control()
        .set_task_fault(&json!({
            "at": { "place": "step", "stage": "Creating missing vms" },
            "effect": { "kind": "fail", "code": 400_001, "message": "no disk space left" },
        }))
        .await;
    platform
        .provision(&instance, &Order::small())
        .await
        .accepted();

    let followed = errand(&foundation, &broker, &instance, &["--follow"]);
    let followed = followed.run().await.expect_status(1);
    let json = errand(&foundation, &broker, &instance, &["--output", "json"]);
    let json = json.run().await.expect_status(1).json();

    let text = &followed.output;
    assert!(text.contains("failed   deploy"), "{text}");
    assert!(text.contains("error: "), "{text}");
    assert!(text.contains("no disk space left"), "{text}");
    assert_eq!(json, platform.operation_status(&instance).await.json());

    let no_user = errand(&foundation, &broker, &new_id(), &[]);
    let no_user = no_user.run().await.expect_status(1);
    assert!(no_user.last_text().contains("is unknown"), "{no_user:?}");
}

#[tokio::test]
async fn a_deletion_is_followed_until_the_instance_is_gone_past_a_restart_of_the_broker() {
    let foundation = Foundation::start_with_director_admin().await;
    let mut broker = foundation.broker().start().await;
    let (platform, instance) = (broker.platform().clone(), new_id());
    platform
        .provision_to_the_end(&instance, &Order::small())
        .await;
    hold(&foundation, "Deleting instances").await;
    platform.deprovision(&instance).await.accepted();
    status_at(&platform, &instance, "Deleting instances").await;
    let following = errand(&foundation, &broker, &instance, &["--follow"]).start();
    eventually("the deletion is reported", TIMEOUT, async || {
        let stderr = following.stderr();
        stderr.contains("delete (task").then_some(()).ok_or(stderr)
    })
    .await;
    broker.kill();
    broker.start_again().await;
    foundation.control().clear_faults().await;

    following.ended().await.expect_success();
}

/// A router that knows of no broker, while that is being deployed anew, answers so.
const OF_A_ROUTER: (u16, &str) = (404, "404 Not Found: Requested route does not exist.");

async fn asked_again(broker: &StandIn) {
    let before = broker.requests().len();
    eventually("it is asked again", TIMEOUT, async || {
        let now = broker.requests().len();
        (now > before + 1).then_some(()).ok_or(now.to_string())
    })
    .await;
}

#[tokio::test]
async fn a_router_that_does_not_know_the_broker_mentions_no_end() {
    let foundation = Foundation::setup()
        .with_director_admin()
        .without_processes()
        .start()
        .await;
    let instance = new_id();
    let status = |state: &str| {
        let status = json!({
            "service_instance_id": instance,
            "kind": "delete",
            "state": state,
            "request": "6a7b8c9d-0000-4000-8000-000000000000",
            "description": format!("the deletion is {state}"),
            "stages": [],
        });
        status.to_string()
    };
    let errands: [(_, &[&str], _); 2] = [
        ("operation", &["--follow"], 1),
        ("cancel-operation", &[], 0),
    ];
    for (name, follow, expected) in errands {
        let broker = StandIn::answering(200, &status("in progress")).await;
        let configuration = ErrandConfiguration::of_broker(&foundation, broker.url(), "secret");
        let errand = Errand::new(&foundation, name).configured(&configuration);
        let running = errand.with(&["--instance", &instance]).with(follow).start();
        asked_again(&broker).await;
        broker.answer(OF_A_ROUTER.0, OF_A_ROUTER.1);
        asked_again(&broker).await;
        broker.answer(200, &status("failed"));

        let run = running.ended().await;

        let run = run.expect_status(expected);
        assert!(!run.stderr.contains("is gone"), "{}", run.stderr);
        let all = format!("{}{}", run.stderr, run.output);
        assert!(all.contains("the deletion is failed"), "{all}");
    }
}
