//! Errands that follow a deployment and precede a deletion.

use odb_stories::{
    Broker, BrokerConfiguration, Ended, Fault, Foundation, LogLine, Order, TaskFault, eventually,
    new_id,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{TIMEOUT, history_of_an_order};

#[tokio::test]
async fn several_errands_run_in_their_order_where_they_are_asked_to() {
    let foundation = Foundation::start().await;
    let errands = json!({
        "post_deploy": [
            { "name": "health-check", "instances": ["redis-server/0"] },
            { "name": "cleanup-data" },
        ],
        "pre_delete": [{ "name": "cleanup-data", "instances": ["redis-server"] }],
    });
    let configuration = foundation.broker().with_lifecycle_errands(&errands);
    let broker = with_plan_property(configuration, "colocated_errand", true.into())
        .start()
        .await;
    let (platform, instance) = (broker.platform(), new_id());
    let control = foundation.control();
    control.set_task_fault(&errand_held(&instance)).await;

    let token = platform.order(&instance).await;
    reported(
        &broker,
        &instance,
        &token,
        "step 2 of 3, running health-check",
    )
    .await;
    control.clear_faults().await;
    let created = platform.end_of_operation(&instance, &token).await;
    assert_eq!(created.state, "succeeded", "{created:?}");
    let deleted = delete(&broker, &instance, "").await;
    assert_eq!(deleted.state, "succeeded", "{deleted:?}");

    let run =
        |errand| format!("run errand {errand} from deployment service-instance_{instance}: done");
    assert_eq!(
        foundation.director().history().await,
        [
            "create deployment: done".to_owned(),
            run("health-check"),
            run("cleanup-data"),
            run("cleanup-data"),
            format!("delete deployment service-instance_{instance}: done"),
        ]
    );
}

#[tokio::test]
async fn an_errand_that_fails_on_one_instance_of_several_has_failed() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let (platform, instance) = (broker.platform(), new_id());
    let result = |id: &str, exit_code: u8| {
        json!({
            "instance": { "group": "redis-server", "id": id }, "errand_name": "health-check",
            "exit_code": exit_code, "stdout": "", "stderr": "it does not answer",
            "logs": { "blobstore_id": "", "sha1": "" },
        })
    };
    let results = format!(
        "{}\n{}\n{}\n",
        result("a", 0),
        result("b", 3),
        result("c", 0)
    );
    foundation
        .control()
        .set_fault(&json!({
            "server": "director",
            "requests": { "method": "GET", "path": "/tasks/*/output", "query": { "type": "result" } },
            "effect": { "kind": "answer", "status": 200, "body": results },
        }))
        .await;

    let ordered = platform.provision(&instance, &Order::small()).await;
    let ended = platform
        .end_of_operation(&instance, &ordered.accepted())
        .await;

    assert_eq!(ended.state, "failed", "{ended:?}");
    let reported = broker.log_of_request(&ordered.request_id());
    let failures = reported.iter().filter(|line| line.mentions("ODB-5002"));
    let failures: Vec<_> = failures.map(LogLine::text).collect();
    assert_eq!(failures.len(), 1, "{reported:#?}");
    assert!(failures[0].contains("redis-server/b"), "{failures:?}");
}

#[tokio::test]
async fn a_forced_deletion_goes_on_after_a_failing_errand_but_not_after_a_failing_deletion() {
    let foundation = Foundation::start().await;
    let failing = "systest_errand_failure_override";
    let broker = with_plan_property(foundation.broker(), failing, "cleanup-data".into())
        .start()
        .await;
    let platform = broker.platform();
    let instance = platform.created().await;

    let careful = delete(&broker, &instance, "").await;
    assert_eq!(careful.state, "failed", "{careful:?}");
    foundation
        .control()
        .set_task(
            TaskFault::at_step_of("Deleting instances")
                .of(&instance)
                .fails(450_001, "no"),
        )
        .await;
    let unlucky = delete(&broker, &instance, "&force=true").await;
    assert_eq!(unlucky.state, "failed", "{unlucky:?}");
    let forced = delete(&broker, &instance, "&force=true").await;

    assert_eq!(forced.state, "succeeded", "{forced:?}");
    foundation.director().expect_nothing_left().await;
    let name = format!("service-instance_{instance}");
    let errand = format!("run errand cleanup-data from deployment {name}: done");
    let history = [
        history_of_an_order(&instance),
        vec![errand.clone()],
        vec![errand.clone(), format!("delete deployment {name}: error")],
        vec![errand, format!("delete deployment {name}: done")],
    ];
    assert_eq!(foundation.director().history().await, history.concat());
}

