//! How much of the offering is used.

use odb_stories::{Broker, BrokerConfiguration, Foundation, InstancesApi, Order, Response, new_id};
use serde_json::json;

use super::{both, expect_status_alone, order};

/// Key without what all keys begin with, and value.
fn reported(answer: &Response) -> Vec<(String, i64)> {
    let list = answer.expect_status(200).json();
    let metrics = list.as_array().unwrap_or_else(|| panic!("{answer:?}"));
    let metrics = metrics.iter().map(|metric| {
        assert_eq!(metric["unit"], "count");
        let key = metric["key"].as_str().unwrap();
        let key = key.strip_prefix("/on-demand-broker/redis/");
        (
            key.unwrap_or_else(|| panic!("{metric}")).to_owned(),
            metric["value"].as_i64().unwrap(),
        )
    });
    metrics.collect()
}

fn owned(metrics: &[(&str, i64)]) -> Vec<(String, i64)> {
    let metrics = metrics.iter();
    metrics
        .map(|(key, value)| ((*key).to_owned(), *value))
        .collect()
}

/// Of every sort of quota one, and of some none.
fn with_quotas(configuration: BrokerConfiguration<'_>) -> BrokerConfiguration<'_> {
    configuration.with_quotas(
        json!({ "service_instance_limit": 10, "resources": { "ips": { "limit": 20 }, "memory": { "limit": 7 } } }),
        json!({
            "service_instance_limit": 5,
            "resources": { "ips": { "cost": 2, "limit": 9 }, "disks": { "cost": 3 }, "idle": { "limit": 4 } },
        }),
        json!({ "resources": { "ips": { "cost": 5 } } }),
    )
}

/// The metrics of two small instances and a large one.
const EXPECTED: [(&str, i64); 13] = [
    ("small/total_instances", 2),
    ("small/quota_remaining", 3),
    ("small/disks/used", 6),
    ("small/ips/used", 4),
    ("small/ips/remaining", 5),
    ("large/total_instances", 1),
    ("large/ips/used", 5),
    ("total_instances", 3),
    ("quota_remaining", 7),
    ("ips/used", 9),
    ("ips/remaining", 11),
    ("memory/used", 0),
    ("memory/remaining", 7),
];

#[tokio::test]
async fn instances_quotas_and_resources_are_reported_in_the_order_of_the_catalog() {
    for setup in both() {
        let foundation = setup.without_processes().start().await;
        let broker = with_quotas(foundation.broker()).start().await;
        foundation.cf().register(&broker).await;
        for (plan, name) in [("small", "one"), ("large", "two"), ("small", "three")] {
            order(&foundation, plan, name).await;
        }

        let first = broker.platform().service_metrics().await;
        let again = broker.platform().service_metrics().await;

        assert_eq!(reported(&first), owned(&EXPECTED));
        assert_eq!(first.text, again.text, "the order is the same every time");
    }
}

#[tokio::test]
async fn without_a_cloud_controller_the_service_instances_api_is_counted() {
    let foundation = Foundation::bare().start().await;
    let api = InstancesApi::start().await;
    for order in [Order::small(), Order::large(), Order::small()] {
        api.add(&new_id(), &order);
    }
    let broker = with_quotas(foundation.broker()).with_instances_api(api.url());
    let broker = broker.start().await;

    assert_eq!(
        reported(&broker.platform().service_metrics().await),
        owned(&EXPECTED)
    );
}

#[tokio::test]
async fn a_broker_that_is_not_registered_has_nothing_to_count() {
    for setup in both() {
        let foundation = setup.without_processes().start().await;
        let broker = foundation.broker().start().await;

        let answer = broker.platform().service_metrics().await;

        expect_status_alone(&broker, &answer, 503, "ODB-2055");
    }
}

/// A quota that was lowered since is overdrawn.
#[tokio::test]
async fn what_is_used_beyond_a_quota_is_reported_as_less_than_nothing() {
    let foundation = Foundation::bare().start().await;
    let mut broker = foundation.broker().without_quotas().start().await;
    foundation.cf().register(&broker).await;
    for name in ["one", "two"] {
        order(&foundation, "small", name).await;
    }
    broker.stop().await;
    let broker = foundation.broker().with_plan_limit(1).start().await;

    let reported = reported(&broker.platform().service_metrics().await);

    let left = reported
        .iter()
        .find(|(key, _)| key == "small/quota_remaining");
    assert_eq!(left, Some(&("small/quota_remaining".to_owned(), -1)));
}

#[tokio::test]
async fn a_plan_that_is_gone_from_the_configuration_hides_no_other() {
    for setup in both() {
        let foundation = setup.without_processes().start().await;
        let mut broker = foundation.broker().without_quotas().start().await;
        foundation.cf().register(&broker).await;
        for (plan, name) in [("small", "one"), ("large", "two")] {
            order(&foundation, plan, name).await;
        }
        broker.stop().await;
        let broker: Broker = foundation
            .broker()
            .without_quotas()
            .without_plan("large")
            .with("/broker/disable_cf_startup_checks", true.into())
            .start()
            .await;

        let answer = broker.platform().service_metrics().await;

        // An instance that occupies a slot counts everywhere, as with quotas.
        assert_eq!(
            reported(&answer),
            owned(&[("small/total_instances", 1), ("total_instances", 2)])
        );
        let log = broker.log_of_request(&answer.request_id());
        assert!(log.iter().any(|line| line.mentions("ODB-1105")), "{log:#?}");
    }
}
