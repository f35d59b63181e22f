//! The broker is stopped during a request.

use odb_stories::{
    Adapters, Broker, Foundation, Order, ProcessTable, Response, eventually, new_id,
};
use reqwest::Url;
use tokio::{net::TcpStream, task::JoinHandle};

use crate::{TIMEOUT, history_of_an_order};

/// Clients that fail to authenticate. The last of them wait for their answers for seconds, longer than an answer that
/// is ready needs to leave.
const UNAUTHENTICATED: usize = 8;

#[tokio::test]
async fn a_request_is_answered_before_the_broker_ends_and_its_operation_goes_on_with_the_next() {
    let foundation = Foundation::setup()
        .with("/director/durations/step", "100ms")
        .start()
        .await;
    let (adapters, director) = (foundation.adapters(), foundation.director());
    let configuration = foundation.broker().with_adapter(&adapters.gated());
    let mut broker = configuration
        .with("/broker/shutdown_timeout_in_seconds", 60.into())
        .start()
        .await;
    let (platform, instance) = (broker.platform().clone(), new_id());
    let order = order_up_to_the_gate(&broker, &adapters, &instance).await;
    let unauthenticated_client = platform.with_wrong_password();
    let waiting: Vec<_> = (0..UNAUTHENTICATED)
        .map(|_| {
            let unauthenticated_client = unauthenticated_client.clone();
            tokio::spawn(async move { unauthenticated_client.catalog().await })
        })
        .collect();
    let counted = format!("odb_http_failed_authentications_total {UNAUTHENTICATED}");
    eventually(
        "all unauthenticated clients are rejected",
        TIMEOUT,
        async || {
            let text = broker.metrics().await.text;
            text.lines()
                .any(|line| line == counted)
                .then_some(())
                .ok_or(text)
        },
    )
    .await;

    broker.terminate();
    expect_new_connections_refused(&broker).await;
    // Every one of these is a request in progress as well. When they have their answers, the order has waited for
    // seconds.
    for answer in waiting {
        answer.await.unwrap().expect_status(401);
    }
    assert!(!order.is_finished(), "the gate is still closed");
    adapters.open_gate();

    let token = order.await.unwrap().accepted();
    assert_eq!(broker.ended().await.code(), Some(0));
    broker.start_again().await;
    platform.succeeds(&instance, &token).await;
    assert_eq!(director.history().await, history_of_an_order(&instance));
}

#[tokio::test]
async fn a_second_signal_ends_the_broker_at_once_with_its_adapters() {
    let foundation = Foundation::bare().start().await;
    let adapters = foundation.adapters();
    let adapter = adapters.gated();
    let mut broker = foundation
        .broker()
        .with_adapter(&adapter)
        .with("/broker/shutdown_timeout_in_seconds", 3600.into())
        .start()
        .await;
    let order = order_up_to_the_gate(&broker, &adapters, &new_id()).await;
    broker.terminate();
    expect_new_connections_refused(&broker).await;

    broker.interrupt();

    assert_eq!(broker.ended().await.code(), Some(130));
    order.abort();
    let log = broker.log();
    let is_said = log.iter().any(|line| line.mentions("second signal"));
    assert!(is_said, "{log:#?}");
    let program = adapter.display().to_string();
    eventually("no adapter is left", TIMEOUT, async || {
        let table = ProcessTable::look();
        let left = table.with_argument(&program);
        left.is_empty()
            .then_some(())
            .ok_or_else(|| format!("{left:?}"))
    })
    .await;
}

/// Orders an instance, and waits until the adapter is asked for its manifest.
async fn order_up_to_the_gate(
    broker: &Broker,
    adapters: &Adapters,
    instance: &str,
) -> JoinHandle<Response> {
    let platform = broker.platform().clone();
    let request = platform.provision_request(instance, &Order::small());
    let order = tokio::spawn(async move { platform.send(request).await });
    eventually("the adapter has begun", TIMEOUT, async || {
        (adapters.at_gate() == 1)
            .then_some(())
            .ok_or_else(|| "not yet".to_owned())
    })
    .await;
    order
}

async fn expect_new_connections_refused(broker: &Broker) {
    let address = Url::parse(broker.url())
        .unwrap()
        .socket_addrs(|| None)
        .unwrap()[0];
    eventually(
        "new connections are refused",
        TIMEOUT,
        async || match TcpStream::connect(address).await {
            Ok(_) => Err("one was taken".to_owned()),
            Err(_) => Ok(()),
        },
    )
    .await;
}

#[tokio::test]
async fn a_broker_that_is_stopped_while_it_starts_leaves_no_adapter_behind() {
    let foundation = Foundation::start().await;
    let adapters = foundation.adapters();
    let hanging = adapters.script(
        r#"read_input
echo "$$" >>"$folder/entered"
sleep 86400"#,
    );
    let file = foundation
        .broker()
        .with_adapter(&hanging)
        .with("/broker/enable_plan_schemas", true.into())
        .write("broker.yml");
    let mut broker = foundation.broker_process(&["serve", "--config", &file.display().to_string()]);
    eventually("adapters have begun", TIMEOUT, async || {
        (adapters.at_gate() == 2)
            .then_some(())
            .ok_or_else(|| "not yet".to_owned())
    })
    .await;

    broker.terminate();

    assert_eq!(broker.exit(TIMEOUT).await.code(), Some(0));
    let program = hanging.display().to_string();
    eventually("no adapter is left", TIMEOUT, async || {
        let table = ProcessTable::look();
        let left = table.with_argument(&program);
        left.is_empty()
            .then_some(())
            .ok_or_else(|| format!("{left:?}"))
    })
    .await;
}
