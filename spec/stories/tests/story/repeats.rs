//! The client asks again, or asks for the next thing before the first is done.

use odb_stories::{Foundation, Order, new_id};
use serde_json::json;

use crate::{history_of_a_deletion, history_of_an_order};

#[tokio::test]
async fn an_identical_order_is_the_same_order_and_another_one_a_conflict() {
    let foundation = Foundation::setup().with_steps_of("100ms").start().await;
    let broker = foundation.broker().start().await;
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

    let ended = platform.end_of_operation(&instance, &token).await;
    assert_eq!(ended.state, "succeeded", "{ended:?}");
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
    let foundation = Foundation::setup().with_steps_of("200ms").start().await;
    let broker = foundation.broker().start().await;
    let (platform, instance) = (broker.platform(), new_id());
    let change = Order::small().with_parameters(json!({ "maxclients": 100 }));

    let token = platform
        .provision(&instance, &Order::small())
        .await
        .accepted();
    for answer in [
        platform.update(&instance, &change).await,
        platform.bind(&instance, &new_id()).await,
    ] {
        assert_eq!(answer.expect_status(422).error(), "ConcurrencyError");
        assert!(answer.description().contains("in progress"), "{answer:?}");
    }

    let ended = platform.end_of_operation(&instance, &token).await;
    assert_eq!(ended.state, "succeeded", "{ended:?}");
    let history = foundation.director().history().await;
    assert_eq!(history, history_of_an_order(&instance));
}

#[tokio::test]
async fn an_identical_update_is_the_same_update() {
    let foundation = Foundation::setup().with_steps_of("100ms").start().await;
    let broker = foundation.broker().start().await;
    let (platform, instance) = (broker.platform(), new_id());
    platform
        .provision_to_the_end(&instance, &Order::small())
        .await;
    let change = Order::small().with_parameters(json!({ "maxclients": 100 }));
    let other = Order::small().with_parameters(json!({ "maxclients": 200 }));

    let token = platform.update(&instance, &change).await.accepted();
    let again = platform.update(&instance, &change).await.accepted();
    assert_eq!(again, token, "it is the same operation");
    let busy = platform.update(&instance, &other).await;
    assert_eq!(busy.expect_status(422).error(), "ConcurrencyError");
    let busy = platform.deprovision(&instance).await;
    assert_eq!(busy.expect_status(422).error(), "ConcurrencyError");

    let ended = platform.end_of_operation(&instance, &token).await;
    assert_eq!(ended.state, "succeeded", "{ended:?}");
}

#[tokio::test]
async fn a_repeated_deletion_is_the_same_deletion() {
    let foundation = Foundation::start().await;
    let broker = foundation.broker().start().await;
    let (platform, instance) = (broker.platform(), new_id());
    platform
        .provision_to_the_end(&instance, &Order::small())
        .await;

    let token = platform.deprovision(&instance).await.accepted();
    let again = platform.deprovision(&instance).await.accepted();
    assert_eq!(again, token, "it is the same operation");

    platform.end_of_operation(&instance, &token).await;
    platform.deprovision(&instance).await.expect_status(410);
    let history = [
        history_of_an_order(&instance),
        history_of_a_deletion(&instance),
    ];
    assert_eq!(foundation.director().history().await, history.concat());
}

#[tokio::test]
async fn the_token_of_an_operation_reports_nothing_of_another_instance() {
    let foundation = Foundation::start().await;
    let broker = foundation.broker().start().await;
    let (platform, director) = (broker.platform(), foundation.director());
    let (instance, unauthenticated_client) = (new_id(), new_id());
    platform
        .provision_to_the_end(&instance, &Order::small())
        .await;
    let made_up = json!({ "BoshTaskID": 1, "OperationType": "delete", "PostDeployErrand": {}, "PreDeleteErrand": {} });

    let reported = platform
        .last_operation(&instance, &made_up.to_string())
        .await;
    assert_eq!(reported.expect_status(200).json()["state"], "failed");
    let token = platform.deprovision(&instance).await.accepted();
    platform
        .last_operation(&unauthenticated_client, &token)
        .await
        .expect_status(404);

    platform.end_of_operation(&instance, &token).await;
    assert_eq!(director.deployments().await, Vec::<String>::new());
}
