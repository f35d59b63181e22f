//! The operator's commands for brokers, access and offerings.

use serde_json::json;

use super::{
    instance, marketplace, one_offering, registration,
    terminal::{Terminal, delete, get, patch, post},
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
            [post("/v3/service_brokers", whole).in_a_job()],
        )
        .await;
    admin
        .plays(
            "cf update-service-broker",
            [
                look_up(),
                patch("/v3/service_brokers/{broker}", correction).in_a_job(),
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
            [look_up(), delete("/v3/service_brokers/{broker}").in_a_job()],
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
                post(visibility, org)
                    .with_status(200)
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
                delete(&format!("{visibility}/{{org}}")),
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
                post(visibility, json!({"type": "public"}))
                    .with_status(200)
                    .reads("", json!({"type": "public"})),
                post(visibility, json!({"type": "admin"}))
                    .with_status(200)
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
                delete("/v3/service_instances/{instance}?purge=true"),
            ],
        )
        .await;
    admin
        .plays(
            "cf purge-service-offering redis -f",
            [
                one_offering(""),
                delete("/v3/service_offerings/{offering}?purge=true"),
                get("/v3/service_plans").reads("/resources", json!([])),
            ],
        )
        .await;
    assert_eq!(broker.noted(Route::Deprovision).len(), asked);
}
