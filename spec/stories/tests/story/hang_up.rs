//! The client hangs up in the middle of a request.

use odb_stories::{Adapters, Broker, Foundation, Order, eventually, new_id};

use crate::{TIMEOUT, history_of_an_order};

#[tokio::test]
async fn an_order_whose_client_hangs_up_over_https_is_deployed_once_and_completes() {
    let foundation = Foundation::start().await;
    let adapters = foundation.adapters();
    let configuration = foundation.broker().with_adapter(&adapters.gated());
    let broker = configuration.start().await;

    expect_an_order_that_completes_unheard(&foundation, &adapters, &broker).await;
}

#[tokio::test]
async fn an_order_whose_client_hangs_up_over_http_is_deployed_once_and_completes() {
    let foundation = Foundation::start().await;
    let adapters = foundation.adapters();
    let configuration = foundation.broker().with_adapter(&adapters.gated());
    let broker = configuration.with_plain_http().start().await;

    expect_an_order_that_completes_unheard(&foundation, &adapters, &broker).await;
}

async fn expect_an_order_that_completes_unheard(
    foundation: &Foundation,
    adapters: &Adapters,
    broker: &Broker,
) {
    let instance = new_id();
    let request = broker
        .platform()
        .provision_request(&instance, &Order::small());

    let mut client = broker.raw_client().await;
    client.send(request).await;
    reach_gate(adapters).await;
    drop(client);
    adapters.open_gate();

    expect_one_deployment(foundation, broker, &instance).await;
}

async fn reach_gate(adapters: &Adapters) {
    eventually("the adapter has begun", TIMEOUT, async || {
        (adapters.at_gate() == 1)
            .then_some(())
            .ok_or_else(|| "it has not".to_owned())
    })
    .await;
}

async fn expect_one_deployment(foundation: &Foundation, broker: &Broker, instance: &str) {
    let (director, wanted) = (foundation.director(), history_of_an_order(instance));
    eventually("the order completes", TIMEOUT, async || {
        let history = director.history().await;
        if history == wanted {
            Ok(())
        } else {
            Err(format!("{history:?}"))
        }
    })
    .await;
    let deployment = format!("service-instance_{instance}");
    assert_eq!(director.deployments().await, [deployment]);

    // The platform, which got no answer, asks for the same again.
    let platform = broker.platform();
    eventually("the same order is known as complete", TIMEOUT, async || {
        let again = platform.provision(instance, &Order::small()).await;
        match again.status {
            202 => Err("it is known as in progress".to_owned()),
            _ => Ok(again),
        }
    })
    .await
    .expect_status(200);
    assert_eq!(director.history().await, wanted);
}
