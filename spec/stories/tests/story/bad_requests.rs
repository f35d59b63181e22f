//! The client asks for what cannot be: it gets a clear error, and nothing has changed.

use odb_stories::{Foundation, Order, Platform, Response, new_id};
use reqwest::Method;
use serde_json::{Value, json};

/// Every route of the Open Service Broker API, one below it that is none, and one beside it.
const ROUTES: [(&str, &str); 12] = [
    ("GET", "/v2/catalog"),
    ("PUT", "/v2/service_instances/i?accepts_incomplete=true"),
    ("PATCH", "/v2/service_instances/i?accepts_incomplete=true"),
    ("GET", "/v2/service_instances/i"),
    ("GET", "/v2/service_instances/i/last_operation"),
    ("DELETE", "/v2/service_instances/i?accepts_incomplete=true"),
    ("PUT", "/v2/service_instances/i/service_bindings/b"),
    ("GET", "/v2/service_instances/i/service_bindings/b"),
    (
        "GET",
        "/v2/service_instances/i/service_bindings/b/last_operation",
    ),
    ("DELETE", "/v2/service_instances/i/service_bindings/b"),
    ("GET", "/v2/nothing"),
    ("POST", "/nothing"),
];

#[tokio::test]
async fn an_order_that_cannot_be_understood_is_refused_with_the_reason() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let small = Order::small;

    for (order, status, reason) in [
        (small().without("service_id"), 400, "service_id missing"),
        (small().without("plan_id"), 400, "plan_id missing"),
        (small().with("plan_id", "".into()), 400, "plan_id missing"),
        (
            small().with("service_id", new_id().into()),
            400,
            "service-id not in the catalog",
        ),
        (
            small().with("plan_id", new_id().into()),
            400,
            "plan-id not in the catalog",
        ),
        (small().with("plan_id", 5.into()), 400, "wrong type"),
        (
            small().with_parameters(json!(["maxclients"])),
            400,
            "`parameters` is not a JSON object",
        ),
        (
            small().with_parameters(json!("maxclients")),
            400,
            "`parameters` is not a JSON object",
        ),
        (
            small().with("context", json!([])),
            400,
            "`context` is not a JSON object",
        ),
        (small().without_accepts_incomplete(), 422, "asynchronous"),
        (
            small().with("maintenance_info", json!({ "version": "1.0.0" })),
            422,
            "maintenance information",
        ),
    ] {
        let answer = broker.platform().provision(&new_id(), &order).await;
        assert_eq!(answer.status, status, "{order:?}: {answer:?}");
        assert!(
            answer.description().contains(reason),
            "{order:?}: {answer:?}"
        );
    }
    foundation.director().expect_untouched().await;
}

#[tokio::test]
async fn an_id_that_cannot_travel_is_refused() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let platform = broker.platform();
    let long = "x".repeat(129);

    for id in ["a%2Fb", "a%20b", "%C3%A4", "a%22b", "a%00b", "a:b", &long] {
        let answers: [Response; 6] = [
            platform.provision(id, &Order::small()).await,
            platform.update(id, &Order::small()).await,
            platform.deprovision(id).await,
            platform.bind(id, "b").await,
            platform.bind("i", id).await,
            platform.last_operation(id, "").await,
        ];
        for answer in answers {
            assert_eq!(answer.status, 400, "{id}: {answer:?}");
            let description = answer.description();
            assert!(
                description.contains("cannot be used"),
                "{id}: {description}"
            );
        }
    }
    foundation.director().expect_untouched().await;
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let order = Order::small().with_parameters(json!({ "certificate": "x".repeat(2_000_000) }));

    let answer = broker.platform().provision(&new_id(), &order).await;

    assert_eq!(answer.status, 413, "{}", answer.text);
    assert!(answer.description().contains("larger than"), "{answer:?}");
    foundation.director().expect_untouched().await;
}

