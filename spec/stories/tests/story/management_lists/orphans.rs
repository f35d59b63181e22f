//! Orphan deployments.

use odb_stories::{Foundation, InstancesApi, Order, Response, new_id};
use serde_json::{Value, json};

use super::{both, order, registered};

fn names(answer: &Response) -> Vec<String> {
    let list = answer.expect_status(200).json();
    let rows = list.as_array().unwrap_or_else(|| panic!("{answer:?}"));
    let name = |row: &Value| {
        let row = row.as_object().unwrap();
        assert_eq!(row.len(), 1, "{row:?}");
        row["deployment_name"].as_str().unwrap().to_owned()
    };
    rows.iter().map(name).collect()
}

fn deployment(instance: &str) -> String {
    format!("service-instance_{instance}")
}

async fn purge(foundation: &Foundation, name: &str) {
    let purge = ["--as", "admin", "purge-service-instance", name];
    foundation.cf().run(&purge).await.succeeded();
}

#[tokio::test]
async fn deployments_of_instances_that_the_platform_does_not_know_are_reported_by_their_names() {
    for setup in both() {
        let foundation = setup.without_processes().start().await;
        let broker = registered(&foundation).await;
        let platform = broker.platform();
        assert_eq!(
            platform.listed_orphans().await.expect_status(200).json(),
            json!([])
        );
        let mut purged = Vec::new();
        for name in ["one", "two", "kept"] {
            let instance = order(&foundation, "small", name).await;
            if name != "kept" {
                purge(&foundation, name).await;
                purged.push(deployment(&instance));
            }
        }

        let reported = names(&platform.listed_orphans().await);

        purged.sort();
        assert_eq!(reported, purged);
    }
}

#[tokio::test]
async fn with_a_service_instances_api_its_list_says_what_is_an_orphan() {
    let foundation = Foundation::bare().start().await;
    let api = InstancesApi::start().await;
    let broker = foundation.broker().without_quotas();
    let broker = broker.with_instances_api(api.url()).start().await;
    let platform = broker.platform();
    let (known, unknown) = (new_id(), new_id());
    for instance in [&known, &unknown] {
        platform.create(instance).await;
    }
    api.add(&known, &Order::small());

    assert_eq!(
        names(&platform.listed_orphans().await),
        [deployment(&unknown)]
    );
}

#[tokio::test]
async fn a_deployment_marked_by_another_broker_is_not_reported_and_an_unmarked_one_is() {
    let foundation = Foundation::bare().start().await;
    let other = foundation.broker().without_quotas();
    let other = other.with("/service_catalog/id", "another offering".into());
    let mut other = other.start().await;
    let (anothers, nobodys) = (new_id(), new_id());
    let order = Order::small().with("service_id", "another offering".into());
    let ordering = other.platform().provision_to_the_end(&anothers, &order);
    ordering.await;
    other.stop().await;
    let unmarking = foundation.broker().without_quotas();
    let unmarking = unmarking.with("/broker/disable_bosh_configs", true.into());
    let mut unmarking = unmarking.start().await;
    let (platform, order) = (unmarking.platform(), Order::small());
    platform.provision_to_the_end(&nobodys, &order).await;
    unmarking.stop().await;
    let broker = registered(&foundation).await;

    let reported = names(&broker.platform().listed_orphans().await);

    assert_eq!(reported, [deployment(&nobodys)]);
    assert_eq!(foundation.director().deployments().await.len(), 2);
}
