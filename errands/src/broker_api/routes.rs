//! The requests to the broker, with their answers.

use std::fmt;

use anyhow::anyhow;
use odb_api_types::{
    ids::{InstanceId, PlanId},
    management::{
        BrokerVersion, Health, Inventory, InventoryEntry, LatestRun, ListedInstance, ListedOrphan,
        OperationState, OperationStatus, OrphanDeployment, RunId, RunKind,
    },
};
use odb_clients::{
    FailureKind, ServiceError,
    http::{Method, Request, Response, StatusCode, cut},
};
use serde::{
    Deserialize,
    de::{IntoDeserializer, value::Error as NoState},
};
use serde_json::{Map, Value, json};

use super::{BrokerApi, BrokerApiRejection, understood};

/// The answer to the request for a deprovisioning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deprovisioning {
    /// It is in progress.
    Begun,
    /// There was nothing to delete.
    Done,
}

/// The operation data that the broker expects with each poll. It is sent back unchanged, including unknown keys.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct OperationData(Map<String, Value>);

/// The answer to a poll.
#[derive(Debug)]
pub struct LastOperation {
    /// Whether it continues, or how it has ended.
    pub state: OperationState,
    /// What the platform shows its users.
    pub description: String,
}

/// There is no answer to a poll.
#[derive(Debug, thiserror::Error)]
pub enum LastOperationError {
    /// A state that the specification does not have.
    #[error("unknown state from last operation: {0}")]
    UnknownState(String),
    /// The request failed.
    #[error("error getting last operation")]
    Request(#[from] ServiceError),
}

impl BrokerApi {
    /// All instances, or those that a filter selects; its names and values are the broker's affair.
    pub(crate) async fn list(
        &self,
        filter: &[(String, String)],
    ) -> anyhow::Result<Vec<ListedInstance>> {
        let filter: Vec<(&str, &str)> = filter
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let path = ["mgmt", "service_instances"];
        let listed: Result<Option<_>, _> = self.get(&path, &filter).await;
        // A Go server encodes an empty list as `null`.
        listed.map(Option::unwrap_or_default).map_err(no_list)
    }

    /// All instances, or those that a query selects, with all that the broker knows of them.
    pub async fn inventory(&self, query: &[(&str, &str)]) -> anyhow::Result<Inventory> {
        let path = ["mgmt", "v1", "service_instances"];
        self.get(&path, query).await.map_err(no_list)
    }

    /// All deployments without an instance; `None` where the broker says `null`.
    pub(crate) async fn orphans(&self) -> Result<Option<Vec<ListedOrphan>>, ServiceError> {
        self.get(&["mgmt", "orphan_deployments"], &[]).await
    }

    /// The orphans with all that is known of each.
    pub async fn explained_orphans(&self) -> Result<Vec<OrphanDeployment>, ServiceError> {
        self.get(&["mgmt", "v1", "orphan_deployments"], &[]).await
    }

    /// Deletes an orphan. A deletion in progress continues; `None` where it was gone.
    pub(crate) async fn delete_orphan(
        &self,
        deployment: &str,
        query: &[(&str, &str)],
    ) -> Result<Option<OperationData>, ServiceError> {
        let path = ["mgmt", "v1", "orphan_deployments", deployment];
        let request = self.request(Method::DELETE, &path, query);
        let answer = self.send(&request).await?;
        if answer.status() == StatusCode::NO_CONTENT {
            return Ok(None);
        }
        understood(&request, &answer).map(Some)
    }

    /// The answer of `GET /mgmt/metrics`, a JSON array, unchanged.
    pub async fn metrics(&self) -> Result<String, ServiceError> {
        let request = self.request(Method::GET, &["mgmt", "metrics"], &[]);
        let answer = self.send(&request).await?;
        let _: Vec<Value> = understood(&request, &answer)?;
        Ok(answer.text())
    }

    /// The latest operation on an instance.
    pub async fn operation(&self, instance: &InstanceId) -> Result<OperationStatus, ServiceError> {
        self.look_up(&operation_of(instance), &[]).await
    }

    /// Cancels the operation in progress on an instance. The operation ends some time later, or continues for a while,
    /// as the answer says.
    pub async fn cancel_operation(
        &self,
        instance: &InstanceId,
    ) -> Result<Option<String>, ServiceError> {
        #[derive(Deserialize)]
        struct Cancelling {
            description: Option<String>,
        }
        let request = self.request(Method::DELETE, &operation_of(instance), &[]);
        let cancelling: Cancelling = understood(&request, &self.send(&request).await?)?;
        Ok(cancelling.description)
    }

    pub(crate) async fn operate(
        &self,
        operation: RunKind,
        instance: &InstanceId,
        plan: &PlanId,
        space: Option<&str>,
    ) -> Result<Response, ServiceError> {
        let request = self.operation_request(operation, instance, plan, space);
        self.send(&request).await
    }

    /// Begins an upgrade or a recreation; `None` where there is nothing to do.
    pub async fn begin(
        &self,
        operation: RunKind,
        instance: &InstanceId,
        plan: &PlanId,
        space: Option<&str>,
    ) -> Result<Option<OperationData>, ServiceError> {
        let request = self.operation_request(operation, instance, plan, space);
        understood(&request, &self.send(&request).await?)
    }

    fn operation_request(
        &self,
        operation: RunKind,
        instance: &InstanceId,
        plan: &PlanId,
        space: Option<&str>,
    ) -> Request {
        let path = ["mgmt", "service_instances", instance.as_str()];
        let query = [("operation_type", &*operation.to_string())];
        let body = json!({
            "plan_id": plan.as_str(),
            "context": { "space_guid": space.unwrap_or_default() },
        });
        super::json(self.request(Method::PATCH, &path, &query), &body)
    }

