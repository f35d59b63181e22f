//! The v2 API, as brokers, errands and old clients use it (`spec/contracts/platform-apis.md`, "Cloud Controller v2").

use odb_sandbox::cloud_controller::ApiGeneration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    broker::{FakeBroker, Route, catalog},
    client::{Api, Response},
    platform::{Platform, eventually},
};

async fn start() -> (Platform, FakeBroker) {
    let platform = Platform::of_generation(ApiGeneration::V2On).await;
    (platform, FakeBroker::start())
}

async fn started() -> (Platform, FakeBroker) {
    let (platform, broker) = start().await;
    platform.register(&broker).await;
    (platform, broker)
}

async fn put(api: &Api, path: &str, body: &Value) -> Response {
    api.send(Method::PUT, path, Some(body.to_string())).await
}

/// Status, code, name and text of an error.
fn rejection(answer: &Response) -> (u16, u64, &str, &str) {
    let text = |key: &str| answer.body[key].as_str().unwrap_or_default();
    (
        answer.status.as_u16(),
        answer.body["code"].as_u64().unwrap_or_default(),
        text("error_code"),
        text("description"),
    )
}

async fn ordered(platform: &Platform, name: &str) -> String {
    platform.instance("small", name).await
}

#[tokio::test]
async fn every_generation_mentions_v2_in_its_own_way() {
    // Whether `/` has a link, the version in `/v2/info` (or that it is missing), whether other paths answer.
    let table = [
        (ApiGeneration::V2Off, false, Some(""), 404),
        (ApiGeneration::V2GoneWithoutTrace, false, None, 404),
        (ApiGeneration::V2OffUntold, true, Some("2.293.0"), 404),
        (ApiGeneration::V2On, true, Some("2.293.0"), 200),
        (ApiGeneration::V3Young, true, Some("2.293.0"), 200),
    ];
    for (generation, link, version, status) in table {
        let platform = Platform::of_generation(generation).await;

        let root = platform.anonymous().get("/").await.body;
        let info = platform.anonymous().get("/v2/info").await;
        let services = platform.admin.get("/v2/services").await;

        assert_eq!(
            root["links"].get("cloud_controller_v2").is_some(),
            link,
            "{generation:?}"
        );
        let reported = (info.status == 200).then(|| info.body["api_version"].as_str().unwrap());
        assert_eq!(reported, version, "{generation:?}");
        assert_eq!(services.status, status, "{generation:?}");
        if status == 404 {
            assert_eq!(services.body, json!("V2 endpoints disabled"));
            assert!(services.header("content-type").starts_with("text/html"));
        }
        let v3 = root["links"]["cloud_controller_v3"]["meta"]["version"].clone();
        assert_eq!(
            v3 == "3.94.0",
            generation == ApiGeneration::V3Young,
            "{generation:?} {v3}"
        );
    }
}

#[tokio::test]
async fn brokers_are_reported_v2_only_while_it_is_on() {
    let (platform, broker) = started().await;
    let location = |broker: &FakeBroker| {
        broker.noted(Route::Catalog)[0].headers["x-api-info-location"].clone()
    };

    assert!(location(&broker).ends_with("/v2/info"), "{}", platform.url);
    let without = Platform::start().await;
    let other = FakeBroker::start();
    without.register(&other).await;
    assert!(location(&other).ends_with('/'));
}

