//! Values that are easily changed on the way reach the adapter as they were written: those of the operator in
//! `broker.yml`, and those of the user to the letter.

use std::{collections::BTreeMap, fs};

use odb_stories::{Foundation, Order, Platform, Response, new_id};
use reqwest::Method;
use serde_json::{Value, json, value::RawValue};

/// Notes what it is asked, and fails where it is asked to.
const NOTING: &str = r#"read_input
printf '%s' "$input" >"$folder/input-of-$call"
if [[ $input == *fail-please* ]]; then exit 1; fi
as_redis"#;

/// Of what JSON allows, most of what gets lost: large numbers, the spelling of numbers, empty lists, the order of
/// names, spaces, escapes.
const AWKWARD: &str = r#"{"z": [], "fail-please": 9007199254740993, "b": 123456789012345678901234567890,  "one": 1.0,
  "kilo": 1e3, "tiny": -1.50E-7, "a": {"d": [[]], "c": {}}, "text": "<&>\u003c\u00e9\/", "nothing": null}"#;

/// A member of what the adapter was asked last by a subcommand. It travels as a text.
fn member(foundation: &Foundation, call: &str, name: &str) -> String {
    let file = foundation.folder().join(format!("input-of-{call}"));
    let input = fs::read_to_string(file).expect("the adapter was asked");
    let input: Value = serde_json::from_str(&input).expect("it is asked in JSON");
    let text = input[call.replace('-', "_")][name].as_str();
    text.expect("all members are texts").to_owned()
}

/// A request with a raw body that no JSON library has parsed.
async fn sent(platform: &Platform, method: Method, path: &str, body: String) -> Response {
    let request = platform.request(method, path);
    let request = request.header("Content-Type", "application/json");
    platform.send(request.body(body)).await
}

/// The ids of an order as the beginning of a body.
fn ids() -> String {
    let order = Order::small();
    let (service, plan) = (order.member("service_id"), order.member("plan_id"));
    format!(r#""service_id": {service}, "plan_id": {plan}"#)
}

fn raw(document: &str, name: &str) -> String {
    let members: BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(document).expect("it is a JSON object");
    members[name].get().to_owned()
}

#[tokio::test]
async fn the_properties_of_a_plan_reach_the_adapter_as_the_operator_wrote_them() {
    let foundation = Foundation::start().await;
    let own = json!({
        "list": [],
        "nested": { "list": [[], {}], "map": {} },
        "beyond_floats": 9_007_199_254_740_993_u64,
        "below": -9_007_199_254_740_993_i64,
        "largest": u64::MAX,
        "one": 1.0,
        "nothing": null,
    });
    let broker = foundation
        .broker()
        .with_adapter(&foundation.adapters().script(NOTING))
        .with("/service_catalog/global_properties/shared", json!([]))
        .with("/service_catalog/plans/0/properties", own.clone())
        .start()
        .await;

    let order = Order::small();
    broker
        .platform()
        .provision(&new_id(), &order)
        .await
        .accepted();

    for call in ["generate-manifest", "dashboard-url"] {
        let plan: Value = serde_json::from_str(&member(&foundation, call, "plan")).unwrap();
        let mut expected = own.clone();
        expected["persistence"] = true.into();
        expected["shared"] = json!([]);
        assert_eq!(plan["properties"], expected, "{call}");
        let text = plan["properties"].to_string();
        assert!(text.contains(r#""one":1.0"#), "{text}");
    }
}

#[tokio::test]
async fn the_parameters_of_a_user_reach_the_adapter_to_the_letter() {
    let foundation = Foundation::start().await;
    let adapter = foundation.adapters().script(NOTING);
    let broker = foundation.broker().with_adapter(&adapter).start().await;
    let (platform, instance) = (broker.platform(), new_id());
    let body = |more: &str| format!("{{{}, {more}}}", ids());
    let parameters = body(&format!(r#""parameters": {AWKWARD}"#));
    let path = format!("/v2/service_instances/{instance}?accepts_incomplete=true");
    let reported = |call| {
        let document = member(&foundation, call, "request_parameters");
        raw(&document, "parameters")
    };

    sent(platform, Method::PUT, &path, parameters.clone())
        .await
        .expect_status(500);
    assert_eq!(reported("generate-manifest"), AWKWARD);

    let order = Order::small();
    platform.provision_to_the_end(&instance, &order).await;
    let binding = format!(
        "/v2/service_instances/{instance}/service_bindings/{}",
        new_id()
    );
    sent(platform, Method::PUT, &binding, parameters.clone())
        .await
        .expect_status(500);
    assert_eq!(reported("create-binding"), AWKWARD);

    sent(platform, Method::PATCH, &path, parameters)
        .await
        .expect_status(500);
    assert_eq!(reported("generate-manifest"), AWKWARD);
}

#[tokio::test]
async fn the_context_of_an_upgrade_reaches_the_adapter_to_the_letter_and_alone() {
    let foundation = Foundation::start().await;
    let broker = foundation
        .broker()
        .with_adapter(&foundation.adapters().script(NOTING))
        .with(
            "/service_catalog/plans/0/maintenance_info",
            json!({ "version": "2.0.0" }),
        )
        .start()
        .await;
    let platform = broker.platform();
    let instance = platform.created().await;
    let plan = Order::small().member("plan_id").clone();
    let body = format!(
        r#"{{{}, "context": {AWKWARD}, "parameters": {{}}, "maintenance_info": {{"version": "2.0.0"}},
          "previous_values": {{"plan_id": {plan}, "maintenance_info": {{"version": "1.0.0"}}}}}}"#,
        ids()
    );
    let path = format!("/v2/service_instances/{instance}?accepts_incomplete=true");

    sent(platform, Method::PATCH, &path, body)
        .await
        .expect_status(500);

    let reported = || member(&foundation, "generate-manifest", "request_parameters");
    let expected = format!(r#"{{"context":{AWKWARD}}}"#);
    assert_eq!(reported(), expected);

    // The operator asks for the same with a body that has more in it.
    let body = format!(r#"{{"plan_id": {plan}, "context": {AWKWARD}, "parameters": {{"a": 1}}}}"#);
    let path = format!("/mgmt/service_instances/{instance}?operation_type=upgrade");
    sent(platform, Method::PATCH, &path, body)
        .await
        .expect_status(500);
    assert_eq!(reported(), expected);
}

#[tokio::test]
async fn the_credentials_of_an_adapter_reach_the_user_to_the_letter() {
    let foundation = Foundation::start().await;
    let credentials = AWKWARD.replace('\n', " ");
    let script = format!(
        r#"read_input
if [[ $call == create-binding ]]; then
  printf '%s' '{{"credentials": {credentials}}}'
else
  as_redis
fi"#
    );
    let adapter = foundation.adapters().script(&script);
    let broker = foundation.broker().with_adapter(&adapter).start().await;
    let platform = broker.platform();
    let instance = platform.created().await;

    let bound = platform.bind(&instance, &new_id()).await;

    assert_eq!(
        raw(&bound.expect_status(201).text, "credentials"),
        credentials
    );
}
