//! The operator looks at what is being done with an instance: its stages, their tasks and their steps.

use odb_stories::{
    Broker, Errand, ErrandConfiguration, Foundation, Order, Platform, TaskFault, eventually, new_id,
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
        .set_task(TaskFault::at_step_of(stage).holds())
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
    let (foundation, broker) = Foundation::setup()
        .with_director_admin()
        .start_with_broker()
        .await;
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

    platform.succeeds(&instance, &token.to_string()).await;
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
    let (foundation, mut broker, instance) = Foundation::setup()
        .with_director_admin()
        .start_with_instance()
        .await;
    let platform = broker.platform().clone();
    foundation
        .control()
        .set_task_fault(&json!({
            "at": { "place": "step", "stage": "Updating instance" },
            "effect": effect,
        }))
        .await;
    let change = Order::small().with_parameters(json!({ "maxclients": 222 }));
    let token = platform.update(&instance, &change).await.accepted();
    platform.fails(&instance, &token).await;

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
async fn without_a_record_the_directors_tasks_decide() {
    let foundation = Foundation::start_with_director_admin().await;
    let configuration = foundation
        .broker()
        .with("/broker/disable_bosh_configs", true.into());
    let mut broker = configuration.start().await;
    let platform = broker.platform().clone();
    let instance = platform.created().await;
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
    let (foundation, broker) = Foundation::setup()
        .with_director_admin()
        .start_with_broker()
        .await;
    let (platform, instance) = (broker.platform(), new_id());
    hold(&foundation, "Updating instance").await;
    platform.order(&instance).await;
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
    let (foundation, broker) = Foundation::setup()
        .with_director_admin()
        .start_with_broker()
        .await;
    let (platform, instance) = (broker.platform(), new_id());
    foundation
        .control()
        .set_task(
            TaskFault::at_step_of("Creating missing vms").fails(400_001, "no disk space left"),
        )
        .await;
    platform.order(&instance).await;

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
    no_user.expect_said_last("is unknown");
}