#[tokio::test]
async fn the_go_brokers_way_from_the_catalog_id_to_its_instances() {
    let (platform, _broker) = started().await;
    let guid = ordered(&platform, "db").await;
    let admin = &platform.admin;

    let services = admin.get("/v2/services?results-per-page=100").await.body;
    let service = &services["resources"][0];
    assert_eq!(service["entity"]["unique_id"], "redis-id");
    assert_eq!(services["next_url"], Value::Null);
    let plans = service["entity"]["service_plans_url"].as_str().unwrap();
    let plans = admin
        .get(&format!("{plans}?results-per-page=100"))
        .await
        .body;
    let small = plans["resources"]
        .as_array()
        .unwrap()
        .iter()
        .find(|plan| plan["entity"]["unique_id"] == "small-id")
        .unwrap();
    let instances = small["entity"]["service_instances_url"].as_str().unwrap();
    let page = admin
        .get(&format!("{instances}?results-per-page=100"))
        .await
        .body;
    assert_eq!(page["total_results"], 1);
    assert_eq!(page["resources"][0]["metadata"]["guid"], guid.as_str());
    assert_eq!(
        page["resources"][0]["entity"]["space_guid"],
        platform.space.as_str()
    );
    let elsewhere = admin
        .get(&format!("{instances}?q=space_guid:elsewhere"))
        .await
        .body;
    assert_eq!(elsewhere["total_results"], 0);
    let of_instance = admin
        .get(&format!("/v2/service_plans?q=service_instance_guid:{guid}"))
        .await
        .body;
    assert_eq!(
        of_instance["resources"][0]["entity"]["maintenance_info"]["version"],
        "1.2.0"
    );
}

#[tokio::test]
async fn organizations_and_spaces_are_found_by_name() {
    let (platform, _broker) = start().await;
    let admin = &platform.admin;

    let found = admin.get("/v2/organizations?q=name:acme").await.body;
    let spaces = found["resources"][0]["entity"]["spaces_url"]
        .as_str()
        .unwrap()
        .to_owned();
    let space = admin
        .get(&format!("{spaces}?q=name:development"))
        .await
        .body;

    assert_eq!(
        space["resources"][0]["metadata"]["guid"],
        platform.space.as_str()
    );
    let no_user = admin.get(&format!("{spaces}?q=name:none")).await.body;
    assert_eq!(no_user["total_results"], 0);
}

#[tokio::test]
async fn pages_follow_each_other_by_relative_urls() {
    let (platform, _broker) = started().await;
    let user = &platform.developer;
    for name in ["a", "b", "c"] {
        ordered(&platform, name).await;
    }
    let plan = platform.plan("small").await;
    let list = format!("/v2/service_plans/{plan}/service_instances");

    let mut next = Some(format!("{list}?results-per-page=2"));
    let (mut names, mut pages) = (Vec::new(), Vec::new());
    while let Some(path) = next.take() {
        let page = user.get(&path).await.body;
        for row in page["resources"].as_array().unwrap() {
            names.push(row["entity"]["name"].as_str().unwrap().to_owned());
        }
        next = page["next_url"].as_str().map(str::to_owned);
        pages.extend(next.clone());
    }

    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(
        pages,
        [format!(
            "{list}?order-direction=asc&page=2&results-per-page=2"
        )]
    );
    let too_many = user.get(&format!("{list}?results-per-page=101")).await;
    assert_eq!(rejection(&too_many).1, 10005);
}

#[tokio::test]
async fn an_instance_is_upgraded_and_deleted_while_the_broker_takes_its_time() {
    let (platform, broker) = started().await;
    let user = &platform.developer;
    let path = format!("/v2/service_instances/{}", ordered(&platform, "db").await);
    broker.takes_its_time();
    broker.ends("succeeded", "done");
    let mut newer = catalog();
    newer["services"][0]["plans"][0]["maintenance_info"] = json!({"version": "1.3.0"});
    broker.answers(Route::Catalog, 200, newer);
    update_broker(&platform, &broker).await;
    let answer = put(
        user,
        &format!("{path}?accepts_incomplete=true"),
        &json!({"maintenance_info": {"version": "1.3.0"}}),
    )
    .await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    assert_eq!(answer.header("location"), path);
    assert_eq!(answer.body["metadata"]["url"], path.as_str());
    assert_eq!(answer.body["entity"]["last_operation"]["type"], "update");
    let upgraded = succeeded(&platform, &path, "update").await;
    assert_eq!(upgraded["maintenance_info"], json!({"version": "1.3.0"}));

    let answer = user
        .delete(&format!("{path}?accepts_incomplete=true"))
        .await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    eventually("the instance is gone", async || {
        let answer = user.get(&path).await;
        (answer.status == 404).then_some(())
    })
    .await;
    let gone = user.get(&path).await;
    assert_eq!(rejection(&gone).1, 60004);
}

