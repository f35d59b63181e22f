//! The state of a restarted Cloud Controller, and seeded fleets.

use jiff::Timestamp;
use odb_sandbox::{
    cloud_controller::{SeedError, SeededInstance, SeededState},
    store::Store,
};
use serde_json::json;
use uuid::Uuid;

use crate::{broker::FakeBroker, platform::Platform};

#[tokio::test]
async fn everything_is_there_again_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let broker = FakeBroker::start();
    let store = Store::open(folder.path()).unwrap();
    let before = Platform::adapted(&store, |_| {}).await;
    before.register(&broker).await;
    let guid = before.instance("small", "db").await;
    let path = format!("/v3/service_instances/{guid}");
    before
        .developer
        .patch(&path, &json!({"metadata": {"labels": {"tier": "gold"}}}))
        .await;
    before.stop().await;
    store.close();

    let store = Store::open(folder.path()).unwrap();
    let after = Platform::adapted(&store, |_| {}).await;

    assert_eq!(
        (&after.space, &after.organization),
        (&before.space, &before.organization)
    );
    let found = after.developer.get("/v3/service_instances?names=db").await;
    let found = &found.body["resources"][0];
    assert_eq!(found["guid"], json!(guid));
    assert_eq!(found["metadata"]["labels"], json!({"tier": "gold"}));
    let deleted = after.developer.delete(&path).await;
    after.developer.completed(&deleted).await;
    assert_eq!(
        broker.noted(crate::broker::Route::Deprovision).len(),
        1,
        "the broker's password is known still"
    );
}

#[tokio::test]
async fn what_was_in_progress_at_a_restart_has_failed_and_can_be_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let broker = FakeBroker::start();
    let store = Store::open(folder.path()).unwrap();
    let before = Platform::adapted(&store, |_| {}).await;
    before.register(&broker).await;
    broker.takes_its_time();
    let order = before.order("small", "db").await;
    let answer = before.developer.post("/v3/service_instances", &order).await;
    let location = answer.location();
    let job = location.strip_prefix(&before.url).unwrap().to_owned();
    before.stop().await;
    store.close();

    let store = Store::open(folder.path()).unwrap();
    let after = Platform::adapted(&store, |_| {}).await;

    assert_eq!(after.developer.get(&job).await.body["state"], "FAILED");
    let path = format!("/v3/service_instances/{}", after.guid("db").await);
    let instance = after.developer.get(&path).await.body;
    assert_eq!(instance["last_operation"]["state"], "failed");
    broker.ends("succeeded", "");
    let deleted = after.developer.delete(&path).await;
    after.developer.completed(&deleted).await;
}

fn seeded(platform: &Platform, plan: &str, number: usize, state: SeededState) -> SeededInstance {
    SeededInstance {
        guid: Uuid::new_v4(),
        name: format!("db-{number:04}"),
        space: platform.space.clone(),
        plan: plan.to_owned(),
        maintenance_version: None,
        state,
        created_at: Timestamp::now(),
    }
}

#[tokio::test]
async fn a_fleet_is_listed_page_by_page_and_counted_by_plan() {
    let (platform, broker) = Platform::with_broker().await;
    let admin = &platform.admin;
    let plans = platform.controller.seedable_plans("redis-broker");
    assert_eq!(plans.len(), 2);
    let fleet = (0..5_000).map(|number| {
        let state = match number % 100 {
            0 => SeededState::CreateFailed("no room".to_owned()),
            1 => SeededState::UpdateFailed("no room".to_owned()),
            _ => SeededState::Created,
        };
        seeded(&platform, &plans[number % 2].guid, number, state)
    });
    platform.controller.seed(fleet.collect()).unwrap();

    let mut guids = std::collections::BTreeSet::new();
    let mut next = Some("/v3/service_instances?order_by=name&per_page=1000".to_owned());
    while let Some(path) = next {
        let page = admin.get(&path).await.body;
        assert_eq!(page["pagination"]["total_results"], 5_000);
        for row in page["resources"].as_array().unwrap() {
            guids.insert(row["guid"].as_str().unwrap().to_owned());
        }
        let href = page["pagination"]["next"]["href"].as_str();
        next = href.map(str::to_owned);
    }
    assert_eq!(guids.len(), 5_000);
    let counted = admin
        .get(&format!(
            "/v3/service_instances?per_page=1&service_plan_guids={}",
            plans[0].guid
        ))
        .await;
    assert_eq!(counted.total(), 2_500);
    let failed = admin.get("/v3/service_instances?names=db-0000").await;
    assert_eq!(
        failed.body["resources"][0]["last_operation"]["description"],
        "no room"
    );
    let asked = broker.noted(crate::broker::Route::Provision);
    assert!(asked.is_empty(), "the broker knows nothing of them");
}

#[tokio::test]
async fn a_fleet_is_there_as_a_whole_or_not_at_all() {
    let (platform, _broker) = Platform::with_broker().await;
    let plan = platform.plan("small").await;
    let good = seeded(&platform, &plan, 1, SeededState::Created);
    let bad = SeededInstance {
        plan: "no-plan".to_owned(),
        ..seeded(&platform, &plan, 2, SeededState::Created)
    };

    let refused = platform.controller.seed(vec![good, bad]);

    assert_eq!(refused, Err(SeedError::NoPlan("no-plan".to_owned())));
    let left = platform.admin.get("/v3/service_instances").await;
    assert_eq!(left.body["resources"], json!([]));
}
