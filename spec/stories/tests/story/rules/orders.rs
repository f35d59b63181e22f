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
    let ended = platform.end_of_operation(&instance, &token).await;
    assert_eq!(ended.state, "succeeded", "{ended:?}");

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
    let foundation = Foundation::start().await;
    let broker = foundation.broker().start().await;
    let (platform, instance) = (broker.platform(), new_id());
    let token = platform
        .provision(&instance, &Order::small())
        .await
        .accepted();

    for parameters in [Value::Null, json!({})] {
        let order = Order::small().with_parameters(parameters);
        let again = platform.provision(&instance, &order).await;
        assert_eq!(again.accepted(), token);
    }
    let null = Order::small().with_parameters(Value::Null);
    platform.provision_to_the_end(&new_id(), &null).await;
}

/// P-07, P-08 and §14.8: the version decides, and an empty one says nothing.
#[tokio::test]
async fn a_plan_is_ordered_at_its_version_or_at_none() {
    let foundation = Foundation::start().await;
    let plan = "/service_catalog/plans/0/maintenance_info";
    let info = json!({ "version": "1.2.3", "public": { "stemcell": "1.80" } });
    let broker = foundation.broker().with(plan, info).start().await;
    let platform = broker.platform();
    let catalog = platform.catalog().await.json();
    let published = &catalog["services"][0]["plans"][0]["maintenance_info"];
    assert_eq!(published.as_object().map(serde_json::Map::len), Some(1));

    for info in [
        published.clone(),
        json!({ "version": published["version"], "description": "other", "public": { "a": "b" } }),
        json!({ "version": "" }),
        json!({}),
        Value::Null,
    ] {
        let order = Order::small().with("maintenance_info", info);
        platform.provision(&new_id(), &order).await.accepted();
    }
    for version in ["1.2.3", "1.2.2", "2.0.0"] {
        let order = Order::small().with("maintenance_info", json!({ "version": version }));
        let answer = platform.provision(&new_id(), &order).await;
        assert_eq!(answer.expect_status(422).error(), "MaintenanceInfoConflict");
    }
    let large = "c4d1a0de-7b1e-4f0e-9d57-2f5d0f1f6b32";
    let unversioned = Order::small()
        .with("plan_id", large.into())
        .with("maintenance_info", json!({ "version": "1.2.3" }));
    let answer = platform.provision(&new_id(), &unversioned).await;
    assert_eq!(answer.expect_status(422).error(), "MaintenanceInfoConflict");
}

/// P-09: the first answer has the dashboard, and so has that to a repeat.
#[tokio::test]
async fn the_dashboard_is_reported_at_once() {
    let foundation = Foundation::start().await;
    let broker = foundation.broker().start().await;
    let (platform, instance) = (broker.platform(), new_id());

    for _ in 0..2 {
        let answer = platform.provision(&instance, &Order::small()).await;
        let dashboard = format!("https://example.com/dashboard/{instance}");
        assert_eq!(answer.expect_status(202).json()["dashboard_url"], dashboard);
    }
}
