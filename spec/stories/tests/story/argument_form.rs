//! The adapter gets its input as arguments, as from the oldest brokers (`use_stdin: false`).

use std::fs;

use odb_stories::{Foundation, LogLine, Order, Redis, new_id};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{history_of_a_deletion, history_of_an_order};

/// Takes nothing but what the protocol's argument form has, to the number of the arguments and the empty stdin.
const STRICT: &str = r#"refuse() { echo "$call: $1" >>"$folder/refused"; echo "$1" >&2; exit 1; }
[[ -z $(cat) ]] || refuse 'there is something on stdin'
echo "$call" >>"$folder/called"
case $call in
  generate-manifest)
    [[ $# == 6 ]] || refuse "$# arguments"
    [[ $2 == '{"deployment_name":"service-instance_'* ]] || refuse "deployment $2"
    [[ $3 == '{"properties":{'* ]] || refuse "plan $3"
    [[ $4 == '{'*'"parameters":{'* ]] || refuse "request parameters $4"
    if [[ -e $folder/deployed ]]; then
      [[ $5 == *'name: service-instance_'* ]] || refuse "previous manifest $5"
      [[ $6 == '{"properties":{'* ]] || refuse "previous plan $6"
    else
      [[ -z $5 && $6 == null ]] || refuse "previous manifest $5, previous plan $6"
    fi
    touch "$folder/deployed"
    ;;
  dashboard-url)
    [[ $# == 4 && $3 == '{"properties":{'* && $4 == *'name: service-instance_'* ]] || refuse "$# arguments"
    ;;
  create-binding|delete-binding)
    [[ $# == 5 && $3 == '{"redis-server":["'*'"]}' && $4 == *'name: service-instance_'* && $5 == '{'* ]] || refuse "$# arguments"
    ;;
  generate-plan-schemas)
    [[ $# == 3 && $2 == --plan-json && $3 == '{"properties":{'* ]] || refuse "$# arguments"
    cat "$folder/schemas"
    exit
    ;;
esac
as_redis_with "$@""#;

#[tokio::test]
async fn an_adapter_that_takes_arguments_reports_the_whole_story() {
    let foundation = Foundation::start().await;
    let schema = json!({ "$schema": "http://json-schema.org/draft-04/schema#", "type": "object" });
    let schemas = json!({
        "service_instance": { "create": { "parameters": schema }, "update": { "parameters": schema } },
        "service_binding": { "create": { "parameters": schema } },
    });
    fs::write(foundation.folder().join("schemas"), schemas.to_string()).unwrap();
    let adapter = foundation.adapters().script(STRICT);
    let broker = foundation
        .broker()
        .with("/broker/use_stdin", false.into())
        .with("/broker/enable_plan_schemas", true.into())
        .with_adapter(&adapter)
        .start()
        .await;
    let (platform, instance, binding) = (broker.platform(), new_id(), new_id());
    let refused = || fs::read_to_string(foundation.folder().join("refused")).unwrap_or_default();

    let ordered = platform.provision(&instance, &Order::small()).await;
    assert_eq!(
        (ordered.status, refused().as_str()),
        (202, ""),
        "{ordered:?}"
    );
    let ended = platform
        .end_of_operation(&instance, &ordered.accepted())
        .await;
    assert_eq!(ended.state, "succeeded", "{ended:?}");
    let change = Order::small().with_parameters(json!({ "maxclients": 250 }));
    let updated = platform.update(&instance, &change).await;
    assert_eq!(
        (updated.status, refused().as_str()),
        (202, ""),
        "{updated:?}"
    );
    platform
        .end_of_operation(&instance, &updated.accepted())
        .await;
    let bound = platform.bind(&instance, &binding).await;
    let credentials = bound.expect_status(201).json()["credentials"].clone();
    let mut redis = Redis::connect(&credentials).await;
    assert_eq!(redis.info("clients", "maxclients").await, "250");
    let unbound = platform.unbind(&instance, &binding).await;
    unbound.expect_status(200);
    let token = platform.deprovision(&instance).await.accepted();
    platform.end_of_operation(&instance, &token).await;

    assert_eq!(refused(), "");
    let called = fs::read_to_string(foundation.folder().join("called")).unwrap();
    let called: Vec<&str> = called.lines().collect();
    let expected = [
        "generate-plan-schemas",
        "generate-plan-schemas",
        "generate-manifest",
        "dashboard-url",
        "generate-manifest",
        "dashboard-url",
        "create-binding",
        "delete-binding",
    ];
    assert_eq!(called, expected);
    let director = foundation.director();
    assert_eq!(director.deployments().await, Vec::<String>::new());
    assert_eq!(director.configs().await, Vec::<Value>::new());
}

#[tokio::test]
async fn our_own_adapter_takes_arguments_as_well() {
    let foundation = Foundation::start().await;
    let broker = foundation
        .broker()
        .with("/broker/use_stdin", false.into())
        .start()
        .await;
    let (platform, instance, binding) = (broker.platform(), new_id(), new_id());

    platform
        .provision_to_the_end(&instance, &Order::small())
        .await;
    let bound = platform.bind(&instance, &binding).await;
    let credentials = bound.expect_status(201).json()["credentials"].clone();
    drop(Redis::connect(&credentials).await);
    platform
        .unbind(&instance, &binding)
        .await
        .expect_status(200);
    let token = platform.deprovision(&instance).await.accepted();
    platform.end_of_operation(&instance, &token).await;

    let history = [
        history_of_an_order(&instance),
        history_of_a_deletion(&instance),
    ];
    assert_eq!(foundation.director().history().await, history.concat());
}

#[tokio::test]
async fn what_users_and_operators_write_reaches_arguments_to_the_letter() {
    const PARAMETERS: &str = r#"{"z": [], "large": 9007199254740993, "one": 1.0,  "kilo": 1e3, "a": {"d": [[null]], "c": {}}}"#;
    let foundation = Foundation::start().await;
    let noting =
        r#"printf '%s' "$3" >"$folder/plan"; printf '%s' "$4" >"$folder/parameters"; exit 1"#;
    let broker = foundation
        .broker()
        .with("/broker/use_stdin", false.into())
        .with_adapter(&foundation.adapters().script(noting))
        .with(
            "/service_catalog/plans/0/properties",
            json!({ "large": u64::MAX, "one": 1.0, "list": [], "nothing": [null] }),
        )
        .start()
        .await;
    let (platform, order) = (broker.platform(), Order::small());
    let body = format!(
        r#"{{"service_id": {}, "plan_id": {}, "parameters": {PARAMETERS}}}"#,
        order.member("service_id"),
        order.member("plan_id")
    );
    let path = format!("/v2/service_instances/{}?accepts_incomplete=true", new_id());
    let request = platform.request(Method::PUT, &path).body(body);

    platform
        .send(request.header("Content-Type", "application/json"))
        .await
        .expect_status(500);

    let reported = |file| fs::read_to_string(foundation.folder().join(file)).unwrap();
    let (parameters, plan) = (reported("parameters"), reported("plan"));
    assert!(parameters.contains(PARAMETERS), "{parameters}");
    for property in [
        r#""large":18446744073709551615"#,
        r#""one":1.0"#,
        r#""list":[]"#,
        r#""nothing":[null]"#,
    ] {
        assert!(plan.contains(property), "no {property} in {plan}");
    }
}

#[tokio::test]
async fn the_operator_is_warned_that_arguments_are_world_readable() {
    let foundation = Foundation::start().await;
    let warning = "every user of the machine can read manifests";
    let warned = |log: &[LogLine]| log.iter().any(|line| line.mentions(warning));

    let mut silent = foundation.broker().start().await;
    assert!(!warned(&silent.log()), "{:?}", silent.log());
    silent.stop().await;
    let broker = foundation
        .broker()
        .with("/broker/use_stdin", false.into())
        .start()
        .await;

    assert!(warned(&broker.log()), "{:?}", broker.log());
}

#[tokio::test]
async fn a_request_too_large_for_an_argument_is_explained_to_the_operator() {
    let foundation = Foundation::start().await;
    let broker = foundation
        .broker()
        .with("/broker/use_stdin", false.into())
        .start()
        .await;
    let long = Order::small().with_parameters(json!({ "certificate": "x".repeat(128 * 1024) }));

    let answer = broker.platform().provision(&new_id(), &long).await;

    answer.expect_status(500);
    let reported = broker.log_of_request(&answer.request_id());
    for word in ["ODB-3001", "128 KiB", "`broker.use_stdin`"] {
        let mentioned = reported.iter().any(|line| line.mentions(word));
        assert!(mentioned, "{word}: {reported:#?}");
    }
    foundation.director().expect_untouched().await;
}
