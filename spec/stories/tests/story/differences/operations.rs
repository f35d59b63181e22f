//! The outcome of an operation.

use odb_stories::{Foundation, Order, Platform, new_id};
use serde_json::{Value, json};
use tokio::task::LocalSet;

/// moment got the end before it.
#[tokio::test]
async fn many_polls_at_once_begin_no_step_twice_and_see_the_end_when_it_has_come() {
    let foundation = Foundation::start().await;
    let director = foundation.director();
    let errands = json!([{ "name": "health-check" }, { "name": "cleanup-data" }]);
    let broker = foundation
        .broker()
        .with_lifecycle_errands(&json!({ "post_deploy": errands, "pre_delete": errands }))
        .start()
        .await;
    let (platform, instance) = (broker.platform(), new_id());
    let errand =
        |name: &str| format!("run errand {name} from deployment service-instance_{instance}: done");
    let errands = [errand("health-check"), errand("cleanup-data")];
    let mut wanted = vec!["create deployment: done".to_owned()];
    wanted.extend(errands.clone());

    let ordered = platform.provision(&instance, &Order::small()).await;
    for reported in polled_by_eight(platform, &instance, &ordered.accepted(), &foundation).await {
        assert_eq!(reported, ("succeeded".to_owned(), wanted.clone()));
    }
    wanted.extend(errands);
    wanted.push(format!(
        "delete deployment service-instance_{instance}: done"
    ));
    let deletion = platform.deprovision(&instance).await;
    for (state, history) in
        polled_by_eight(platform, &instance, &deletion.accepted(), &foundation).await
    {
        assert!(["succeeded", "gone"].contains(&state.as_str()), "{state}");
        assert_eq!(history, wanted);
    }
    assert_eq!(director.configs().await, Vec::<Value>::new());
}

/// 14: the token of a delete that found nothing to delete, or whose task the Director has dropped, was an error for
/// ever.
#[tokio::test]
async fn a_task_that_the_director_does_not_know_ends_with_the_truth_about_the_instance() {
    let (foundation, mut broker) = Foundation::setup().start_with_broker().await;
    let (deleted, living) = (new_id(), new_id());
    let platform = broker.platform().clone();
    for instance in [&deleted, &living] {
        platform.create(instance).await;
    }
    let token = platform.deprovision(&deleted).await.accepted();
    platform.end_of_operation(&deleted, &token).await;
    // The memory of the process would also have the answer.
    broker.stop().await;
    broker.start_again().await;

    for task in [0, 4_000_000] {
        let reported = platform
            .last_operation(&deleted, &go_token(task, "delete"))
            .await;
        assert_eq!(reported.expect_status(410).json(), json!({}));
        for kind in ["create", "update"] {
            let reported = platform
                .last_operation(&living, &go_token(task, kind))
                .await;
            assert_eq!(reported.expect_status(200).json()["state"], "succeeded");
        }
    }
    let left = foundation.director().deployments().await;
    assert_eq!(left, [format!("service-instance_{living}")]);
}

/// 42: what a failed order left behind with the platform could not be deleted.
#[tokio::test]
async fn a_developer_is_rid_of_an_instance_that_never_came_to_be() {
    let foundation = Foundation::start().await;
    let adapter = foundation
        .adapters()
        .script(r"read_input; as_redis | sed 's/vm_type: small/vm_type: enormous/'");
    let broker = foundation.broker().with_adapter(&adapter).start().await;
    let (cf, director) = (foundation.cf(), foundation.director());
    cf.register(&broker).await;

    let order = ["create-service", "redis", "small", "cache", "--wait"];
    cf.run(&order).await.failed();
    let deletion = ["delete-service", "cache", "--wait"];
    cf.run(&deletion).await.succeeded();

    director.expect_nothing_left().await;
    let services = cf.run(&["services"]).await.succeeded();
    assert!(!services.contains("cache"), "{services}");
}

/// A token as the Go broker makes it.
fn go_token(task: u64, kind: &str) -> String {
    json!({ "BoshTaskID": task, "OperationType": kind, "PostDeployErrand": {}, "PreDeleteErrand": {} })
        .to_string()
}

/// The final answer to each of eight pollers, and the Director's state at that time.
async fn polled_by_eight(
    platform: &Platform,
    instance: &str,
    token: &str,
    foundation: &Foundation,
) -> Vec<(String, Vec<String>)> {
    // Waiting is not `Send`.
    let together = LocalSet::new();
    let polls = (0..8).map(|_| {
        let (platform, director) = (platform.clone(), foundation.director());
        let (instance, token) = (instance.to_owned(), token.to_owned());
        together.spawn_local(async move {
            let ended = platform.end_of_operation(&instance, &token).await;
            (ended.state, director.history().await)
        })
    });
    let polls: Vec<_> = polls.collect();
    together.await;
    let mut reported = Vec::new();
    for poll in polls {
        reported.push(poll.await.expect("it is not cancelled"));
    }
    reported
}