    /// Polls an operation. This also makes a Go broker start the next lifecycle errand.
    pub async fn last_operation(
        &self,
        instance: &InstanceId,
        operation: &OperationData,
    ) -> Result<LastOperation, LastOperationError> {
        #[derive(Deserialize)]
        struct Reported {
            #[serde(default)]
            state: String,
            #[serde(default)]
            description: Option<String>,
        }
        let id = instance.as_str();
        let path = ["v2", "service_instances", id, "last_operation"];
        let operation = operation.to_string();
        let reported: Reported = self.look_up(&path, &[("operation", &operation)]).await?;
        let state = OperationState::deserialize(reported.state.as_str().into_deserializer())
            .map_err(|_: NoState| LastOperationError::UnknownState(cut(&reported.state)))?;
        Ok(LastOperation {
            state,
            description: reported.description.unwrap_or_default(),
        })
    }
}

impl BrokerApi {
    /// The entry of one instance.
    pub async fn entry(&self, instance: &InstanceId) -> Result<InventoryEntry, ServiceError> {
        let path = ["mgmt", "v1", "service_instances", instance.as_str()];
        self.look_up(&path, &[]).await
    }

    /// How the VMs of an instance are.
    pub async fn health(&self, instance: &InstanceId) -> Result<Health, ServiceError> {
        let path = [
            "mgmt",
            "v1",
            "service_instances",
            instance.as_str(),
            "health",
        ];
        self.get(&path, &[]).await
    }

    /// The version of the broker.
    pub async fn version(&self) -> Result<BrokerVersion, ServiceError> {
        self.look_up(&["mgmt", "v1", "broker"], &[]).await
    }

    /// The report of the broker's doctor, unchanged.
    pub async fn doctor(&self) -> Result<Value, ServiceError> {
        self.get(&["mgmt", "v1", "doctor"], &[]).await
    }

    /// The latest run of a kind.
    pub async fn latest_run(&self, kind: RunKind) -> Result<LatestRun, ServiceError> {
        let path = ["mgmt", "v1", "runs", "latest"];
        self.get(&path, &[("kind", &*kind.to_string())]).await
    }

    /// Requests the end of a run: its process starts no further instance.
    pub async fn stop_run(&self, run: RunId) -> Result<(), ServiceError> {
        let path = ["mgmt", "v1", "runs", &*run.to_string(), "stop"];
        let _: Option<Value> = self.send_json(Method::POST, &path, &json!({})).await?;
        Ok(())
    }

    /// Requests the deprovisioning of an instance, as a platform does.
    pub async fn deprovision(
        &self,
        instance: &InstanceId,
        offering: &str,
        plan: &PlanId,
    ) -> Result<Deprovisioning, ServiceError> {
        let path = ["v2", "service_instances", instance.as_str()];
        let query = [
            ("service_id", offering),
            ("plan_id", plan.as_str()),
            ("accepts_incomplete", "true"),
        ];
        let request = self.request(Method::DELETE, &path, &query);
        let answer = self.send(&request).await?;
        let _: Value = understood(&request, &answer)?;
        Ok(if answer.status() == StatusCode::ACCEPTED {
            Deprovisioning::Begun
        } else {
            Deprovisioning::Done
        })
    }
}

fn operation_of(instance: &InstanceId) -> [&str; 5] {
    let id = instance.as_str();
    ["mgmt", "v1", "service_instances", id, "operation"]
}

/// There is no list, in the words of the Go errands.
fn no_list(error: ServiceError) -> anyhow::Error {
    match error.kind {
        FailureKind::Refused { status, .. } => {
            let status = status.as_u16();
            anyhow::Error::new(error).context(format!(
                "failed to get service instances with status code: {status}"
            ))
        }
        FailureKind::NotUnderstood { source } => {
            anyhow!(source).context("failed to decode the list of service instances")
        }
        _ => error.into(),
    }
}

/// Whether the broker, such as a Go broker, has no such list.
pub(crate) fn is_unknown_list(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<ServiceError>();
    error.is_some_and(ServiceError::is_unknown_route)
}

impl From<Map<String, Value>> for OperationData {
    fn from(members: Map<String, Value>) -> Self {
        Self(members)
    }
}

impl OperationData {
    /// The Director's task that the operation began with, if the broker knows it (yet).
    pub fn task(&self) -> Option<u64> {
        let task = self.0.get("BoshTaskID").and_then(Value::as_u64);
        task.filter(|task| *task > 0)
    }
}

impl fmt::Display for OperationData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_string(&self.0).map_err(|_| fmt::Error)?;
        f.write_str(&text)
    }
}

impl LastOperationError {
    /// Whether another poll may have an answer.
    pub fn is_transient(&self) -> bool {
        match self {
            // An error page of a proxy in front of the broker.
            Self::Request(error) => {
                matches!(error.kind, FailureKind::NotUnderstood { .. }) || error.is_transient()
            }
            Self::UnknownState(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use odb_clients::http::{Service, UnreadableResponse};

    use super::*;

    #[test]
    fn a_page_in_place_of_an_answer_is_transient_and_an_unknown_state_is_not() {
        let source = UnreadableResponse::NotJson { line: 1, column: 0 };
        let kind = FailureKind::NotUnderstood { source };
        let page = ServiceError::new(Service::BrokerManagementApi, Method::GET, "/x", kind);

        assert!(LastOperationError::from(page).is_transient());
        assert!(!LastOperationError::UnknownState("paused".to_owned()).is_transient());
    }
}
