//! More is ordered than there is room for.

use odb_conformance::{CfOutput, Foundation};

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
        assert!(refused.talk.contains("There is no room"), "{refused:#?}");
        assert!(refused.talk.contains("limit"), "{refused:#?}");
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
