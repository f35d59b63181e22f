//! The operator's commands for brokers, access and offerings.

use reqwest::Method;
use serde_json::json;

use super::{
    instance, marketplace, one_offering, registration,
    terminal::{Terminal, call, get, job},
};
use crate::{
    broker::{FakeBroker, Route},
    platform::Platform,
};

#[tokio::test]
async fn brokers_are_registered_corrected_listed_and_removed() {
    let (platform, broker) = (Platform::start().await, FakeBroker::start());
    let mut admin = Terminal::of(&platform, &platform.admin);
    let whole = registration(&broker);
    let correction = json!({"authentication": whole["authentication"], "url": whole["url"]});
    let look_up = || {
        get("/v3/service_brokers?names=redis-broker&page=1&per_page=1")
            .keeps("broker", "/resources/0/guid")
    };

    admin
        .plays(
            "cf create-service-broker",
            [job(Method::POST, "/v3/service_brokers", Some(whole))],
        )
        .await;
    admin
        .plays(
            "cf update-service-broker",
            [
                look_up(),
                job(
                    Method::PATCH,
                    "/v3/service_brokers/{broker}",
                    Some(correction),
                ),
            ],
        )
        .await;
    admin
        .plays(
            "cf service-brokers",
            [get("/v3/service_brokers").reads("/resources/0/name", "redis-broker")],
        )
        .await;
    admin
        .plays(
            "cf delete-service-broker -f",
            [
                look_up(),
                job(Method::DELETE, "/v3/service_brokers/{broker}", None),
            ],
        )
        .await;
}

#[tokio::test]
async fn access_is_given_shown_and_taken() {
    let (platform, broker) = (Platform::start().await, FakeBroker::start());
    let registered = platform
        .admin
        .post("/v3/service_brokers", &registration(&broker))
        .await;
    platform.admin.completed(&registered).await;
    let mut admin = Terminal::of(&platform, &platform.admin);
    let small = || {
        get("/v3/service_plans?names=small&service_offering_guids={offering}")
            .reads("/pagination/total_results", 1)
            .keeps("plan", "/resources/0/guid")
    };
    let visibility = "/v3/service_plans/{plan}/visibility";
    let org = json!({"type": "organization", "organizations": [{"guid": "{org}"}]});

    admin
        .plays(
            "cf enable-service-access redis -p small -o acme",
            [
                one_offering(""),
                small(),
                get("/v3/organizations?names=acme&page=1&per_page=1"),
                call(Method::POST, visibility, Some(org), 200)
                    .reads("", json!({"type": "organization"})),
            ],
        )
        .await;
    admin
        .plays(
            "cf service-access",
            [
                get("/v3/service_offerings?fields[service_broker]=name,guid"),
                get("/v3/service_plans?include=space.organization&names=small")
                    .reads("/resources/0/visibility_type", "organization")
                    .reads("/included", json!({"spaces": [], "organizations": []})),
                get(visibility).reads(
                    "",
                    json!({"type": "organization", "organizations": [{"guid": "{org}", "name": "acme"}]}),
                ),
            ],
        )
        .await;
    admin
        .plays(
            "cf disable-service-access redis -p small -o acme",
            [
                one_offering(""),
                small(),
                call(Method::DELETE, &format!("{visibility}/{{org}}"), None, 204),
                get(visibility).reads("", json!({"type": "admin"})),
            ],
        )
        .await;
    admin
        .plays(
            "cf enable-service-access redis -b redis-broker; cf disable-service-access redis",
            [
                one_offering("&service_broker_names=redis-broker"),
                small(),
                call(
                    Method::POST,
                    visibility,
                    Some(json!({"type": "public"})),
                    200,
                )
                .reads("", json!({"type": "public"})),
                call(
                    Method::POST,
                    visibility,
                    Some(json!({"type": "admin"})),
                    200,
                )
                .reads("", json!({"type": "admin"})),
            ],
        )
        .await;
}

#[tokio::test]
async fn a_purge_forgets_without_a_job() {
    let (platform, broker, mut admin, _) = marketplace().await;
    platform.instance("small", "db").await;
    let asked = broker.noted(Route::Deprovision).len();

    admin
        .plays(
            "cf purge-service-instance db -f",
            [
                instance("db"),
                call(
                    Method::DELETE,
                    "/v3/service_instances/{instance}?purge=true",
                    None,
                    204,
                ),
            ],
        )
        .await;
    admin
        .plays(
            "cf purge-service-offering redis -f",
            [
                one_offering(""),
                call(
                    Method::DELETE,
                    "/v3/service_offerings/{offering}?purge=true",
                    None,
                    204,
                ),
                get("/v3/service_plans").reads("/resources", json!([])),
            ],
        )
        .await;
    assert_eq!(broker.noted(Route::Deprovision).len(), asked);
}