async fn succeeded(platform: &Platform, path: &str, kind: &str) -> Value {
    eventually("the operation succeeds", async || {
        let entity = platform.developer.get(path).await.body["entity"].clone();
        let last = &entity["last_operation"];
        (last["type"] == kind && last["state"] == "succeeded").then_some(entity)
    })
    .await
}

async fn update_broker(platform: &Platform, broker: &FakeBroker) {
    let admin = &platform.admin;
    let brokers = admin.get("/v2/service_brokers").await.body;
    let path = brokers["resources"][0]["metadata"]["url"].as_str().unwrap();
    let answer = put(admin, path, &v2_registration(broker)).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

fn v2_registration(broker: &FakeBroker) -> Value {
    let v3 = broker.registration("redis-broker");
    let credentials = &v3["authentication"]["credentials"];
    json!({
        "name": v3["name"], "broker_url": v3["url"],
        "auth_username": credentials["username"], "auth_password": credentials["password"],
    })
}

#[tokio::test]
async fn what_the_broker_refuses_is_reported_in_its_words() {
    let (platform, broker) = started().await;
    let user = &platform.developer;
    let path = format!("/v2/service_instances/{}", ordered(&platform, "db").await);

    broker.answers(
        Route::Deprovision,
        422,
        json!({"error": "AsyncRequired", "description": "no"}),
    );
    let needs_time = user.delete(&path).await;
    broker.answers(
        Route::Deprovision,
        500,
        json!({"description": "out of disks"}),
    );
    let failed = user.delete(&path).await;

    assert_eq!(
        rejection(&needs_time),
        (
            400,
            10001,
            "CF-AsyncRequired",
            "Service instance db: This service plan requires client support for asynchronous service operations."
        )
    );
    assert_eq!(
        rejection(&failed),
        (
            502,
            10001,
            "CF-ServiceBrokerBadResponse",
            "Service instance db: Service broker error: out of disks"
        )
    );
    assert_eq!(
        failed.body["http"],
        json!({"method": "DELETE", "status": 500})
    );
    let asked = &broker.noted(Route::Deprovision)[0].query;
    assert!(
        !asked.contains("accepts_incomplete"),
        "the broker is not given time that the client does not have: {asked}"
    );
}

#[tokio::test]
async fn bindings_and_keys_prevent_a_delete() {
    let (platform, broker) = started().await;
    let user = &platform.developer;
    let guid = ordered(&platform, "db").await;
    let app = platform.app("shop").await;
    let binding = platform.binds(&app, &guid).await;
    user.completed(&binding).await;
    let key = platform.asks_for_key(&guid).await;
    user.completed(&key).await;
    let path = format!("/v2/service_instances/{guid}");

    let refused = user.delete(&path).await;
    assert_eq!(
        (rejection(&refused).0, rejection(&refused).1),
        (400, 10006),
        "{}",
        refused.body
    );

    let bindings = user
        .get(&format!("{path}/service_bindings?results-per-page=100"))
        .await
        .body;
    let found = &bindings["resources"][0];
    assert_eq!(found["entity"]["app_guid"], app.as_str());
    assert_eq!(
        found["entity"]["credentials"],
        json!({"password": "s3cr3t"})
    );
    let unbind = format!(
        "/v2/apps/{app}/service_bindings/{}",
        found["metadata"]["guid"].as_str().unwrap()
    );
    assert_eq!(user.delete(&unbind).await.status, 204);
    let keys = user
        .get(&format!("{path}/service_keys?results-per-page=100"))
        .await
        .body;
    let key = keys["resources"][0]["metadata"]["url"].as_str().unwrap();
    assert_eq!(user.delete(key).await.status, 204);
    assert_eq!(user.delete(&path).await.status, 204);
    assert_eq!(broker.noted(Route::Unbind).len(), 2);
    assert_eq!(
        broker.noted(Route::Unbind)[1].query,
        "plan_id=small-id&service_id=redis-id"
    );
}

#[tokio::test]
async fn routes_and_shares_prevent_a_delete_too() {
    let (platform, _) = start().await;
    let mut catalog = catalog();
    catalog["services"][0]["metadata"]["shareable"] = json!(true);
    let other = FakeBroker::with_catalog(catalog);
    platform.register(&other).await;
    let guid = ordered(&platform, "db").await;
    let path = format!("/v2/service_instances/{guid}");
    let admin = &platform.admin;
    let flag = "/v3/feature_flags/service_instance_sharing";
    admin.patch(flag, &json!({"enabled": true})).await;
    let spaces = admin.get("/v3/spaces?names=elsewhere").await.body;
    let space = spaces["resources"][0]["guid"].as_str().unwrap();
    let shares = format!("/v3/service_instances/{guid}/relationships/shared_spaces");
    let sharing = admin
        .post(&shares, &json!({"data": [{"guid": space}]}))
        .await;
    assert_eq!(sharing.status, 200, "{}", sharing.body);

    let refused = admin.delete(&path).await;
    let (status, code, name, text) = rejection(&refused);
    assert_eq!((status, code), (422, 390_002));
    assert_eq!(name, "CF-ServiceInstanceDeletionSharesExists");
    assert!(text.contains("must be unshared"), "{text}");
    let unshared = admin.delete(&format!("{shares}/{space}")).await;
    assert_eq!(unshared.status, 204);
    assert_eq!(admin.delete(&path).await.status, 204);
}

#[tokio::test]
async fn a_route_service_is_unbound_from_a_route() {
    let (platform, _) = start().await;
    let mut catalog = catalog();
    catalog["services"][0]["requires"] = json!(["route_forwarding"]);
    let broker = FakeBroker::with_catalog(catalog);
    broker.answers(
        Route::Bind,
        201,
        json!({"route_service_url": "https://proxy.example"}),
    );
    platform.register(&broker).await;
    let guid = ordered(&platform, "proxy").await;
    let path = format!("/v2/service_instances/{guid}");
    let user = &platform.developer;
    let domains = user.get("/v3/domains").await.body;
    let route = json!({"host": "www", "relationships": {
        "space": {"data": {"guid": platform.space}},
        "domain": {"data": {"guid": domains["resources"][0]["guid"]}},
    }});
    let route = user.post("/v3/routes", &route).await.body["guid"].clone();
    let binding = json!({"relationships": {
        "route": {"data": {"guid": route}}, "service_instance": {"data": {"guid": guid}},
    }});
    let begun = user.post("/v3/service_route_bindings", &binding).await;
    assert_eq!(begun.status, 202, "{}", begun.body);
    let routes = format!("{path}/routes?results-per-page=100");
    let found = eventually("the route is bound", async || {
        let found = user.get(&routes).await.body;
        (found["total_results"] == 1).then_some(found)
    })
    .await;
    let found = &found["resources"][0];
    assert_eq!(
        (&found["metadata"]["guid"], &found["entity"]["host"]),
        (&route, &json!("www"))
    );

    assert_eq!(rejection(&user.delete(&path).await).1, 10006);
    let one = format!("{path}/routes/{}", route.as_str().unwrap());
    assert_eq!(user.delete(&one).await.status, 204);
    assert_eq!(broker.noted(Route::Unbind).len(), 1);
    let again = user.delete(&one).await;
    assert_eq!((rejection(&again).0, rejection(&again).1), (400, 1002));
    assert_eq!(user.get(&routes).await.body["total_results"], 0);
    assert_eq!(user.delete(&path).await.status, 204);
}

#[tokio::test]
async fn the_errand_registers_enables_restricts_and_deregisters() {
    let (platform, broker) = start().await;
    let user = &platform.developer;
    let admin = &platform.admin;

    let made = admin
        .post("/v2/service_brokers", &v2_registration(&broker))
        .await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert!(!made.body.to_string().contains("pass:word"));
    let again = admin
        .post("/v2/service_brokers", &v2_registration(&broker))
        .await;
    assert_eq!(rejection(&again).1, 270_002);
    let plans = admin.get("/v2/service_plans").await.body;
    let plan = plans["resources"][0]["metadata"]["guid"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/v2/service_plans/{plan}");
    let public = put(admin, &path, &json!({"public": true})).await;
    assert_eq!(
        (public.status.as_u16(), &public.body["entity"]["public"]),
        (201, &json!(true))
    );
    assert_eq!(
        put(admin, &path, &json!({"public": false})).await.status,
        201
    );
    let visibility = json!({"service_plan_guid": plan, "organization_guid": platform.organization});
    let given = admin
        .post("/v2/service_plan_visibilities", &visibility)
        .await;
    assert_eq!(given.status, 201, "{}", given.body);
    let twice = admin
        .post("/v2/service_plan_visibilities", &visibility)
        .await;
    assert_eq!(rejection(&twice).1, 260_002);
    let visible = user.get(&path).await;
    assert_eq!(visible.status, 200, "the organization sees it now");
    let all = admin
        .get(&format!(
            "/v2/service_plan_visibilities?q=service_plan_guid:{plan}&results-per-page=100"
        ))
        .await
        .body;
    let one = all["resources"][0]["metadata"]["guid"].as_str().unwrap();
    assert_eq!(
        admin
            .delete(&format!("/v2/service_plan_visibilities/{one}"))
            .await
            .status,
        204
    );
    assert_eq!(user.get(&path).await.status, 404);
    let broker_url = made.body["metadata"]["url"].as_str().unwrap();
    assert_eq!(admin.delete(broker_url).await.status, 204);
    assert_eq!(
        rejection(&admin.delete(broker_url).await).1,
        270_004,
        "it is gone"
    );
}

#[tokio::test]
async fn a_catalog_that_is_refused_leaves_no_broker_behind() {
    let platform = Platform::of_generation(ApiGeneration::V2On).await;
    let admin = &platform.admin;
    let broker = FakeBroker::with_catalog(json!({"services": []}));

    let answer = admin
        .post("/v2/service_brokers", &v2_registration(&broker))
        .await;

    assert_eq!(
        rejection(&answer),
        (
            502,
            270_012,
            "CF-ServiceBrokerCatalogInvalid",
            "Service broker catalog is invalid: \nService broker must provide at least one service\n"
        )
    );
    let list = admin.get("/v2/service_brokers").await.body;
    assert_eq!(list["total_results"], 0);
}

#[tokio::test]
async fn errors_have_the_form_of_v2() {
    let (platform, _broker) = start().await;
    let admin = &platform.admin;

    let unknown = admin.get("/v2/nothing").await;
    assert_eq!(
        rejection(&unknown),
        (404, 10000, "CF-NotFound", "Unknown request")
    );
    let anonymous = platform.anonymous().get("/v2/services").await;
    assert_eq!(
        rejection(&anonymous),
        (401, 10002, "CF-NotAuthenticated", "Authentication error")
    );
    let invalid = platform.with_token("nonsense").get("/v2/services").await;
    assert_eq!(rejection(&invalid).1, 1000);
    let forbidden = platform
        .developer
        .post("/v2/service_brokers", &json!({}))
        .await;
    assert_eq!(rejection(&forbidden).1, 10003);
    let garbled = admin
        .send(Method::POST, "/v2/service_brokers", Some("{".to_owned()))
        .await;
    assert_eq!(rejection(&garbled).1, 1001);
}
