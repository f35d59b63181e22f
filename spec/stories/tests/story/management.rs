//! The management API for the operator's errands: the status alone gives the outcome.

use odb_stories::{Broker, Foundation, Order, Platform, new_id};
use reqwest::Method;
use serde_json::{Value, json};

use crate::history_of_an_order;

const OPERATIONS: [&str; 2] = ["upgrade", "recreate"];

fn body() -> Value {
    json!({ "plan_id": Order::small().member("plan_id"), "context": { "space_guid": new_id() } })
}

async fn broker_selling(foundation: &Foundation, vm_type: &str) -> Broker {
    let pointer = "/service_catalog/plans/0/instance_groups/0/vm_type";
    foundation
        .broker()
        .with(pointer, vm_type.into())
        .start()
        .await
}

async fn end_of(platform: &Platform, instance: &str, data: &Value) {
    platform.succeeds(instance, &data.to_string()).await;
}

#[tokio::test]
async fn an_upgrade_brings_what_the_operator_offers_and_keeps_what_the_user_asked_for() {
    let foundation = Foundation::start().await;
    let mut old = broker_selling(&foundation, "small").await;
    let instance = new_id();
    let order = Order::small().with_parameters(json!({ "maxclients": 123 }));
    old.platform().provision_to_the_end(&instance, &order).await;
    old.stop().await;
    let new = broker_selling(&foundation, "large").await;
    let platform = new.platform();

    let data = platform
        .operate(&instance, "upgrade", &body())
        .await
        .operation_data();
    assert_eq!(data["OperationType"], "upgrade");
    end_of(platform, &instance, &data).await;

    let manifest = foundation
        .director()
        .manifest(&format!("service-instance_{instance}"))
        .await;
    assert!(manifest.contains("vm_type: large"), "{manifest}");
    assert!(manifest.contains("maxclients: 123"), "{manifest}");
}

#[tokio::test]
async fn an_upgrade_that_is_asked_for_again_is_the_same_and_anything_else_finds_the_instance_busy()
{
    let (_foundation, broker) = Foundation::setup()
        .with("/director/durations/step", "100ms")
        .start_with_broker()
        .await;
    let (platform, instance) = (broker.platform(), new_id());
    let token = platform.order(&instance).await;
    for operation in OPERATIONS {
        let busy = platform.operate(&instance, operation, &body()).await;
        assert!(!busy.expect_status(409).description().is_empty());
    }
    platform.end_of_operation(&instance, &token).await;

    let upgrade = platform.operate(&instance, "upgrade", &body()).await;
    let again = platform.operate(&instance, "upgrade", &body()).await;
    assert_eq!(again.operation_data(), upgrade.operation_data());
    let other = platform.operate(&instance, "recreate", &body()).await;
    other.expect_status(409);
    let change = Order::small().with_parameters(json!({ "maxclients": 100 }));
    let update = platform.update(&instance, &change).await;
    assert_eq!(update.expect_status(422).error(), "ConcurrencyError");

    end_of(platform, &instance, &upgrade.operation_data()).await;
}

#[tokio::test]
async fn an_operator_reads_the_cause_where_a_user_reads_whom_to_ask() {
    let foundation = Foundation::start().await;
    let adapter = foundation.adapters().script(
        "read_input\n\
         [[ $call == generate-manifest && -e $folder/gate ]] && { echo no stemcell >&2; exit 1; }\n\
         as_redis",
    );
    let broker = foundation.broker().with_adapter(&adapter).start().await;
    let platform = broker.platform();
    let instance = platform.created().await;
    foundation.adapters().open_gate();

    let change = Order::small().with_parameters(json!({ "maxclients": 100 }));
    let user = platform.update(&instance, &change).await;
    let operator = platform.operate(&instance, "upgrade", &body()).await;

    let text = user.expect_status(500).description();
    assert!(text.contains("ask your operator"), "{text}");
    assert!(!text.contains("adapter"), "{text}");
    let text = operator.expect_status(500).description();
    assert!(!text.contains("ask your operator"), "{text}");
    assert!(
        text.contains("`generate-manifest`") && text.contains("ODB-"),
        "{text}"
    );
}

#[tokio::test]
async fn what_cannot_be_understood_is_refused() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let platform = broker.platform();
    let path = format!("/mgmt/service_instances/{}", new_id());

    for text in ["", "{", "[]", "null", "\"text\"", "{\"plan_id\":5}"] {
        for operation in OPERATIONS {
            let path = format!("{path}?operation_type={operation}");
            let request = platform.request(Method::PATCH, &path).body(text);
            let answer = platform.send(request).await;
            assert_eq!(answer.status, 422, "{operation} {text:?}: {answer:?}");
            assert!(!answer.description().is_empty());
        }
    }
    let context = json!({ "plan_id": Order::small().member("plan_id"), "context": "space" });
    let answer = platform.operate(&new_id(), "upgrade", &context).await;
    answer.expect_status(422);
    for query in ["", "?operation_type=", "?operation_type=delete"] {
        let request = platform.request(Method::PATCH, &format!("{path}{query}"));
        let answer = platform.send(request.body("{}")).await;
        assert_eq!(answer.status, 400, "{query}: {answer:?}");
        assert!(answer.description().contains("operation_type"));
    }
    foundation.director().expect_untouched().await;
}

/// Defect 30 of the Go broker (`spec/contracts/broker-behaviour.md` §9): 404 and 405 were public.
#[tokio::test]
async fn an_unauthenticated_client_gets_no_information_and_every_answer_is_json() {
    let (_foundation, broker) = Foundation::setup().start_with_broker().await;
    let platform = broker.platform();
    let unauthenticated_client = platform.with_wrong_password();
    let instance = format!("/mgmt/service_instances/{}", new_id());

    for (method, path, status) in [
        (Method::GET, "/mgmt", 404),
        (Method::GET, "/mgmt/nothing", 404),
        (Method::GET, &instance, 405),
        (Method::POST, &instance, 405),
        (Method::PATCH, &instance, 400),
    ] {
        let known = platform.send(platform.request(method.clone(), path)).await;
        assert_eq!(known.status, status, "{method} {path}: {known:?}");
        assert!(!known.description().is_empty());
        assert!(!known.request_id().is_empty());
        for request in [
            unauthenticated_client.request(method.clone(), path),
            unauthenticated_client.anonymous_request(method.clone(), path),
        ] {
            let refused = unauthenticated_client.send(request).await;
            assert_eq!(refused.status, 401, "{method} {path}: {refused:?}");
            assert!(!refused.description().is_empty());
        }
    }
}

#[tokio::test]
async fn an_instance_for_which_there_was_no_time_counts_as_busy_and_nothing_has_changed() {
    let foundation = Foundation::start().await;
    let script = r"read_input
if [[ -e $folder/slow && $call == generate-manifest ]]; then sleep 600; fi
as_redis";
    let adapter = foundation.adapters().script(script);
    let configuration = foundation.broker().with_adapter(&adapter);
    let broker = configuration.with_request_budget(8).start().await;
    let platform = broker.platform();
    let instance = platform.created().await;
    std::fs::write(foundation.folder().join("slow"), "").unwrap();

    let late = platform.operate(&instance, "upgrade", &body()).await;

    late.expect_status(409);
    assert!(
        late.header("retry-after").parse::<u64>().is_ok(),
        "{late:?}"
    );
    let history = foundation.director().history().await;
    assert_eq!(history, history_of_an_order(&instance));
}
