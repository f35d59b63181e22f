//! The number of instances is reported to collectors of telemetry, and no request waits for it.

use odb_stories::{
    Broker, BrokerConfiguration, Foundation, InstancesApi, Order, eventually, new_id,
};
use serde_json::{Value, json};

use crate::TIMEOUT;

/// A line for all plans, and one for each of the two.
const LINES: usize = 3;

#[tokio::test]
async fn instances_are_reported_at_the_start_and_when_an_operation_has_ended_and_not_by_polls() {
    let foundation = Foundation::bare().start().await;
    let api = InstancesApi::start().await;
    let (before, instance) = (new_id(), new_id());
    api.add(&before, &Order::large());
    let broker = with_instances_api(&foundation, &api).start().await;
    let platform = broker.platform();

    expect_reported(&broker, LINES).await;
    api.add(&instance, &Order::small());
    platform.create(&instance).await;
    expect_reported(&broker, 2 * LINES).await;
    let token = platform.deprovision(&instance).await.accepted();
    for _ in 0..5 {
        platform.last_operation(&instance, &token).await;
    }
    platform.end_of_operation(&instance, &token).await;
    expect_reported(&broker, 3 * LINES).await;

    assert_eq!(
        reported(&broker),
        [
            "broker startup 1, 0, 1",
            "instance create 2, 1, 1",
            "instance delete 2, 1, 1",
        ]
    );
    assert_eq!(
        api.requests().len(),
        3,
        "each end has a listing, polls have none"
    );
    for line in broker.telemetry() {
        assert_eq!(line["telemetry-source"], "on-demand-broker");
        assert_eq!(line["service-offering"], json!({ "name": "redis" }));
        let time = line["telemetry-time"].as_str().unwrap();
        assert_eq!(time.len(), "2026-11-21T12:00:00Z".len(), "{time}");
    }
}

#[tokio::test]
async fn many_operations_that_end_at_once_share_listings_and_are_reported_each() {
    const ORDERS: usize = 12;
    let foundation = Foundation::bare().start().await;
    let api = InstancesApi::start().await;
    let adapter = foundation.adapters().gated();
    let broker = with_instances_api(&foundation, &api)
        .with_adapter(&adapter)
        .start()
        .await;
    expect_reported(&broker, LINES).await;
    let orders: Vec<_> = (0..ORDERS)
        .map(|_| {
            let platform = broker.platform().clone();
            tokio::spawn(async move { platform.provision(&new_id(), &Order::small()).await })
        })
        .collect();
    foundation.adapters().open_gate();
    for order in orders {
        order.await.unwrap().accepted();
    }

    expect_reported(&broker, (1 + ORDERS) * LINES).await;

    let reported = reported(&broker);
    assert_eq!(reported[1..], vec!["instance create 0, 0, 0"; ORDERS]);
    let listings = api.requests().len();
    assert!(listings <= 1 + ORDERS, "{listings} listings");
}

#[tokio::test]
async fn where_instances_cannot_be_listed_one_line_says_so_and_orders_are_accepted() {
    let foundation = Foundation::bare().start().await;
    let api = InstancesApi::start().await;
    let broker = with_instances_api(&foundation, &api);
    drop(api);
    let broker = broker.start().await;
    let message = "Failed to query list of instances for telemetry";
    let errors = || {
        broker
            .log()
            .iter()
            .filter(|line| line.mentions(message))
            .count()
    };
    expect(&broker, "the first listing fails", || errors() == 1).await;

    broker
        .platform()
        .provision_to_the_end(&new_id(), &Order::small())
        .await;

    expect(&broker, "the second listing fails", || errors() == 2).await;
    assert_eq!(broker.telemetry(), Vec::<Value>::new());
}

#[tokio::test]
async fn telemetry_is_off_by_default() {
    let foundation = Foundation::bare().start().await;
    let api = InstancesApi::start().await;
    let broker = with_instances_api(&foundation, &api)
        .with("/broker/enable_telemetry", false.into())
        .start()
        .await;
    broker.platform().create(&new_id()).await;
    assert_eq!(broker.telemetry(), Vec::<Value>::new());
    assert_eq!(api.requests(), Vec::<String>::new());
}

fn with_instances_api<'f>(
    foundation: &'f Foundation,
    api: &InstancesApi,
) -> BrokerConfiguration<'f> {
    foundation
        .broker()
        .without_quotas()
        .with_instances_api(api.url())
        .with("/broker/enable_telemetry", true.into())
}

/// One text for each group of lines: the event, then the numbers of all plans and of each.
fn reported(broker: &Broker) -> Vec<String> {
    let lines = broker.telemetry();
    let groups = lines.chunks(LINES).map(|group| {
        let event = &group[0]["event"];
        assert!(
            group.iter().all(|line| line["event"] == *event),
            "{group:#?}"
        );
        let numbers: Vec<String> = group
            .iter()
            .map(|line| {
                let all = line.get("service-instances");
                let counted = all.or_else(|| line.get("service-instances-per-plan"));
                counted.unwrap()["total"].to_string()
            })
            .collect();
        let word = |key: &str| event[key].as_str().unwrap().to_owned();
        format!(
            "{} {} {}",
            word("item"),
            word("operation"),
            numbers.join(", ")
        )
    });
    groups.collect()
}

async fn expect_reported(broker: &Broker, lines: usize) {
    expect(broker, "the lines are reported", || {
        broker.telemetry().len() >= lines
    })
    .await;
    assert_eq!(broker.telemetry().len(), lines);
}

async fn expect(broker: &Broker, what: &str, condition: impl Fn() -> bool) {
    eventually(what, TIMEOUT, async || {
        if condition() {
            Ok(())
        } else {
            Err(format!("{:#?}", broker.telemetry()))
        }
    })
    .await;
}
