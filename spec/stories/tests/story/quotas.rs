//! More is ordered than there is room for.

use std::collections::BTreeMap;

use odb_stories::{
    Broker, CfOrder, CfOutput, CloudController, Foundation, InstancesApi, Order, TaskFault,
    eventually, new_id,
};
use serde_json::{Value, json};

use crate::TIMEOUT;

/// How many order at once.
const ORDERS: usize = 64;

/// When a Cloud Controller writes an instance down, before it asks the broker or when that has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    Early,
    Late,
}

#[tokio::test]
async fn a_plan_with_room_for_two_lets_two_of_six_in_and_another_one_once_there_is_room() {
    let foundation = Foundation::start().await;
    let broker = foundation.broker().with_plan_limit(2).start().await;
    let cf = foundation.cf();
    cf.register(&broker).await;
    let orders: Vec<_> = (0..6)
        .map(|number| {
            let (cf, name) = (cf.clone(), format!("cache-{number}"));
            tokio::spawn(async move {
                let order = ["create-service", "redis", "small", &name, "--wait"];
                (cf.run(&order).await, name)
            })
        })
        .collect();

    let (mut made, mut refused): (Vec<String>, Vec<CfOutput>) = (Vec::new(), Vec::new());
    for order in orders {
        match order.await.unwrap() {
            (ordered, name) if ordered.status.success() => made.push(name),
            (ordered, _) => refused.push(ordered),
        }
    }

    assert_eq!(made.len(), 2, "{made:?} {refused:#?}");
    for refused in refused {
        assert!(refused.stderr.contains("There is no room"), "{refused:#?}");
        assert!(refused.stderr.contains("limit"), "{refused:#?}");
    }
    assert_eq!(foundation.director().deployments().await.len(), 2);

    cf.run(&["delete-service", &made[0], "--wait"])
        .await
        .succeeded();
    cf.run(&["create-service", "redis", "small", "late", "--wait"])
        .await
        .succeeded();
    assert_eq!(foundation.director().deployments().await.len(), 2);
}

#[tokio::test]
async fn exactly_ten_of_64_orders_get_a_plans_ten_locations_when_rows_are_written_early() {
    expect_ten_of_64(Rows::Early).await;
}

#[tokio::test]
async fn exactly_ten_of_64_orders_get_a_plans_ten_locations_when_rows_are_written_late() {
    expect_ten_of_64(Rows::Late).await;
}

#[tokio::test]
async fn a_resource_is_given_out_to_the_last_over_two_plans_when_rows_are_written_early() {
    expect_resource_given_out(Rows::Early).await;
}

#[tokio::test]
async fn a_full_foundation_lets_instances_change_their_plan_but_not_to_a_full_one() {
    let foundation = foundation(Rows::Early).await;
    let global = json!({ "service_instance_limit": 3 });
    let broker = foundation
        .broker()
        .with_quotas(global, limit(3), limit(1))
        .start()
        .await;
    let (controller, small) = registered(&foundation, &broker, "small").await;
    let cf = foundation.cf();
    for name in ["one", "two", "three"] {
        let order = controller.order(name, &small).await;
        controller.end(&order).await.unwrap();
    }
    let refused = controller.order("four", &small).await;
    let reported = controller.answer(&refused).await.unwrap_err();
    assert!(reported.contains("global instance limit"), "{reported}");

    cf.run(&["update-service", "one", "-p", "large", "--wait"])
        .await
        .succeeded();
    let reported = cf
        .run(&["update-service", "two", "-p", "large", "--wait"])
        .await
        .failed();
    assert!(reported.contains("plan instance limit"), "{reported}");
    cf.run(&["update-service", "one", "-p", "small", "--wait"])
        .await
        .succeeded();
    cf.run(&["update-service", "two", "-p", "large", "--wait"])
        .await
        .succeeded();
}

