//! `delete-all-service-instances`, also with `-and-deregister-broker`, against Cloud Controllers of both generations:
//! each line of `spec/contracts/errands.md` §5 and §6, and the parts of §11.2 about them.
//!
//! | module | contents |
//! | --- | --- |
//! | `outcomes` | the outcomes of an instance's deletion |
//! | `others` | operations of other clients |
//! | `hangers_on` | bindings, keys, routes and shares are deleted first |
//! | `choices` | the selected instances, the confirmation, and the command line |
//! | `purge` | plans are closed, all instances deleted, the broker unregistered |
//! | `interruptions` | the errand is interrupted, killed, and run again |

mod choices;
mod hangers_on;
mod interruptions;
mod others;
mod outcomes;
mod purge;

use odb_stories::{
    Broker, BrokerCall, BrokerConfiguration, CloudController, Errand, ErrandConfiguration,
    ErrandRun, Foundation, FoundationSetup, StandIn, eventually, new_id,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::TIMEOUT;

const DELETE_ALL: &str = "delete-all-service-instances";
const PURGE: &str = "delete-all-service-instances-and-deregister-broker";

/// The API version of the Cloud Controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Generation {
    V3,
    V2,
}

const GENERATIONS: [Generation; 2] = [Generation::V3, Generation::V2];

impl Generation {
    fn setup(self) -> FoundationSetup {
        let setup = Foundation::bare();
        match self {
            Self::V3 => setup,
            Self::V2 => setup.with_old_cloud_controller(),
        }
    }

    /// One of two values.
    fn or<T>(self, v3: T, v2: T) -> T {
        match self {
            Self::V3 => v3,
            Self::V2 => v2,
        }
    }

    fn path(self, instance: &str) -> String {
        format!("/{}/service_instances/{instance}", self.or("v3", "v2"))
    }

    /// The path that is polled after the deletion of an instance was asked for.
    fn polled(self, instance: &str) -> String {
        self.or("/v3/jobs/*".to_owned(), self.path(instance))
    }
}

/// A foundation with a registered broker, whose instances are deployed quickly.
struct Stage {
    generation: Generation,
    controller: CloudController,
    broker: Broker,
    // Last, for the broker has its files there.
    foundation: Foundation,
}

impl Stage {
    async fn of(generation: Generation) -> Self {
        Self::with(generation, |broker| broker).await
    }

