//! The client asks again, or asks for the next thing before the first is done.

use odb_stories::{Foundation, Order, new_id};
use serde_json::json;

use crate::history_of_an_order;

#[tokio::test]
async fn an_identical_order_is_the_same_order_and_another_one_a_conflict() {
    let (foundation, broker) = Foundation::setup()
        .with("/director/durations/step", "100ms")
        .start_with_broker()
        .await;
    let (platform, instance) = (broker.platform(), new_id());
    let order = Order::small().with_parameters(json!({ "maxclients": 100 }));
    let others = [
        Order::small(),
        Order::small().with_parameters(json!({ "maxclients": 101 })),
        order.clone().with("space_guid", new_id().into()),
    ];

    let token = platform.provision(&instance, &order).await.accepted();
    let again = platform.provision(&instance, &order).await.accepted();
    assert_eq!(again, token, "it is the same operation");
    for other in &others {
        let answer = platform.provision(&instance, other).await;
        assert!(!answer.expect_status(409).description().is_empty());
    }

    platform.succeeds(&instance, &token).await;
    platform
        .provision(&instance, &order)
        .await
        .expect_status(200);
    for other in &others {
        platform
            .provision(&instance, other)
            .await
            .expect_status(409);
    }
    let history = foundation.director().history().await;
    assert_eq!(history, history_of_an_order(&instance));
}

#[tokio::test]
async fn what_is_being_created_can_neither_be_changed_nor_bound() {
    let (foundation, broker) = Foundation::setup()
        .with("/director/durations/step", "200ms")
        .start_with_broker()
        .await;
    let (platform, instance) = (broker.platform(), new_id());
    let change = Order::small().with_parameters(json!({ "maxclients": 100 }));

    let token = platform.order(&instance).await;
    for answer in [
        platform.update(&instance, &change).await,
        platform.bind(&instance, &new_id()).await,
    ] {
        assert_eq!(answer.expect_status(422).error(), "ConcurrencyError");
        assert!(answer.description().contains("in progress"), "{answer:?}");
    }

    platform.succeeds(&instance, &token).await;
    let history = foundation.director().history().await;
    assert_eq!(history, history_of_an_order(&instance));
}

#[tokio::test]
async fn an_identical_update_is_the_same_update() {
    let (_foundation, broker, instance) = Foundation::setup()
        .with("/director/durations/step", "100ms")
        .start_with_instance()
        .await;
    let platform = broker.platform();
    let change = Order::small().with_parameters(json!({ "maxclients": 100 }));
    let other = Order::small().with_parameters(json!({ "maxclients": 200 }));

    let token = platform.update(&instance, &change).await.accepted();
    let again = platform.update(&instance, &change).await.accepted();
    assert_eq!(again, token, "it is the same operation");
    let busy = platform.update(&instance, &other).await;
    assert_eq!(busy.expect_status(422).error(), "ConcurrencyError");
    let busy = platform.deprovision(&instance).await;
    assert_eq!(busy.expect_status(422).error(), "ConcurrencyError");

    platform.succeeds(&instance, &token).await;
}
