//! Many ask at once.

use odb_stories::{Foundation, Order, Response, eventually, new_id};

use crate::{TIMEOUT, history_of_an_order};

#[tokio::test]
async fn orders_for_different_instances_are_worked_on_side_by_side() {
    let foundation = Foundation::start().await;
    let adapters = foundation.adapters();
    let configuration = foundation.broker().with_adapter(&adapters.gated());
    let broker = configuration.start().await;
    let orders: Vec<_> = (0..3)
        .map(|_| {
            let (platform, instance) = (broker.platform().clone(), new_id());
            tokio::spawn(async move { platform.provision(&instance, &Order::small()).await })
        })
        .collect();

    eventually("all adapters run", TIMEOUT, async || {
        let at_gate = adapters.at_gate();
        if at_gate == 3 {
            Ok(())
        } else {
            Err(format!("{at_gate} of 3"))
        }
    })
    .await;
    adapters.open_gate();

    for order in orders {
        order.await.unwrap().accepted();
    }
}

#[tokio::test]
async fn identical_orders_at_once_are_one_order() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let (platform, instance) = (broker.platform().clone(), new_id());
    let orders: Vec<_> = (0..8)
        .map(|_| {
            let (platform, instance) = (platform.clone(), instance.clone());
            tokio::spawn(async move { platform.provision(&instance, &Order::small()).await })
        })
        .collect();

    let mut answers: Vec<Response> = Vec::new();
    for order in orders {
        answers.push(order.await.unwrap());
    }

    // A late one may find the instance complete.
    let accepted = answers.iter().filter(|answer| answer.status != 200);
    let mut tokens: Vec<String> = accepted.map(Response::accepted).collect();
    tokens.dedup();
    assert_eq!(tokens.len(), 1, "{tokens:?}");
    platform.succeeds(&instance, &tokens[0]).await;
    let history = foundation.director().history().await;
    assert_eq!(history, history_of_an_order(&instance));
}

#[tokio::test]
async fn different_orders_for_one_id_at_once_make_one_instance() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let (platform, instance) = (broker.platform().clone(), new_id());
    let orders: Vec<_> = (1..=4)
        .map(|clients| {
            let (platform, instance) = (platform.clone(), instance.clone());
            let parameters = serde_json::json!({ "maxclients": clients });
            let order = Order::small().with_parameters(parameters);
            tokio::spawn(async move { platform.provision(&instance, &order).await })
        })
        .collect();

    let (mut accepted, mut conflicts) = (Vec::new(), 0);
    for order in orders {
        match order.await.unwrap() {
            answer if answer.status == 409 => conflicts += 1,
            answer => accepted.push(answer.accepted()),
        }
    }

    assert_eq!((accepted.len(), conflicts), (1, 3));
    platform.succeeds(&instance, &accepted[0]).await;
    let history = foundation.director().history().await;
    assert_eq!(history, history_of_an_order(&instance));
}
