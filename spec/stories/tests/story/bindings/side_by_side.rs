//! Many bindings of one instance are asked for at once.

use odb_stories::{Adapters, Broker, Foundation, Order, eventually, new_id};
use serde_json::{Value, json};

use crate::TIMEOUT;

/// An adapter that, asked for credentials, notes that it has begun and waits until there is a file `gate`.
const GATED: &str = r#"read_input
if [[ $call == create-binding ]]; then
  echo "$$" >>"$folder/entered"
  until [[ -e $folder/gate ]]; do sleep 0.02; done
fi
as_redis"#;

#[tokio::test]
async fn an_instance_gets_as_many_bindings_at_once_as_the_adapter_may_make_and_an_update_after_them()
 {
    let foundation = Foundation::bare().start().await;
    let adapters = foundation.adapters();
    let broker = foundation
        .broker()
        .with_adapter(&adapters.script(GATED))
        .with(
            "/service_adapter/concurrent_bindings_per_instance",
            2.into(),
        )
        .start()
        .await;
    let platform = broker.platform();
    let instance = platform.created().await;
    let bind = || tokio::spawn(platform.bind_request(&instance, &new_id()).send());
    let mut bound = vec![bind(), bind()];
    expect_at_gate(&adapters, 2).await;
    let order = Order::small().with_parameters(json!({ "maxclients": 7 }));
    let update = tokio::spawn(platform.update_request(&instance, &order).send());
    expect_waiting(&broker, 1).await;
    // It came after the update.
    bound.push(bind());
    expect_waiting(&broker, 2).await;
    assert_eq!(adapters.at_gate(), 2, "the third waits its turn");

    adapters.open_gate();

    for bound in bound {
        assert_eq!(bound.await.unwrap().unwrap().status(), 201);
    }
    let updated = update.await.unwrap().unwrap();
    let reported: Value = serde_json::from_str(&updated.text().await.unwrap()).unwrap();
    let token = reported["operation"]
        .as_str()
        .unwrap_or_else(|| panic!("{reported}"));
    platform.succeeds(&instance, token).await;
    assert_eq!(adapters.at_gate(), 3);
}

#[tokio::test]
async fn a_repeated_bind_waits_for_the_first_and_holds_up_no_other_binding() {
    let foundation = Foundation::bare().start().await;
    let adapters = foundation.adapters();
    let broker = foundation
        .broker()
        .with_adapter(&adapters.script(GATED))
        .with(
            "/service_adapter/concurrent_bindings_per_instance",
            2.into(),
        )
        .start()
        .await;
    let (platform, instance, binding) = (broker.platform(), new_id(), new_id());
    platform.create(&instance).await;
    let first = tokio::spawn(platform.bind_request(&instance, &binding).send());
    expect_at_gate(&adapters, 1).await;
    let repeat = tokio::spawn(platform.bind_request(&instance, &binding).send());
    expect_waiting(&broker, 1).await;

    let other = tokio::spawn(platform.bind_request(&instance, &new_id()).send());
    expect_at_gate(&adapters, 2).await;
    expect_waiting(&broker, 1).await;

    adapters.open_gate();
    for bound in [first, repeat, other] {
        let status = bound.await.unwrap().unwrap().status();
        assert_eq!(status, 201, "the example adapter makes a binding again");
    }
}

async fn expect_at_gate(adapters: &Adapters, calls: usize) {
    eventually("the adapter has begun", TIMEOUT, async || {
        let begun = adapters.at_gate();
        (begun == calls).then_some(()).ok_or(begun.to_string())
    })
    .await;
}

async fn expect_waiting(broker: &Broker, requests: usize) {
    let line = format!("odb_queue_waiting{{queue=\"instance\"}} {requests}");
    eventually(&line, TIMEOUT, async || {
        let text = broker.metrics().await.text;
        let is_there = text.lines().any(|shown| shown == line);
        is_there.then_some(()).ok_or(text)
    })
    .await;
}
