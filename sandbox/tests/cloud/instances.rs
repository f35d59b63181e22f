//! The life of an instance.

use serde_json::json;

use crate::{
    broker::{FakeBroker, Route},
    platform::{Platform, eventually},
};

#[tokio::test]
async fn an_ordered_instance_exists_before_the_broker_answers_and_shows_its_progress() {
    let (platform, broker) = Platform::with_broker().await;
    let user = &platform.developer;
    broker.takes_its_time();

    let answer = platform.orders("small", "db").await;
    let guid = platform.guid("db").await;
    let reported = eventually("the broker's description is shown", async || {
        let last = platform.shown(&guid).await["last_operation"].clone();
        (last["description"] == "on it").then_some(last)
    })
    .await;
    let job = user.get(&answer.location()).await.body;

    assert_eq!(
        (&reported["type"], &reported["state"]),
        (&json!("create"), &json!("in progress"))
    );
    assert_eq!(
        (&job["state"], &job["operation"]),
        (&json!("POLLING"), &json!("service_instance.create"))
    );
    broker.ends("succeeded", "all done");
    user.completed(&answer).await;
    let done = platform.shown(&guid).await;
    assert_eq!(
        (
            &done["last_operation"]["state"],
            &done["last_operation"]["description"]
        ),
        (&json!("succeeded"), &json!("all done"))
    );
    assert_eq!(
        done["maintenance_info"],
        json!({"version": "1.2.0", "description": "jammy 1.80"})
    );
    assert_eq!(
        (&done["type"], &done["upgrade_available"]),
        (&json!("managed"), &json!(false))
    );
    assert_eq!(platform.shown(&guid).await["tags"], json!([]));
}

#[tokio::test]
async fn what_the_developer_may_not_see_cannot_be_ordered() {
    let (platform, broker) = (Platform::start().await, FakeBroker::start());
    let admin = &platform.admin;
    platform.register_hidden(&broker).await;
    let mut order = platform.order("small", "db").await;

    let hidden_plan = platform
        .developer
        .post("/v3/service_instances", &order)
        .await;
    order["relationships"]["space"]["data"]["guid"] = json!("elsewhere");
    let foreign_space = admin.post("/v3/service_instances", &order).await;

    assert!(
        hidden_plan
            .rejection()
            .3
            .starts_with("Invalid service plan."),
        "{}",
        hidden_plan.body
    );
    assert!(
        foreign_space.rejection().3.starts_with("Invalid space."),
        "{}",
        foreign_space.body
    );
    assert!(broker.noted(Route::Provision).is_empty());
}

#[tokio::test]
async fn a_change_asks_the_broker_only_if_it_must() {
    let (platform, broker) = Platform::with_broker().await;
    let guid = platform.instance("small", "db").await;
    let path = format!("/v3/service_instances/{guid}");
    let current = json!({"maintenance_info": {"version": "1.2.0"}});

    let renamed = platform
        .developer
        .patch(&path, &json!({"name": "cache", "tags": ["x"]}))
        .await;
    let current = platform.developer.patch(&path, &current).await;

    assert_eq!(
        (renamed.status.as_u16(), &renamed.body["name"]),
        (200, &json!("cache"))
    );
    assert_eq!(current.status, 200);
    assert!(broker.noted(Route::Update).is_empty());
    let moved = json!({"relationships": {"service_plan": {"data": {"guid": platform.plan("large").await}}}});
    let moved = platform.developer.patch(&path, &moved).await;
    platform.developer.completed(&moved).await;
    let shown = platform.shown(&guid).await;
    assert_eq!(
        shown["relationships"]["service_plan"]["data"]["guid"],
        platform.plan("large").await
    );
    assert_eq!(
        (&shown["maintenance_info"], &shown["upgrade_available"]),
        (&json!({}), &json!(false))
    );
}

#[tokio::test]
async fn an_upgrade_is_offered_when_the_plan_has_moved_on() {
    let (platform, broker) = Platform::with_broker().await;
    let user = &platform.developer;
    let guid = platform.instance("small", "db").await;
    let path = format!("/v3/service_instances/{guid}");
    let mut newer = crate::broker::catalog();
    newer["services"][0]["plans"][0]["maintenance_info"] =
        json!({"version": "1.3.0", "description": "jammy 1.90"});
    broker.answers(Route::Catalog, 200, newer);
    let refreshed = platform.update_broker(&broker).await;
    platform.admin.completed(&refreshed).await;

    assert_eq!(platform.shown(&guid).await["upgrade_available"], true);
    let wrong = user
        .patch(&path, &json!({"maintenance_info": {"version": "9.0.0"}}))
        .await;
    assert_eq!(wrong.rejection().1, 390_009);
    let upgraded = user
        .patch(&path, &json!({"maintenance_info": {"version": "1.3.0"}}))
        .await;
    user.completed(&upgraded).await;

    let shown = platform.shown(&guid).await;
    let version_alone = json!({"version": "1.3.0"});
    assert_eq!(shown["upgrade_available"], false);
    assert_eq!(shown["maintenance_info"], version_alone);
    let body = &broker.noted(Route::Update)[0].body;
    assert_eq!(body["maintenance_info"], version_alone);
    assert_eq!(
        body["previous_values"]["maintenance_info"],
        json!({"version": "1.2.0", "description": "jammy 1.80"})
    );
    assert_eq!(body["parameters"], json!({}));
}

#[tokio::test]
async fn one_operation_at_a_time() {
    let (platform, broker) = Platform::with_broker().await;
    let user = &platform.developer;
    let guid = platform.instance("small", "db").await;
    let path = format!("/v3/service_instances/{guid}");
    broker.takes_its_time();
    let running = user.patch(&path, &json!({"parameters": {"x": 1}})).await;
    assert_eq!(running.status, 202);

    let change = user.patch(&path, &json!({"parameters": {"x": 2}})).await;
    let delete = user.delete(&path).await;
    let key = platform.asks_for_key(&guid).await;

    assert_eq!((change.rejection().0, change.rejection().1), (409, 60016));
    assert_eq!(delete.rejection().0, 422);
    assert_eq!(key.rejection().0, 422);
    broker.ends("succeeded", "");
    user.completed(&running).await;
    assert_eq!(broker.noted(Route::Update).len(), 1);
}

#[tokio::test]
async fn a_delete_takes_keys_along_and_ends_when_the_broker_knows_nothing_any_more() {
    let (platform, broker) = Platform::with_broker().await;
    let user = &platform.developer;
    let guid = platform.instance("small", "db").await;
    let key = platform.asks_for_key(&guid).await;
    user.completed(&key).await;
    broker.takes_its_time();
    broker.answers(Route::LastOperation, 410, json!({}));

    let deleted = platform.deletes(&guid).await;
    let job = user.completed(&deleted).await;

    assert_eq!(job["operation"], "service_instance.delete");
    assert!(job["links"].get("service_instance").is_none(), "{job}");
    assert_eq!(
        platform.shown(&guid).await["errors"][0]["detail"],
        "Service instance not found"
    );
    assert_eq!(
        (
            broker.noted(Route::Unbind).len(),
            broker.noted(Route::Deprovision).len()
        ),
        (1, 1)
    );
}

#[tokio::test]
async fn jobs_stop_with_the_cloud_controller() {
    let (platform, broker) = Platform::with_broker().await;
    broker.takes_its_time();
    platform.orders("small", "db").await;
    eventually("the broker is polled", async || {
        (!broker.noted(Route::LastOperation).is_empty()).then_some(())
    })
    .await;

    platform.stop().await;
}