#[tokio::test]
async fn a_refused_change_of_plan_is_answered_with_422() {
    let foundation = foundation(Rows::Early).await;
    let broker = foundation
        .broker()
        .with_quotas(json!({}), limit(1), limit(0))
        .start()
        .await;
    let platform = broker.platform();
    let instance = platform.created().await;

    let answer = platform.update(&instance, &Order::large()).await;

    answer.expect_status(422);
    assert!(
        answer.description().contains("plan instance limit"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn a_broker_that_was_killed_counts_what_it_had_let_in() {
    for rows in [Rows::Early, Rows::Late] {
        let foundation = foundation(rows).await;
        let mut broker = limited_to(3, &foundation).await;
        let (controller, small) = registered(&foundation, &broker, "small").await;
        let done = controller.order("done", &small).await;
        controller.end(&done).await.unwrap();
        let control = foundation.control();
        control.set_task(TaskFault::at_start().holds()).await;
        let held = controller.order("held", &small).await;
        controller.answer(&held).await.unwrap();
        // Only the broker knows this one.
        let direct = new_id();
        let token = broker.platform().order(&direct).await;

        broker.kill();
        broker.ended().await;
        broker.start_again().await;

        let refused = controller.order("refused", &small).await;
        let reported = controller.answer(&refused).await.unwrap_err();
        assert!(
            reported.contains("There is no room"),
            "{rows:?}: {reported}"
        );
        control.clear_faults().await;
        controller.end(&held).await.unwrap();
        broker.platform().succeeds(&direct, &token).await;
    }
}

#[tokio::test]
async fn where_there_is_no_cloud_controller_the_service_instances_api_is_counted() {
    let foundation = foundation(Rows::Early).await;
    let api = InstancesApi::start().await;
    let (there, never_made, elsewhere) = (new_id(), new_id(), new_id());
    let mut broker = foundation
        .broker()
        .with_instances_api(api.url())
        .with_quotas(json!({}), limit(2), limit(9))
        .start()
        .await;
    broker.platform().create(&there).await;
    // The list alone decides the following orders, not the broker's memory.
    foundation
        .director()
        .delete_configs_named(&format!("odb-{there}"))
        .await;
    broker.stop().await;
    broker.start_again().await;
    api.add(&there, &Order::small());
    api.add(&never_made, &Order::small());
    api.add(&elsewhere, &Order::large());
    let platform = broker.platform();

    let instance = new_id();
    // Some write an instance down before they order it.
    api.add(&instance, &Order::small());
    platform.create(&instance).await;
    let refused = platform.provision(&new_id(), &Order::small()).await;
    refused.expect_status(403);
    api.remove(&there);
    platform
        .provision(&new_id(), &Order::small())
        .await
        .accepted();

    for request in api.requests() {
        let request = request.to_lowercase();
        assert!(
            request.starts_with("get /instances?service=redis "),
            "{request}"
        );
        assert!(request.contains("\r\nauthorization: basic "), "{request}");
    }
}

async fn expect_ten_of_64(rows: Rows) {
    let foundation = foundation(rows).await;
    let broker = limited_to(10, &foundation).await;
    let (controller, small) = registered(&foundation, &broker, "small").await;

    let orders = cf_orders_at_once(&controller, |_| small.clone()).await;

    let refused: Vec<String> = orders
        .into_iter()
        .filter_map(|(_, answer)| answer.err())
        .collect();
    assert_eq!(refused.len(), ORDERS - 10, "{refused:#?}");
    for reported in refused {
        assert!(reported.contains("There is no room"), "{reported}");
    }
    let rejections = broker.log();
    let rejections = rejections.iter().filter(|line| line.mentions("ODB-2010"));
    assert_eq!(rejections.count(), ORDERS - 10);
    eventually("ten are made", TIMEOUT, async || {
        let made = controller.instances().await;
        let made = made
            .iter()
            .filter(|reported| *reported == "create succeeded")
            .count();
        if made == 10 {
            Ok(())
        } else {
            Err(made.to_string())
        }
    })
    .await;
    assert_eq!(foundation.director().deployments().await.len(), 10);
}

/// Costs of 2 and 5 out of 31: whatever the order, less than 2 remain.
async fn expect_resource_given_out(rows: Rows) {
    let foundation = foundation(rows).await;
    let global = json!({ "resources": { "ips": { "limit": 31 } } });
    let cost = |cost: u64| json!({ "resources": { "ips": { "cost": cost } } });
    let broker = foundation
        .broker()
        .with_quotas(global, cost(2), cost(5))
        .start()
        .await;
    let (controller, small) = registered(&foundation, &broker, "small").await;
    let large = controller.plan("large").await;
    let costs = BTreeMap::from([(small.clone(), 2), (large.clone(), 5)]);

    let orders = cf_orders_at_once(&controller, |number| {
        if number % 2 == 0 {
            small.clone()
        } else {
            large.clone()
        }
    })
    .await;

    let (accepted, refused): (Vec<_>, Vec<_>) =
        orders.iter().partition(|(_, answer)| answer.is_ok());
    let used: u64 = accepted.iter().map(|(plan, _)| costs[plan]).sum();
    assert!((30..=31).contains(&used), "{used} of 31: {accepted:?}");
    assert_eq!(accepted.len() + refused.len(), ORDERS);
    for (_, answer) in refused {
        let reported = answer.as_ref().unwrap_err();
        assert!(
            reported.contains("global quotas [ips: (limit 31"),
            "{reported}"
        );
    }
}

async fn foundation(rows: Rows) -> Foundation {
    let setup = Foundation::bare();
    match rows {
        Rows::Early => setup.start().await,
        Rows::Late => {
            setup
                .with("/cloud_controller/instance_row", "after_call")
                .start()
                .await
        }
    }
}

fn limit(limit: u64) -> Value {
    json!({ "service_instance_limit": limit })
}

async fn limited_to(instances: u64, foundation: &Foundation) -> Broker {
    foundation
        .broker()
        .with_quotas(json!({}), limit(instances), limit(instances))
        .start()
        .await
}

/// Registers the broker, and gives a client and the Cloud Controller's id of a plan.
async fn registered(
    foundation: &Foundation,
    broker: &Broker,
    plan: &str,
) -> (CloudController, String) {
    foundation.cf().register(broker).await;
    let controller = foundation.cloud_controller().await;
    let plan = controller.plan(plan).await;
    (controller, plan)
}

/// Orders through the Cloud Controller, each with its plan.
async fn cf_orders_at_once(
    controller: &CloudController,
    plan: impl Fn(usize) -> String,
) -> Vec<(String, Result<(), String>)> {
    let orders: Vec<_> = (0..ORDERS)
        .map(|number| {
            let (controller, plan) = (controller.clone(), plan(number));
            tokio::spawn(async move {
                let order: CfOrder = controller.order(&format!("cache-{number}"), &plan).await;
                (plan, order)
            })
        })
        .collect();
    let mut answers = Vec::new();
    for order in orders {
        let (plan, order) = order.await.unwrap();
        answers.push((plan, controller.answer(&order).await));
    }
    answers
}
