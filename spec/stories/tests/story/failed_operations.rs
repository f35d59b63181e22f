//! Accepted operations that fail later.

use odb_stories::{Broker, BrokerConfiguration, Ended, Foundation, Order, new_id};
use serde_json::json;

#[tokio::test]
async fn a_failed_deployment_gives_an_id_to_quote_and_can_be_deleted() {
    let foundation = Foundation::start().await;
    let script = r"read_input; as_redis | sed 's/vm_type: small/vm_type: enormous/'";
    let adapter = foundation.adapters().script(script);
    let configuration = foundation.broker().with_adapter(&adapter);

    expect_failure(&foundation, configuration, "enormous").await;
}

#[tokio::test]
async fn a_lifecycle_errand_that_is_not_there_gives_an_id_to_quote_and_the_instance_can_be_deleted()
{
    let foundation = Foundation::start().await;
    let errands = json!({ "post_deploy": [{ "name": "no-such-errand" }] });
    let configuration = foundation.broker().with_lifecycle_errands(&errands);

    expect_failure(&foundation, configuration, "no-such-errand").await;
}

#[tokio::test]
async fn a_failed_update_leaves_the_instance_usable() {
    let foundation = Foundation::start().await;
    let script = r#"read_input
as_redis | if [[ $input == *'maxclients\":250'* ]]; then sed 's/vm_type: small/vm_type: enormous/'; else cat; fi"#;
    let adapter = foundation.adapters().script(script);
    let broker = foundation.broker().with_adapter(&adapter).start().await;
    let platform = broker.platform();
    let instance = platform.created().await;

    let change = Order::small().with_parameters(json!({ "maxclients": 250 }));
    let token = platform.update(&instance, &change).await.accepted();
    platform.fails(&instance, &token).await;

    // It asks for nothing, and repairs what the failed one may have left.
    platform.update_to_the_end(&instance, &Order::small()).await;
    let nothing = platform.update(&instance, &Order::small()).await;
    assert_eq!(nothing.expect_status(200).json(), json!({}));

    let bound = platform.bind(&instance, &new_id()).await;
    let credentials = &bound.expect_status(201).json()["credentials"];
    let mut redis = odb_stories::Redis::connect(credentials).await;
    assert_eq!(redis.command(&["PING"]).await, "PONG");
    let change = Order::small().with_parameters(json!({ "maxclients": 200 }));
    platform.update_to_the_end(&instance, &change).await;
}

/// The order is accepted and fails: the user reads what to quote, the operator finds `cause` under it, a second
/// order for the id is refused, and a deletion leaves nothing behind.
async fn expect_failure(
    foundation: &Foundation,
    configuration: BrokerConfiguration<'_>,
    cause: &str,
) {
    let broker = configuration.start().await;
    let (platform, instance) = (broker.platform(), new_id());
    let ordered = platform.provision(&instance, &Order::small()).await;
    let token = ordered.accepted();

    let ended: Ended = platform.end_of_operation(&instance, &token).await;

    assert_eq!(ended.state, "failed", "{ended:?}");
    let last = ended.last_description();
    let quoted = format!("broker-request-id: {}", ordered.request_id());
    assert!(last.contains(&quoted), "{last}");
    assert!(last.contains("task-id: "), "{last}");
    assert!(
        !last.contains(cause),
        "the cause is for the operator: {last}"
    );
    let reported = broker.log_of_request(&ordered.request_id());
    assert!(
        reported.iter().any(|line| line.mentions(cause)),
        "{reported:#?}"
    );
    let again = platform.provision(&instance, &Order::small()).await;
    assert!(again.expect_status(409).description().contains("delete it"));

    delete(&broker, &instance).await;
    foundation.director().expect_nothing_left().await;
}

async fn delete(broker: &Broker, instance: &str) {
    let token = broker.platform().deprovision(instance).await.accepted();
    let ended = broker.platform().end_of_operation(instance, &token).await;
    let gone = ["succeeded", "gone"].contains(&ended.state.as_str());
    assert!(gone, "{ended:?}");
}
