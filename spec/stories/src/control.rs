//! The sandbox itself: its control API injects faults and returns the recorded calls (`docs/authors/sandbox.md`).

use reqwest::{Method, RequestBuilder};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

/// How the broker introduces itself.
const BROKER: &str = "on-demand-broker/";

/// The control API of one sandbox.
#[derive(Clone, Debug)]
pub struct Control {
    http: reqwest::Client,
    url: String,
}

/// A call of the broker to one of the servers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct BrokerCall {
    /// The number of the call among all calls to all servers.
    pub number: u64,
    /// The server.
    pub server: String,
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The query, empty when there was none.
    pub query: String,
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// How the broker has introduced itself.
    #[serde(default)]
    pub user_agent: String,
}

/// A fault that is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct SetFault {
    /// Its id.
    pub id: u64,
    /// How many requests it has struck.
    pub struck: u64,
    /// How many it holds at the moment.
    pub holds: u64,
}

impl BrokerCall {
    /// It asks for a token.
    pub fn is_for_a_token(&self) -> bool {
        self.path == "/oauth/token"
    }
}

impl Control {
    pub(crate) fn new(http: reqwest::Client, url: &str) -> Self {
        Self {
            http,
            url: url.to_owned(),
        }
    }

    /// The calls of brokers that came after the call with this number, in their order.
    pub async fn broker_calls(&self, after: u64) -> Vec<BrokerCall> {
        let path = format!("/calls?after={after}");
        let mut calls: Vec<BrokerCall> = self.ask(Method::GET, &path, None).await;
        calls.retain(|call| call.user_agent.starts_with(BROKER));
        calls
    }

    /// The addresses of a name of BOSH DNS.
    pub async fn addresses_of(&self, name: &str) -> Vec<String> {
        let answer: Value = self.ask(Method::GET, &format!("/names/{name}"), None).await;
        let addresses = answer["addresses"].as_array().into_iter().flatten();
        addresses
            .filter_map(|address| address.as_str().map(str::to_owned))
            .collect()
    }

    /// Seeds a fleet: service instances without orders. Returns its contents.
    pub async fn seed_fleet(&self, instances: usize, random_seed: u64) -> Value {
        let order = serde_json::json!({
            "broker": "redis-broker", "instances": instances, "random_seed": random_seed,
        });
        self.ask(Method::POST, "/fleet", Some(&order)).await
    }

    /// Sets a fault of a server.
    pub async fn set_fault(&self, fault: &Value) -> SetFault {
        self.ask(Method::POST, "/faults", Some(fault)).await
    }

    /// The state of a fault.
    pub async fn fault(&self, id: u64) -> SetFault {
        self.ask(Method::GET, &format!("/faults/{id}"), None).await
    }

    /// Clears one fault of a server; requests that it holds continue.
    pub async fn clear_fault(&self, id: u64) {
        let path = format!("/faults/{id}");
        let _: Value = self.ask(Method::DELETE, &path, None).await;
    }

    /// Clears all faults of servers and of tasks.
    pub async fn clear_faults(&self) {
        let _: Value = self.ask(Method::DELETE, "/faults", None).await;
        self.clear_task_faults().await;
    }

    /// Clears all faults of tasks.
    pub async fn clear_task_faults(&self) {
        let request = self.request(Method::DELETE, "/task-faults", None);
        let response = request.send().await.expect("the sandbox answers");
        assert!(response.status().is_success(), "{response:?}");
    }

    /// Sets a fault of the Director's tasks. Returns its id.
    pub async fn set_task_fault(&self, fault: &Value) -> u64 {
        let set: Value = self.ask(Method::POST, "/task-faults", Some(fault)).await;
        set["id"].as_u64().expect("ids are numbers")
    }

    /// Clears one fault of the Director's tasks; a task that it holds continues.
    pub async fn clear_task_fault(&self, id: u64) {
        let path = format!("/task-faults/{id}");
        let _: Value = self.ask(Method::DELETE, &path, None).await;
    }

    /// The faults of tasks that were not injected yet.
    pub async fn task_faults(&self) -> Vec<Value> {
        self.ask(Method::GET, "/task-faults", None).await
    }

    /// Kills the agent of a VM: its processes keep running, but the agent does not answer.
    pub async fn kill_agent(&self, vm: &str) {
        let _: Value = self
            .ask(Method::DELETE, &format!("/vms/{vm}/agent"), None)
            .await;
    }

    /// Loses a VM and all that runs on it.
    pub async fn lose_vm(&self, vm: &str) {
        let _: Value = self.ask(Method::DELETE, &format!("/vms/{vm}"), None).await;
    }

    /// Has the Director wait this long for agents that do not answer, for example `1s`.
    pub async fn wait_for_agents(&self, duration: &str) {
        let waiting = serde_json::json!({ "call": duration, "state": duration });
        let _: Value = self
            .ask(Method::PUT, "/behaviour/agents", Some(&waiting))
            .await;
    }

    /// Makes all tokens of a UAA, `bosh-uaa` or `cf-uaa`, good for nothing.
    pub async fn revoke_tokens(&self, uaa: &str) {
        let request = self.request(Method::DELETE, &format!("/tokens/{uaa}"), None);
        let response = request.send().await.expect("the sandbox answers");
        assert!(response.status().is_success(), "{response:?}");
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> T {
        let response = self.request(method, path, body).send().await;
        let response = response.expect("the sandbox answers");
        let status = response.status();
        let text = response.text().await.expect("the answer is complete");
        assert!(status.is_success(), "{path}: {status}: {text}");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}: {text}"))
    }

    fn request(&self, method: Method, path: &str, body: Option<&Value>) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url));
        match body {
            Some(body) => request
                .header("Content-Type", "application/json")
                .body(body.to_string()),
            None => request,
        }
    }
}

impl SetFault {
    /// It has struck at least once.
    pub fn has_struck(self) -> bool {
        self.struck > 0
    }
}
