//! The operator's errands with unmarked instances.

use odb_stories::{Errand, ErrandConfiguration, Foundation};
use serde_json::Value;

use super::{go_broker::deployment, history_of};

/// The password of the broker stays what it was.
const PASSWORD: &str = "as the manifest has it";

const INSTANCES: usize = 3;

/// Unmarked instances of the platform, as all are on the day of the migration.
async fn unmarked(foundation: &Foundation) -> Vec<String> {
    let previous = foundation
        .broker()
        .with_password(PASSWORD)
        .with("/broker/disable_bosh_configs", true.into());
    let mut previous = previous.start().await;
    let cf = foundation.cf();
    cf.register(&previous).await;
    for number in 0..INSTANCES {
        let name = format!("cache-{number}");
        cf.run(&["create-service", "redis", "small", &name, "--wait"])
            .await
            .succeeded();
    }
    previous.stop().await;
    assert_eq!(foundation.director().configs().await, Vec::<Value>::new());
    let deployments = foundation.director().deployments().await;
    let instances = deployments
        .iter()
        .filter_map(|name| name.strip_prefix("service-instance_"));
    instances.map(str::to_owned).collect()
}

#[tokio::test]
async fn on_the_day_of_the_change_no_instance_is_an_orphan_and_all_are_upgraded_once() {
    let foundation = Foundation::bare().start().await;
    let instances = unmarked(&foundation).await;
    assert_eq!(instances.len(), INSTANCES);
    let broker = foundation.broker().with_password(PASSWORD).start().await;
    let file = ErrandConfiguration::of(&foundation, &broker).with("/max_in_flight", 2.into());
    let run = async |errand: &str| {
        let errand = Errand::by_its_name(&foundation, errand).configured(&file);
        errand.run().await.expect_status(0)
    };

    let orphans = run("orphan-deployments").await;
    assert_eq!(orphans.output.trim(), "[]");
    let mut before = Vec::new();
    for instance in &instances {
        before.push(history_of(&foundation, instance).await);
    }
    run("upgrade-all-service-instances").await;

    for (instance, mut history) in instances.iter().zip(before) {
        history.push("create deployment: done".to_owned());
        history.push("run errand health-check: done".to_owned());
        assert_eq!(history_of(&foundation, instance).await, history);
        let record = foundation.director().record(instance).await;
        let record = record.expect("from now on it is recorded");
        assert_eq!(record["outcome"]["state"], "succeeded", "{record}");
    }
    let orphans = run("orphan-deployments").await;
    assert_eq!(orphans.output.trim(), "[]");
    let left = foundation.director().deployments().await;
    let mut wanted: Vec<String> = instances.iter().map(|id| deployment(id)).collect();
    wanted.sort();
    assert_eq!(left, wanted);
}