    async fn with(
        generation: Generation,
        change: impl for<'f> FnOnce(BrokerConfiguration<'f>) -> BrokerConfiguration<'f>,
    ) -> Self {
        let foundation = generation.setup().start().await;
        let broker = foundation.broker().without_quotas();
        let broker = change(broker.with_lifecycle_errands(&Value::Null));
        let broker = broker.start().await;
        foundation.cf().register(&broker).await;
        Self {
            generation,
            controller: foundation.cloud_controller_as_the_broker().await,
            broker,
            foundation,
        }
    }

    /// Registers a broker that offers the same offering with another plan, `tiny`, and one that offers something else.
    async fn another_broker(&self) -> [StandIn; 2] {
        let offered = self.get("/v3/service_offerings").await;
        let offering = &offered["resources"][0]["broker_catalog"]["id"];
        let catalog = |id: &Value, name: &str, plan: &str| {
            let plans = json!([{ "id": new_id(), "name": plan, "description": "a plan" }]);
            let service = json!({
                "id": id, "name": name, "description": "an offering", "bindable": true, "plans": plans,
            });
            json!({ "services": [service] }).to_string()
        };
        let brokers = [
            ("other-broker", catalog(offering, "redis-too", "tiny")),
            ("idle-broker", catalog(&new_id().into(), "idle", "nothing")),
        ];
        let mut servers = Vec::new();
        for (name, catalog) in brokers {
            let server = StandIn::answering(200, &catalog).await;
            let password = self.foundation.folder().join("other.password");
            std::fs::write(&password, "secret-of-the-other").expect("the test made the folder");
            let password = password.display().to_string();
            self.cf(&[
                "create-service-broker",
                name,
                "broker",
                server.url(),
                "--password-file",
                &password,
            ])
            .await;
            servers.push(server);
        }
        servers.try_into().expect("there are two")
    }

    /// Orders an instance of the plan `small` and gives its guid.
    async fn order(&self, name: &str) -> String {
        self.order_of("small", name).await
    }

    async fn order_of(&self, plan: &str, name: &str) -> String {
        let plan = self.controller.plan(plan).await;
        let order = self.controller.order(name, &plan).await;
        self.controller.end(&order).await.unwrap();
        self.guid(name).await
    }

    async fn guid(&self, name: &str) -> String {
        let found = self
            .get(&format!("/v3/service_instances?names={name}"))
            .await;
        let guid = found["resources"][0]["guid"].as_str();
        guid.unwrap_or_else(|| panic!("there is no `{name}`: {found}"))
            .to_owned()
    }

    async fn get(&self, path: &str) -> Value {
        let (status, body) = self.controller.send(Method::GET, path, None).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.controller.send(Method::POST, path, Some(&body)).await;
        assert!(status < 300, "{path}: {status}: {answer}");
        answer
    }

    /// Asks for the deletion of an instance, and waits until the broker is at it.
    async fn begin_to_delete(&self, instance: &str) {
        let path = format!("/v3/service_instances/{instance}");
        let (status, answer) = self.controller.send(Method::DELETE, &path, None).await;
        assert_eq!(status, 202, "{answer}");
        self.comes_to(instance, "delete in progress").await;
    }

    /// Waits until the last operation of an instance is this one.
    async fn comes_to(&self, instance: &str, operation: &str) {
        let path = format!("/v3/service_instances/{instance}");
        eventually(operation, TIMEOUT, async || {
            let last = &self.get(&path).await["last_operation"];
            let found =
                [&last["type"], &last["state"]].map(|text| text.as_str().unwrap_or_default());
            if found.join(" ") == operation {
                Ok(())
            } else {
                Err(last.to_string())
            }
        })
        .await;
    }

    fn configuration(&self) -> ErrandConfiguration {
        ErrandConfiguration::of(&self.foundation, &self.broker)
            .with("/polling_interval", 0.into())
            .with("/max_in_flight", 10.into())
    }

    fn errand(&self, name: &str, arguments: &[&str]) -> Errand {
        Errand::new(&self.foundation, name)
            .configured(&self.configuration())
            .with(arguments)
    }

    async fn delete_all(&self, arguments: &[&str]) -> ErrandRun {
        let run = self.errand(DELETE_ALL, arguments).run().await;
        self.discreet(run).await
    }

    async fn purge(&self, arguments: &[&str]) -> ErrandRun {
        let errand = self.errand(PURGE, &["--broker-name", "redis-broker"]);
        self.discreet(errand.with(arguments).run().await).await
    }

    /// Asserts that its output contains no secret.
    async fn discreet(&self, run: ErrandRun) -> ErrandRun {
        let all = format!("{}{}", run.stderr, run.output);
        let secrets = self.foundation.secrets().await;
        secrets.expect_none_in("the errand's stderr", &all);
        self.broker
            .secrets()
            .expect_none_in("the errand's stderr", &all);
        run
    }

    /// The names of the instances that the Cloud Controller has.
    async fn instances(&self) -> Vec<String> {
        let found = self.get("/v3/service_instances?order_by=name").await;
        let rows = found["resources"].as_array().into_iter().flatten();
        rows.map(|row| row["name"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// Neither the Cloud Controller nor the Director has anything left of any instance.
    async fn expect_nothing_left(&self) {
        assert_eq!(self.instances().await, Vec::<String>::new());
        let director = self.foundation.director();
        assert_eq!(director.deployments().await, Vec::<String>::new());
    }

    /// How often each instance was deleted at the Director, whatever came of it.
    async fn deletions(&self) -> Vec<String> {
        let history = self.foundation.director().history().await;
        let mut deletions: Vec<_> = history
            .into_iter()
            .filter(|task| task.starts_with("delete deployment"))
            .collect();
        deletions.sort();
        deletions
    }

    /// The changing requests of errands and broker to the Cloud Controller, as `METHOD /path`.
    async fn changes(&self) -> Vec<String> {
        self.calls(|call| call.method != "GET").await
    }

    async fn calls(&self, which: impl Fn(&BrokerCall) -> bool) -> Vec<String> {
        let calls = self.foundation.control().broker_calls(0).await;
        let calls = calls
            .iter()
            .filter(|call| call.server == "cloud-controller");
        let calls = calls.filter(|call| which(call));
        calls
            .map(|call| format!("{} {}", call.method, call.path))
            .collect()
    }

    async fn cf(&self, arguments: &[&str]) -> String {
        let arguments = [&["--as", "admin"], arguments].concat();
        self.foundation.cf().run(&arguments).await.succeeded()
    }

    /// From now on the Cloud Controller answers so.
    async fn answers(&self, method: &str, path: &str, status: u16, body: &Value) -> u64 {
        self.answers_after(0, method, path, status, body).await
    }

    async fn answers_after(
        &self,
        after: u64,
        method: &str,
        path: &str,
        status: u16,
        body: &Value,
    ) -> u64 {
        let fault = json!({
            "server": "cloud-controller",
            "requests": { "method": method, "path": path },
            "after": after,
            "effect": {
                "kind": "answer",
                "status": status,
                "headers": { "Content-Type": "application/json" },
                "body": body.to_string(),
            },
        });
        self.foundation.control().set_fault(&fault).await.id
    }

    /// Sets a fault for the next task of an instance.
    async fn next_task(&self, instance: &str, effect: Value) -> u64 {
        let fault = json!({
            "deployment": format!("service-instance_{instance}"),
            "at": { "place": "start" },
            "effect": effect,
        });
        self.foundation.control().set_task_fault(&fault).await
    }
}

fn fails() -> Value {
    json!({ "kind": "fail", "code": 400_001, "message": "the disk is stuck" })
}

fn holds() -> Value {
    json!({ "kind": "hold" })
}

/// An error of the Cloud Controller, in the form of both versions at once.
fn rejection(code: u64, title: &str) -> Value {
    json!({
        "errors": [{ "code": code, "title": title, "detail": "not today" }],
        "code": code, "error_code": title, "description": "not today",
    })
}