#[tokio::test]
async fn polls_side_by_side_start_each_errand_once() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let (platform, instance) = (broker.platform(), new_id());

    let token = platform.order(&instance).await;
    let poll = || platform.end_of_operation(&instance, &token);
    let polls = tokio::join!(poll(), poll(), poll(), poll());

    for ended in [polls.0, polls.1, polls.2, polls.3] {
        assert_eq!(ended.state, "succeeded", "{ended:?}");
    }
    let history = foundation.director().history().await;
    assert_eq!(history, history_of_an_order(&instance));
}

#[tokio::test]
async fn a_broker_restarted_with_other_errands_finishes_those_that_were_begun() {
    let foundation = Foundation::start().await;
    let errands = json!({
        "post_deploy": [{ "name": "health-check" }, { "name": "cleanup-data" }],
    });
    let configuration = foundation.broker().with_lifecycle_errands(&errands);
    let mut broker = configuration.start().await;
    let (platform, instance) = (broker.platform().clone(), new_id());
    foundation
        .control()
        .set_task_fault(&errand_held(&instance))
        .await;
    let token = platform.order(&instance).await;
    reported(&broker, &instance, &token, "running health-check").await;

    broker.kill();
    foundation
        .broker()
        .with_password(broker.password())
        .with_lifecycle_errands(&Value::Null)
        .write("broker.yml");
    broker.start_again().await;
    foundation.control().clear_faults().await;

    platform.succeeds(&instance, &token).await;
    let mut history = history_of_an_order(&instance);
    history.push(format!(
        "run errand cleanup-data from deployment service-instance_{instance}: done"
    ));
    assert_eq!(foundation.director().history().await, history);
}

#[tokio::test]
async fn a_broker_killed_between_two_errands_starts_neither_again() {
    let foundation = Foundation::start().await;
    let errands = json!({
        "post_deploy": [{ "name": "health-check" }, { "name": "cleanup-data" }],
    });
    let mut broker = foundation
        .broker()
        .with_lifecycle_errands(&errands)
        .with_timing("lost_answer_in_seconds", 1)
        .start()
        .await;
    let (platform, instance, control) = (broker.platform().clone(), new_id(), foundation.control());
    let second = "POST /deployments/*/errands/cleanup-data/runs";
    let start = control
        .set(Fault::of("director", second).holds("after"))
        .await;
    let token = platform.order(&instance).await;
    control.strikes(start.id).await;

    broker.kill();
    control.clear_faults().await;
    broker.start_again().await;

    platform.succeeds(&instance, &token).await;
    let mut history = history_of_an_order(&instance);
    history.push(format!(
        "run errand cleanup-data from deployment service-instance_{instance}: done"
    ));
    assert_eq!(foundation.director().history().await, history);
}

#[tokio::test]
async fn an_errand_that_cannot_be_asked_for_does_not_pass_for_a_missing_instance() {
    let foundation = Foundation::start().await;
    let errands = json!({ "pre_delete": [{ "name": "." }] });
    let configuration = foundation.broker().with_lifecycle_errands(&errands);
    let broker = configuration.start().await;
    let platform = broker.platform();
    let instance = platform.created().await;

    let refused = platform.deprovision(&instance).await;

    refused.expect_status(500);
    let there = [format!("service-instance_{instance}")];
    assert_eq!(foundation.director().deployments().await, there);
    let known = platform.provision(&instance, &Order::small()).await;
    known.expect_status(200);
}

fn with_plan_property<'f>(
    configuration: BrokerConfiguration<'f>,
    name: &str,
    value: Value,
) -> BrokerConfiguration<'f> {
    let mut properties = json!({ "persistence": true });
    properties[name] = value;
    configuration.with("/service_catalog/plans/0/properties", properties)
}

fn errand_held(instance: &str) -> Value {
    json!({
        "deployment": format!("service-instance_{instance}"),
        "at": { "place": "step", "stage": "Running errand" },
        "effect": { "kind": "hold" },
    })
}

async fn reported(broker: &Broker, instance: &str, token: &str, text: &str) {
    eventually(text, TIMEOUT, async || {
        let poll = broker.platform().last_operation(instance, token).await;
        let description = poll.expect_status(200).description();
        if description.contains(text) {
            Ok(())
        } else {
            Err(description)
        }
    })
    .await;
}

async fn delete(broker: &Broker, instance: &str, more: &str) -> Ended {
    let platform = broker.platform();
    let order = Order::small();
    let member = |name| order.member(name).as_str().unwrap_or_default().to_owned();
    let (service, plan) = (member("service_id"), member("plan_id"));
    let path = format!(
        "/v2/service_instances/{instance}?service_id={service}&plan_id={plan}&accepts_incomplete=true{more}"
    );
    let answer = platform.send(platform.request(Method::DELETE, &path)).await;
    platform
        .end_of_operation(instance, &answer.accepted())
        .await
}
