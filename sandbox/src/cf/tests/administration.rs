//! Brokers, access and the marketplace.

use serde_json::json;

use super::platform::{EXTERNAL, Platform, accepted, job, ok, page};
use super::shapes::{included, page_with_included, plan};

#[tokio::test]
async fn a_broker_is_registered_by_the_administrator_with_a_password_from_a_file() {
    let synchronising = |state| {
        job(
            "service_broker.catalog.synchronize",
            state,
            ("service_brokers", "/v3/service_brokers/b-1"),
            &json!([]),
        )
    };
    let platform = Platform::start([
        ("POST /v3/service_brokers", vec![accepted("j-1")]),
        (
            "GET /v3/jobs/j-1",
            vec![
                synchronising("PROCESSING"),
                synchronising("POLLING"),
                synchronising("COMPLETE"),
            ],
        ),
    ]);
    let password = platform.file("password", "open sesame\n");

    let seen = platform
        .cf([
            "--as",
            "admin",
            "create-service-broker",
            "odb",
            "user",
            "https://127.0.0.5:8080",
            "--password-file",
            &password,
        ])
        .await;

    assert!(seen.succeeded, "{seen:?}");
    assert_eq!(
        platform.body_of("POST"),
        json!({
            "name": "odb", "url": "https://127.0.0.5:8080",
            "authentication": {"type": "basic", "credentials": {"username": "user", "password": "open sesame"}}
        })
    );
    assert!(
        platform
            .asked()
            .iter()
            .all(|asked| asked.token == "bearer token-of-admin")
    );
    assert!(!seen.stderr.contains("sesame"));
}

#[tokio::test]
async fn access_is_enabled_for_every_plan_of_the_offering() {
    let platform = Platform::start([
        (
            "GET /v3/service_offerings",
            vec![page(&json!([{"guid": "o-1", "name": "redis"}]))],
        ),
        (
            "GET /v3/service_plans",
            vec![page(&json!([plan("p-1", "small"), plan("p-2", "large")]))],
        ),
        (
            "POST /v3/service_plans/p-1/visibility",
            vec![ok(json!({"type": "public"}))],
        ),
        (
            "POST /v3/service_plans/p-2/visibility",
            vec![ok(json!({"type": "public"}))],
        ),
    ]);

    let seen = platform
        .cf(["--as", "admin", "enable-service-access", "redis"])
        .await;

    assert!(seen.succeeded, "{seen:?}");
    assert_eq!(
        platform.calls(),
        [
            "GET /v3/service_offerings?fields[service_broker]=name,guid&names=redis&page=1&per_page=2",
            "GET /v3/service_plans?service_offering_guids=o-1",
            "POST /v3/service_plans/p-1/visibility",
            "POST /v3/service_plans/p-2/visibility",
        ]
    );
    assert_eq!(
        platform.body_of("POST /v3/service_plans/p-2"),
        json!({"type": "public"})
    );
}

#[tokio::test]
async fn the_marketplace_lists_plans_with_their_offerings_over_all_pages() {
    let mut other = plan("p-2", "large");
    other["free"] = json!(false);
    let next = format!("{EXTERNAL}/v3/service_plans?page=2");
    let platform = Platform::start([(
        "GET /v3/service_plans",
        vec![
            ok(
                json!({"pagination": {"next": {"href": next}}, "resources": [plan("p-1", "small")], "included": included()}),
            ),
            page_with_included(&json!([other])),
        ],
    )]);

    let seen = platform.cf(["marketplace"]).await;

    assert_eq!(
        seen.data,
        "offering  plan   description  costs  broker\n\
         redis     large  A small one  paid   odb\n\
         redis     small  A small one  free   odb\n"
    );
    assert_eq!(
        platform.calls(),
        [
            "GET /v3/service_plans?available=true&fields[service_offering.service_broker]=name,guid\
             &include=service_offering&per_page=5000&space_guids=space-1",
            "GET /v3/service_plans?page=2",
        ]
    );
}
