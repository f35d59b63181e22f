//! A service instances API: a source of service instances without a Cloud Controller
//! (`spec/contracts/broker-behaviour.md` §7.6).

use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::{Order, StandIn};

#[derive(Debug)]
pub struct InstancesApi {
    server: StandIn,
    url: String,
    list: Mutex<Vec<Value>>,
}

impl InstancesApi {
    /// Starts one with an empty list.
    pub async fn start() -> Self {
        let server = StandIn::answering(200, "[]").await;
        Self {
            url: format!("{}/instances?service=redis", server.url()),
            server,
            list: Mutex::default(),
        }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn add(&self, instance: &str, order: &Order) {
        let plan = order.member("plan_id");
        let row = json!({ "service_instance_id": instance, "plan_id": plan, "space_guid": "here" });
        self.change(|list| list.push(row));
    }

    pub fn remove(&self, instance: &str) {
        self.change(|list| list.retain(|row| row["service_instance_id"] != instance));
    }

    pub fn requests(&self) -> Vec<String> {
        self.server.requests()
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Value>)) {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut list);
        self.server.answer(200, &json!(*list).to_string());
    }
}
