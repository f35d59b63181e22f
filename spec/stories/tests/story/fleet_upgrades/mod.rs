//! An operator upgrades or recreates a complete fleet (`spec/contracts/errands.md` §4): each line of its tables,
//! against a Cloud Controller with version 3 of its API and one with only version 2.
//!
//! | file | contents |
//! | --- | --- |
//! | `order_of_instances` | every instance is operated on, canaries first |
//! | `platform_pass` | upgrades use the Cloud Controller |
//! | `instance_states` | instances are busy, gone, broken or fail |
//! | `lost` | answers get lost, or come from a router without a route to the broker |
//! | `failures` | the broker or the operator disappears during the run |
//! | `interrupted` | a run is continued |
//! | `leases` | one process at a time carries out a run |
//! | `run_options` | selections, budgets, health gates and dry runs |
//! | `rejections` | a run that cannot begin |
//! | `go_broker` | the broker is a Go broker |

mod failures;
mod go_broker;
mod instance_states;
mod interrupted;
mod leases;
mod lost;
mod order_of_instances;
mod platform_pass;
mod rejections;
mod run_options;

use odb_stories::{
    Broker, BrokerConfiguration, CloudController, Errand, ErrandConfiguration, ErrandRun,
    Foundation, FoundationSetup, Order,
};
use reqwest::Method;
use serde_json::{Value, json};

const UPGRADE: &str = "upgrade-all-service-instances";
const RECREATE: &str = "recreate-all-service-instances";
const BOTH: [&str; 2] = [UPGRADE, RECREATE];

/// The broker is started anew in these tests, with the same password.
const PASSWORD: &str = "the same after a restart";

/// A few ordered instances.
struct Fleet {
    foundation: Foundation,
    broker: Broker,
    controller: CloudController,
    /// In the order in which they are listed.
    instances: Vec<String>,
}

impl Fleet {
    /// On a foundation of today.
    async fn of(count: usize) -> Self {
        Self::on(Foundation::setup(), count, |broker| broker).await
    }

