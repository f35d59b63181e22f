//! The marketplace: offerings, plans and who sees them.

use serde_json::json;

use crate::{
    broker::FakeBroker,
    platform::{Platform, Response},
};

fn names(answer: &Response) -> Vec<&str> {
    answer.body["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn new_plans_are_for_admins_until_access_is_given() {
    let (platform, broker) = (Platform::start().await, FakeBroker::start());
    let admin = &platform.admin;
    let user = &platform.developer;
    let answer = admin
        .post("/v3/service_brokers", &broker.registration("redis-broker"))
        .await;
    admin.completed(&answer).await;
    let visibility = format!(
        "/v3/service_plans/{}/visibility",
        platform.plan("small").await
    );
    let marketplace = "/v3/service_plans?order_by=name";

    assert_eq!(names(&admin.get(marketplace).await), ["large", "small"]);
    assert!(names(&user.get(marketplace).await).is_empty());
    assert!(names(&user.get("/v3/service_offerings").await).is_empty());

    let given = admin.post(&visibility, &json!({"type": "public"})).await;
    assert_eq!(
        (given.status.as_u16(), given.body),
        (200, json!({"type": "public"}))
    );
    assert_eq!(names(&user.get(marketplace).await), ["small"]);
    assert_eq!(
        names(&platform.anonymous().get(marketplace).await),
        ["small"]
    );
    assert_eq!(
        names(&platform.anonymous().get("/v3/service_offerings").await),
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
        names(
            &platform
                .developer
                .get("/v3/service_plans?order_by=name")
                .await
        ),
        ["large", "small"]
    );
    assert_eq!(
        names(&unauthenticated_client.get("/v3/service_plans").await),
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
async fn the_marketplace_of_the_cf_command_line_comes_in_one_answer() {
    let (platform, _broker) = Platform::with_broker().await;

    let answer = platform
        .developer
        .get(&format!(
            "/v3/service_plans?available=true&fields%5Bservice_offering.service_broker%5D=name%2Cguid\
             &include=service_offering&per_page=5000&space_guids={}",
            platform.space
        ))
        .await;

    assert_eq!(answer.body["pagination"]["total_results"], 2);
    assert_eq!(
        answer.body["included"]["service_brokers"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        answer.body["included"]["service_brokers"][0]["name"],
        "redis-broker"
    );
    assert_eq!(
        answer.body["included"]["service_offerings"][0]["name"],
        "redis"
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