#[tokio::test]
async fn a_wrong_password_is_refused_on_every_route() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let unauthenticated_client = broker.platform().with_wrong_password();

    for (method, path) in ROUTES {
        let method: Method = method.parse().unwrap();
        let request = unauthenticated_client
            .request(method.clone(), path)
            .body("{");
        expect_challenge(
            &unauthenticated_client,
            request,
            &format!("{method} {path}"),
        )
        .await;
        // Neither the version nor anything else is looked at before.
        let request = unauthenticated_client.anonymous_request(method.clone(), path);
        expect_challenge(
            &unauthenticated_client,
            request,
            &format!("without credentials: {method} {path}"),
        )
        .await;
        if path.starts_with("/v2/") {
            let platform = broker.platform();
            let mut request = platform.request(method, path).build().unwrap();
            request.headers_mut().remove("X-Broker-API-Version");
            let answer = platform.execute(request).await;
            assert_eq!(
                answer.expect_status(412).description(),
                "The header X-Broker-API-Version is missing; this broker supports versions 2.x."
            );
        }
    }
    foundation.director().expect_untouched().await;
}

#[tokio::test]
async fn unknown_paths_and_methods_are_answered_in_json() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let platform = broker.platform();

    for (method, path, status) in [
        (Method::GET, "/", 404),
        (Method::GET, "/v2", 404),
        (Method::GET, "/v2/nothing", 404),
        (Method::POST, "/nothing", 404),
        (Method::PUT, "/v2/service_instances/", 404),
        (Method::POST, "/v2/catalog", 405),
        (Method::POST, "/v2/service_instances/i", 405),
        (Method::PUT, "/v2/service_instances/i/last_operation", 405),
        (
            Method::PATCH,
            "/v2/service_instances/i/service_bindings/b",
            405,
        ),
    ] {
        let answer = platform.send(platform.request(method.clone(), path)).await;
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        assert!(!answer.description().is_empty(), "{method} {path}");
    }
    // Instances and bindings can be fetched only where the operator permits it.
    let binding = "/v2/service_instances/i/service_bindings/b";
    for (path, description) in [
        ("/v2/service_instances/i", "GetInstance Not Implemented"),
        (binding, "GetBinding Not Implemented"),
        (
            &format!("{binding}/last_operation"),
            "LastBindingOperation Not Implemented",
        ),
    ] {
        let answer = platform.send(platform.request(Method::GET, path)).await;
        assert_eq!(answer.expect_status(404).description(), description);
    }
    let catalog = platform.catalog().await.expect_status(200).json();
    for member in ["instances_retrievable", "bindings_retrievable"] {
        assert!(catalog["services"][0].get(member).is_none(), "{catalog}");
    }
    foundation.director().expect_untouched().await;
}

#[tokio::test]
async fn what_is_not_there_cannot_be_changed_bound_or_deleted() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let (platform, instance) = (broker.platform(), new_id());

    let updated = platform.update(&instance, &Order::small()).await;
    assert!(!updated.expect_status(404).description().is_empty());
    let bound = platform.bind(&instance, &new_id()).await;
    assert!(!bound.expect_status(404).description().is_empty());
    let polled = platform.last_operation(&instance, "made up").await;
    polled.expect_status(404);
    for gone in [
        platform.deprovision(&instance).await,
        platform.unbind(&instance, &new_id()).await,
    ] {
        assert_eq!(gone.expect_status(410).json(), json!({}));
    }
    foundation.director().expect_untouched().await;
}

#[tokio::test]
async fn health_is_public_and_reports_nothing_else() {
    let (_foundation, broker) = Foundation::setup().start_with_broker().await;
    let platform = broker.platform();

    let answer = platform
        .send(platform.anonymous_request(Method::GET, "/health"))
        .await;

    let body: Value = answer.expect_status(200).json();
    assert_eq!(body, json!({ "status": "ok" }));
}

async fn expect_challenge(platform: &Platform, request: reqwest::RequestBuilder, what: &str) {
    let answer = platform.send(request).await;
    assert_eq!(answer.status, 401, "{what}: {answer:?}");
    let challenge = answer.header("www-authenticate");
    assert!(challenge.starts_with("Basic realm="), "{what}: {answer:?}");
    assert!(!answer.description().is_empty(), "{what}");
}