    /// On any foundation, sold by any broker.
    async fn on(
        setup: FoundationSetup,
        count: usize,
        sold: impl FnOnce(BrokerConfiguration<'_>) -> BrokerConfiguration<'_>,
    ) -> Self {
        let foundation = setup.without_processes().start().await;
        let broker = sold(configuration(&foundation)).start().await;
        foundation.cf().register(&broker).await;
        let controller = foundation.cloud_controller().await;
        let plan = controller.plan("small").await;
        let mut orders = Vec::new();
        for number in 0..count {
            let name = format!("cache-{number}");
            orders.push(controller.order(&name, &plan).await);
        }
        for order in orders {
            controller.end(&order).await.unwrap();
        }
        let instances = listed(&broker).await;
        assert_eq!(instances.len(), count);
        Self {
            foundation,
            broker,
            controller,
            instances,
        }
    }

    /// Another broker takes the place of this one.
    async fn replace_broker(
        &mut self,
        by: impl FnOnce(BrokerConfiguration<'_>) -> BrokerConfiguration<'_>,
    ) {
        self.broker.stop().await;
        self.broker = by(configuration(&self.foundation)).start().await;
    }

    /// The file of an errand, which may have two instances in flight.
    fn file(&self) -> ErrandConfiguration {
        ErrandConfiguration::of(&self.foundation, &self.broker)
            .with("/max_in_flight", json!(2))
            .with("/attempt_limit", json!(2))
    }

    fn errand(&self, name: &str, file: &ErrandConfiguration) -> Errand {
        Errand::new(&self.foundation, name).configured(file)
    }

    async fn run(&self, name: &str, file: &ErrandConfiguration) -> ErrandRun {
        self.errand(name, file).run().await
    }

    fn deployment(&self, location: usize) -> String {
        format!("service-instance_{}", self.instances[location])
    }

    /// The next task of an instance comes to this.
    async fn task_fault(&self, location: usize, at: &str, effect: Value) {
        let fault = json!({
            "deployment": self.deployment(location),
            "at": { "place": at },
            "effect": effect,
        });
        self.foundation.control().set_task_fault(&fault).await;
    }

    /// Holds the next task of an instance until faults are cleared.
    async fn hold(&self, location: usize) {
        self.task_fault(location, "start", json!({ "kind": "hold" }))
            .await;
    }

    /// The next task of an instance fails.
    async fn fail(&self, location: usize) {
        let effect = json!({ "kind": "fail", "code": 400_001, "message": "no disk space left" });
        self.task_fault(location, "start", effect).await;
    }

    /// Starts an operation on an instance that does not end until faults are cleared.
    async fn occupy(&self, location: usize) {
        self.hold(location).await;
        let order = Order::small();
        let body = json!({ "plan_id": order.member("plan_id"), "context": { "space_guid": "" } });
        let platform = self.broker.platform();
        let answer = platform
            .operate(&self.instances[location], "recreate", &body)
            .await;
        answer.expect_status(202);
    }

    /// The platform forgets an instance; its deployment stays.
    async fn purge(&self, location: usize) {
        let path = format!(
            "/v3/service_instances/{}?purge=true",
            self.instances[location]
        );
        let broker = self.foundation.cloud_controller_as_the_broker().await;
        let (status, body) = broker.send(Method::DELETE, &path, None).await;
        assert_eq!(status, 204, "{body}");
    }

    /// The operations on an instance, oldest first, without its creation.
    async fn operations_on(&self, location: usize) -> Vec<String> {
        let director = self.foundation.director();
        let tasks = director.tasks_of(&self.deployment(location)).await;
        let reported = tasks.iter().map(|task| {
            let description = task["description"].as_str().unwrap_or_default();
            let state = task["state"].as_str().unwrap_or_default();
            format!("{description}: {state}")
        });
        reported
            .filter(|reported| {
                !reported.starts_with("run errand") && !reported.starts_with("retrieve")
            })
            .skip(1)
            .collect()
    }

    /// How many deployments were submitted for an instance since it was made.
    async fn deployments_of(&self, location: usize) -> usize {
        self.operations_on(location).await.len()
    }
}

fn configuration(foundation: &Foundation) -> BrokerConfiguration<'_> {
    foundation.broker().without_quotas().with_password(PASSWORD)
}

/// The instances in the order of the broker's list.
async fn listed(broker: &Broker) -> Vec<String> {
    let platform = broker.platform();
    let request = platform.request(Method::GET, "/mgmt/service_instances");
    let answer = platform.send(request).await;
    let list = answer.expect_status(200).json();
    let rows = list.as_array().into_iter().flatten();
    rows.filter_map(|row| row["service_instance_id"].as_str())
        .map(str::to_owned)
        .collect()
}

/// The foundations on which a behaviour has to be the same.
fn foundations() -> [FoundationSetup; 2] {
    [
        Foundation::setup(),
        Foundation::setup().with_old_cloud_controller(),
    ]
}

/// Lines without the second prefix.
fn own_texts(run: &ErrandRun) -> Vec<String> {
    let texts = run.texts().into_iter().filter_map(|text| {
        text.strip_prefix("[upgrade-all] ")
            .or_else(|| text.strip_prefix("[recreate-all] "))
    });
    texts.map(str::to_owned).collect()
}

/// The final line, from its counts on.
fn summary(run: &ErrandRun) -> String {
    let texts = own_texts(run);
    let line = texts
        .iter()
        .rev()
        .find(|text| text.starts_with("FINISHED PROCESSING"));
    line.unwrap_or_else(|| panic!("there is no summary: {run:?}"))
        .clone()
}

#[track_caller]
fn expect_summary(run: &ErrandRun, text: &str) {
    let summary = summary(run);
    assert!(summary.contains(text), "`{text}` is missing: {summary}");
}
