//! P: provision.

use odb_stories::{Foundation, Order, new_id};
use reqwest::Method;
use serde_json::{Value, json};

use crate::history_of_an_order;

/// P-01: the Go broker never asked for organization and space, so they may be missing unless the operator says
/// otherwise.
#[tokio::test]
async fn organization_and_space_may_be_missing_unless_the_operator_wants_them() {
    let foundation = Foundation::start().await;
    let mut lenient = foundation.broker().start().await;
    let order = Order::small()
        .with("organization_guid", Value::Null)
        .with("space_guid", Value::Null);
    let answer = lenient.platform().provision(&new_id(), &order).await;
    answer.accepted();
    lenient.stop().await;

    let strict = foundation
        .broker()
        .with("/broker/require_organization_and_space", true.into())
        .start()
        .await;
    for missing in ["organization_guid", "space_guid"] {
        for value in [Value::Null, "".into()] {
            let order = Order::small().with(missing, value);
            let answer = strict.platform().provision(&new_id(), &order).await;
            let text = answer.expect_status(400).description();
            assert!(text.contains(missing), "{text}");
        }
    }
    let answer = strict
        .platform()
        .provision(&new_id(), &Order::small())
        .await;
    answer.accepted();
}

/// P-04 and P-05, §14.2: the same order in other words.
#[tokio::test]
async fn an_order_is_the_same_however_it_is_spelled() {
    let foundation = Foundation::start().await;
    // The real adapter knows no policy.
    let script = r#"read_input
input=$(sed 's/,\\"policy\\":\\"lru\\"//' <<<"$input")
as_redis"#;
    let adapter = foundation.adapters().script(script);
    let broker = foundation.broker().with_adapter(&adapter).start().await;
    let (platform, instance) = (broker.platform(), new_id());
    let parameters = json!({ "maxclients": 100, "policy": "lru" });
    let order = Order::small().with_parameters(parameters);
    let token = platform.provision(&instance, &order).await.accepted();
    platform.succeeds(&instance, &token).await;

    let mut context = platform.provision_body(&order)["context"].clone();
    context["instance_name"] = "renamed".into();
    let renamed = order
        .clone()
        .with("context", context)
        .with("maintenance_info", json!({ "version": "" }));
    platform
        .provision(&instance, &renamed)
        .await
        .expect_status(200);
    let path = format!("/v2/service_instances/{instance}?{}", order.query);
    let body = platform.provision_body(&order).to_string();
    for (as_sent, respelled) in [
        ("\"maxclients\":100", "\"maxclients\":100.0"),
        ("\"maxclients\":100", "\"maxclients\" : 1e2"),
        (
            "\"maxclients\":100,\"policy\":\"lru\"",
            "\"policy\":\"lru\",\"maxclients\":100",
        ),
    ] {
        assert!(body.contains(as_sent), "{body}");
        let request = platform
            .request(Method::PUT, &path)
            .body(body.replace(as_sent, respelled));
        let answer = platform.send(request).await;
        assert_eq!(answer.status, 200, "{respelled}: {answer:?}");
        let dashboard = format!("https://example.com/dashboard/{instance}");
        assert_eq!(answer.json()["dashboard_url"], dashboard);
    }
    let history = foundation.director().history().await;
    assert_eq!(history, history_of_an_order(&instance));
}

/// P-04: parameters that are absent, null or empty are no parameters.
#[tokio::test]
async fn no_parameters_are_no_parameters() {
    let (_foundation, broker) = Foundation::setup().start_with_broker().await;
    let (platform, instance) = (broker.platform(), new_id());
    let token = platform.order(&instance).await;

    for parameters in [Value::Null, json!({})] {
        let order = Order::small().with_parameters(parameters);
        let again = platform.provision(&instance, &order).await;
        assert_eq!(again.accepted(), token);
    }
    let null = Order::small().with_parameters(Value::Null);
    platform.provision_to_the_end(&new_id(), &null).await;
}
