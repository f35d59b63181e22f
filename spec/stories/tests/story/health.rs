//! The operator asks how the VMs of an instance are, and something has happened to them.

use odb_stories::{
    Fault, Foundation, Order, Platform, ProcessTable, TaskFault, eventually, new_id,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::TIMEOUT;

async fn an_instance(platform: &Platform) -> (String, String) {
    let instance = platform.created().await;
    let deployment = format!("service-instance_{instance}");
    (instance, deployment)
}

async fn health(platform: &Platform, instance: &str) -> Value {
    platform.health(instance).await.expect_status(200).json()
}

/// The operators' view once the instance is healthy, or is not.
async fn health_becomes(platform: &Platform, instance: &str, healthy: bool) -> Value {
    eventually("the instance's health changes", TIMEOUT, async || {
        let seen = health(platform, instance).await;
        if seen["healthy"] == healthy {
            Ok(seen)
        } else {
            Err(seen.to_string())
        }
    })
    .await
}

/// Kills every Redis that the foundation runs.
fn kill_redis(foundation: &Foundation) {
    for process in ProcessTable::look().family_of(foundation.id()) {
        if process.command_line.contains("redis-server") {
            let id = i32::try_from(process.id).ok().and_then(Pid::from_raw);
            // It may have ended by itself.
            let _ = kill_process(id.expect("it is the id of a process"), Signal::KILL);
        }
    }
}

#[tokio::test]
async fn an_instance_is_healthy_until_its_redis_ends_and_when_it_runs_again() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let platform = broker.platform();
    let (instance, _) = an_instance(platform).await;

    let seen = health(platform, &instance).await;
    assert_eq!(seen["service_instance_id"], instance);
    assert_eq!(seen["healthy"], true, "{seen}");
    // The groups of errands have no VM, and need none.
    let redis = &seen["instances"][0];
    assert_eq!(
        seen["instances"].as_array().map(Vec::len),
        Some(1),
        "{seen}"
    );
    assert_eq!(redis["instance_group"], "redis-server");
    assert_eq!(
        (&redis["state"], &redis["healthy"]),
        (&json!("running"), &json!(true))
    );
    assert_eq!(
        redis["processes"],
        json!([{ "name": "redis-server", "state": "running" }])
    );

    // It is restarted with growing pauses, so a poll sees it stopped eventually.
    let seen = eventually("Redis is seen to have ended", TIMEOUT, async || {
        kill_redis(&foundation);
        let seen = health(platform, &instance).await;
        let is_ill = seen["healthy"] == false;
        is_ill.then(|| seen.clone()).ok_or(seen.to_string())
    })
    .await;
    let redis = &seen["instances"][0];
    assert_eq!(redis["healthy"], false, "{seen}");
    assert_ne!(redis["processes"][0]["state"], "running", "{seen}");
    health_becomes(platform, &instance, true).await;
}

#[tokio::test]
async fn an_agent_that_does_not_answer_and_a_vm_that_is_lost_are_not_healthy() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let platform = broker.platform();
    let (control, director) = (foundation.control(), foundation.director());
    control.wait_for_agents("1s").await;

    for is_lost in [false, true] {
        let (instance, deployment) = an_instance(platform).await;
        let vms = director.vms(&deployment).await;
        if is_lost {
            control.lose_vm(&vms[0]).await;
        } else {
            control.kill_agent(&vms[0]).await;
        }

        let seen = health(platform, &instance).await;

        assert_eq!(seen["healthy"], false, "{seen}");
        assert_eq!(
            seen["instances"][0]["state"], "unresponsive agent",
            "{seen}"
        );
    }
}

#[tokio::test]
async fn looking_takes_no_lock_and_an_instance_that_is_being_worked_on_is_reported_too() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let platform = broker.platform();
    let (instance, _) = an_instance(platform).await;
    foundation
        .control()
        .set_task(TaskFault::at_step_of("Updating instance").holds())
        .await;
    let change = Order::small().with_parameters(json!({ "maxclients": 222 }));
    let token = platform.update(&instance, &change).await.accepted();
    eventually("the deployment has begun", TIMEOUT, async || {
        let poll = platform.last_operation(&instance, &token).await;
        let has_begun = poll.description().contains("Updating instance");
        has_begun.then_some(()).ok_or(poll.text)
    })
    .await;

    let seen = health(platform, &instance).await;

    let instances = seen["instances"].as_array().map(Vec::len);
    assert_eq!(instances, Some(1), "{seen}");
    foundation.control().clear_faults().await;
    platform.succeeds(&instance, &token).await;
}

#[tokio::test]
async fn a_director_that_is_too_busy_is_waited_for_no_longer_than_a_request_may_take() {
    // A team's client may not cancel the task that no request waits for any more.
    let foundation = Foundation::start_with_director_admin().await;
    let broker = foundation.broker().with_request_budget(5).start().await;
    let platform = broker.platform();
    let (instance, _) = an_instance(platform).await;
    let control = foundation.control();
    control
        .set_task_fault(&json!({ "at": { "place": "queue" }, "effect": { "kind": "hold" } }))
        .await;

    let busy = platform.health(&instance).await;
    let text = busy.expect_status(503).description();
    assert!(text.contains("did not answer within the time"), "{text}");
    let history = foundation.director().history().await;
    let last = history.last().cloned().unwrap_or_default();
    assert!(
        last.starts_with("retrieve vm-stats: cancel"),
        "no request waits for it any more: {last}"
    );
    control.clear_faults().await;

    control
        .set(Fault::of("director", "GET /deployments/*/instances").answers(500))
        .await;
    let down = platform.health(&instance).await;
    let text = down.expect_status(503).description();
    assert!(text.contains("could not be reached"), "{text}");
    control.clear_faults().await;

    platform.health(&new_id()).await.expect_status(404);
    health_becomes(platform, &instance, true).await;
}

#[tokio::test]
async fn errands_are_reported_whether_the_director_can_recreate() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let (platform, control) = (broker.platform(), foundation.control());
    let ask = async || platform.manage("/mgmt/v1/director").await;
    let reported = ask().await.expect_status(200).json();
    assert_eq!(reported["can_recreate"], true, "{reported}");

    for (version, can_recreate) in [
        ("268.3.9 (00000000)", false),
        ("1.3262.0.0 (00000000)", true),
    ] {
        let info = json!({
            "name": "old", "uuid": "1", "version": version, "user": null,
            "user_authentication": { "type": "basic", "options": {} },
        });
        control
            .set(Fault::of("director", "GET /info").says(200, &info.to_string()))
            .await;
        let expected = json!({ "version": version, "can_recreate": can_recreate });
        assert_eq!(ask().await.expect_status(200).json(), expected);
        control.clear_faults().await;
    }
    control
        .set(Fault::of("director", "GET /info").answers(500))
        .await;
    ask().await.expect_status(503);
}
