//! The marketplace: offerings, plans and who sees them.

use serde_json::json;

use crate::{broker::FakeBroker, platform::Platform};

#[tokio::test]
async fn new_plans_are_for_admins_until_access_is_given() {
    let (platform, broker) = (Platform::start().await, FakeBroker::start());
    let admin = &platform.admin;
    let user = &platform.developer;
    platform.register_hidden(&broker).await;
    let visibility = format!(
        "/v3/service_plans/{}/visibility",
        platform.plan("small").await
    );
    let marketplace = "/v3/service_plans?order_by=name";

    assert_eq!(admin.get(marketplace).await.names(), ["large", "small"]);
    assert!(user.get(marketplace).await.names().is_empty());
    assert!(user.get("/v3/service_offerings").await.names().is_empty());

    let given = admin.post(&visibility, &json!({"type": "public"})).await;
    assert_eq!(
        (given.status.as_u16(), given.body),
        (200, json!({"type": "public"}))
    );
    assert_eq!(user.get(marketplace).await.names(), ["small"]);
    assert_eq!(
        platform.anonymous().get(marketplace).await.names(),
        ["small"]
    );
    assert_eq!(
        platform
            .anonymous()
            .get("/v3/service_offerings")
            .await
            .names(),
        ["redis"]
    );
}

#[tokio::test]
async fn a_plan_may_be_for_some_organizations() {
    let (platform, _broker) = Platform::with_broker().await;
    let admin = &platform.admin;
    let visibility = format!(
        "/v3/service_plans/{}/visibility",
        platform.plan("small").await
    );
    let acme = json!({"type": "organization", "organizations": [{"guid": platform.organization}]});
    let unauthenticated_client = platform.log_in("outsider").await;

    let limited = admin.patch(&visibility, &acme).await;
    assert_eq!(limited.body["organizations"][0]["name"], "acme");
    assert_eq!(
        platform
            .developer
            .get("/v3/service_plans?order_by=name")
            .await
            .names(),
        ["large", "small"]
    );
    assert_eq!(
        unauthenticated_client
            .get("/v3/service_plans")
            .await
            .names(),
        ["large"]
    );

    let withdrawn = admin
        .delete(&format!("{visibility}/{}", platform.organization))
        .await;
    assert_eq!(withdrawn.status, 204);
    assert_eq!(admin.get(&visibility).await.body, json!({"type": "admin"}));
    assert_eq!(
        admin
            .patch(&visibility, &json!({"type": "organization"}))
            .await
            .rejection()
            .0,
        400
    );
}

#[tokio::test]
async fn offering_and_plan_show_what_the_catalog_contains() {
    let (platform, _broker) = Platform::with_broker().await;
    let admin = &platform.admin;

    let offering = &admin
        .get("/v3/service_offerings?broker_catalog_ids=redis-id")
        .await
        .body["resources"][0];
    let plan = &admin
        .get("/v3/service_plans?broker_catalog_ids=small-id")
        .await
        .body["resources"][0];

    let redactions = [
        ("guid", "[guid]"),
        ("created_at", "[moment]"),
        ("updated_at", "[moment]"),
    ];
    let shown = |resource: &serde_json::Value| {
        let mut resource = resource.clone();
        for (key, text) in redactions {
            resource[key] = json!(text);
        }
        resource["links"].take();
        resource["relationships"].take();
        format!("{resource:#}")
    };
    insta::assert_snapshot!("offering", shown(offering));
    insta::assert_snapshot!("plan", shown(plan));
    assert_eq!(
        plan["relationships"]["service_offering"]["data"]["guid"],
        offering["guid"]
    );
    assert_eq!(
        offering["relationships"]["service_broker"]["data"]["name"],
        "redis-broker"
    );
}
