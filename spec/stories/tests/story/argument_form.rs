//! The adapter gets its input as arguments, as from the oldest brokers (`use_stdin: false`).

use std::fs;

use odb_stories::{Foundation, LogLine, Order, Redis, new_id};
use serde_json::json;

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
    platform.succeeds(&instance, &ordered.accepted()).await;
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
    foundation.director().expect_nothing_left().await;
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
