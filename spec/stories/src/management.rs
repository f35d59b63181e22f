//! The requests of the new errands to the management API (`spec/openapi/management.yaml`).

use reqwest::Method;
use serde_json::Value;

use crate::{Platform, Response};

impl Platform {
    /// A request to the management API without any header of the platform's.
    pub async fn manage(&self, path: &str) -> Response {
        self.send(self.management_request(Method::GET, path)).await
    }

    /// The service instances, as the Go broker lists them. `query` chooses among them; it may be empty.
    pub async fn listed_instances(&self, query: &str) -> Response {
        self.manage(&format!("/mgmt/service_instances?{query}"))
            .await
    }

    /// The orphans, as the Go broker lists them.
    pub async fn listed_orphans(&self) -> Response {
        self.manage("/mgmt/orphan_deployments").await
    }

    pub async fn service_metrics(&self) -> Response {
        self.manage("/mgmt/metrics").await
    }

    /// The service instances, and what is known of each. `query` chooses among them; it may be empty.
    pub async fn inventory(&self, query: &str) -> Response {
        let path = format!("/mgmt/v1/service_instances?{query}");
        self.send(self.request(Method::GET, &path)).await
    }

    /// The inventory entry of one service instance.
    pub async fn inventory_of(&self, instance: &str) -> Response {
        let path = format!("/mgmt/v1/service_instances/{instance}");
        self.send(self.request(Method::GET, &path)).await
    }

    pub async fn begin_run(&self, body: &Value) -> Response {
        let request = self.request(Method::POST, "/mgmt/v1/runs");
        self.send(request.body(body.to_string())).await
    }

    pub async fn lease_run(&self, run: &str, body: &Value) -> Response {
        let request = self.request(Method::POST, &format!("/mgmt/v1/runs/{run}/lease"));
        self.send(request.body(body.to_string())).await
    }

    pub async fn stop_run(&self, run: &str) -> Response {
        let path = format!("/mgmt/v1/runs/{run}/stop");
        self.send(self.request(Method::POST, &path)).await
    }

    pub async fn latest_run(&self, kind: &str) -> Response {
        let path = format!("/mgmt/v1/runs/latest?kind={kind}");
        self.send(self.request(Method::GET, &path)).await
    }

    pub async fn end_run(&self, run: &str, body: &Value) -> Response {
        let request = self.request(Method::PATCH, &format!("/mgmt/v1/runs/{run}"));
        self.send(request.body(body.to_string())).await
    }
}
