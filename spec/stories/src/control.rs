//! The sandbox itself: its control API injects faults and returns the recorded calls (`docs/authors/sandbox.md`).

use std::time::Duration;

use reqwest::{Method, RequestBuilder};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::eventually;

/// How long a fault may take to strike.
const TIMEOUT: Duration = Duration::from_mins(1);

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
    pub number: u64,
    pub server: String,
    pub method: String,
    pub path: String,
    /// The query, empty when there was none.
    pub query: String,
    pub status: Option<u16>,
    #[serde(default)]
    pub user_agent: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct SetFault {
    pub id: u64,
    pub struck: u64,
    pub holds: u64,
}

#[derive(Clone, Debug)]
#[must_use]
pub struct Fault(Value);

#[derive(Clone, Debug)]
#[must_use]
pub struct TaskFault(Value);

impl Fault {
    /// Of requests such as `POST /deployments`, `/deployments` or `DELETE` to a server.
    pub fn of(server: &str, requests: &str) -> Self {
        let (method, path) = match requests.split_once(' ') {
            Some((method, path)) => (Some(method), Some(path)),
            None if requests.starts_with('/') => (None, Some(requests)),
            None => (Some(requests), None),
        };
        let mut fault = json!({ "server": server, "requests": {} });
        for (key, value) in [("method", method), ("path", path)] {
            if let Some(value) = value {
                fault["requests"][key] = value.into();
            }
        }
        Self(fault)
    }

    fn with(mut self, key: &str, value: Value) -> Self {
        self.0[key] = value;
        self
    }

    pub fn answers(self, status: u16) -> Self {
        self.with("effect", json!({ "kind": "answer", "status": status }))
    }

    pub fn says(self, status: u16, body: &str) -> Self {
        let effect = json!({ "kind": "answer", "status": status, "body": body });
        self.with("effect", effect)
    }

    /// Cuts the connection `before` the request takes effect, or `after`.
    pub fn drops(self, moment: &str) -> Self {
        self.with("effect", json!({ "kind": "drop", "moment": moment }))
    }

    /// Holds the request `before` it takes effect, or `after`, until faults are cleared.
    pub fn holds(self, moment: &str) -> Self {
        self.with("effect", json!({ "kind": "hold", "moment": moment }))
    }

    pub fn times(self, times: u64) -> Self {
        self.with("times", times.into())
    }

    /// Leaves this many requests alone first.
    pub fn after(self, requests: u64) -> Self {
        self.with("after", requests.into())
    }
}

impl TaskFault {
    /// Of the next task, before it does anything.
    pub fn at_start() -> Self {
        Self(json!({ "at": { "place": "start" } }))
    }

    /// Of the next task that comes to a step of this stage.
    pub fn at_step_of(stage: &str) -> Self {
        Self(json!({ "at": { "place": "step", "stage": stage } }))
    }

    /// Of tasks of one instance alone.
    pub fn of(mut self, instance: &str) -> Self {
        self.0["deployment"] = format!("service-instance_{instance}").into();
        self
    }

    /// The task waits until faults are cleared.
    pub fn holds(mut self) -> Self {
        self.0["effect"] = json!({ "kind": "hold" });
        self
    }

    pub fn fails(mut self, code: u64, message: &str) -> Self {
        self.0["effect"] = json!({ "kind": "fail", "code": code, "message": message });
        self
    }
}

impl BrokerCall {
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

    pub async fn set_fault(&self, fault: &Value) -> SetFault {
        self.ask(Method::POST, "/faults", Some(fault)).await
    }

    pub async fn set(&self, fault: Fault) -> SetFault {
        self.set_fault(&fault.0).await
    }

    pub async fn set_task(&self, fault: TaskFault) -> u64 {
        self.set_task_fault(&fault.0).await
    }

    pub async fn latest_call(&self) -> u64 {
        let calls = self.broker_calls(0).await;
        calls.last().map_or(0, |call| call.number)
    }

    /// Waits until a fault has struck or holds a request.
    pub async fn strikes(&self, id: u64) {
        eventually("the fault strikes", TIMEOUT, async || {
            let set = self.fault(id).await;
            let strikes = set.struck > 0 || set.holds > 0;
            strikes.then_some(()).ok_or_else(|| format!("{set:?}"))
        })
        .await;
    }

    pub async fn fault(&self, id: u64) -> SetFault {
        self.ask(Method::GET, &format!("/faults/{id}"), None).await
    }

    /// Clears one fault of a server; requests that it holds continue.
    pub async fn clear_fault(&self, id: u64) {
        let path = format!("/faults/{id}");
        let _: Value = self.ask(Method::DELETE, &path, None).await;
    }

    pub async fn clear_faults(&self) {
        let _: Value = self.ask(Method::DELETE, "/faults", None).await;
        self.clear_task_faults().await;
    }

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

    pub async fn task_faults(&self) -> Vec<Value> {
        self.ask(Method::GET, "/task-faults", None).await
    }

    /// Kills the agent of a VM: its processes keep running, but the agent does not answer.
    pub async fn kill_agent(&self, vm: &str) {
        let _: Value = self
            .ask(Method::DELETE, &format!("/vms/{vm}/agent"), None)
            .await;
    }

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
    pub fn has_struck(self) -> bool {
        self.struck > 0
    }
}
