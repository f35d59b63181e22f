//! The lists of instances and orphans.

use odb_api_types::{
    ids::{InstanceId, PlanId},
    management::Inventory,
};
use odb_clients::{
    FailureKind, ServiceError,
    http::{Method, StatusCode, UnreadableAnswer},
};
use serde::{Deserialize, Serialize};

use super::{BrokerApi, BrokerApiRejection};

/// A service instance, as `GET /mgmt/service_instances` lists it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ListedInstance {
    /// Which one.
    #[serde(rename = "service_instance_id")]
    pub instance: InstanceId,
    /// Its plan's id in the catalog.
    #[serde(rename = "plan_id")]
    pub plan: PlanId,
    /// Its space, where that is known.
    #[serde(rename = "space_guid", default)]
    pub space: Option<String>,
}

/// A deployment without an instance, as `GET /mgmt/orphan_deployments` lists it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ListedOrphan {
    /// Its name.
    pub deployment_name: String,
}

/// There is no list, in the words of the Go errands.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The broker said no.
    #[error("failed to get service instances with status code: {}", status.as_u16())]
    Refused {
        /// The answer's status.
        status: StatusCode,
        /// The underlying error.
        #[source]
        source: ServiceError,
    },
    /// The answer is no list.
    #[error("failed to decode the list of service instances")]
    NotUnderstood(#[source] UnreadableAnswer),
    /// Nothing came.
    #[error(transparent)]
    NoAnswer(ServiceError),
}

impl ListError {
    /// Whether the broker, such as a Go broker, has no such list.
    pub fn is_unknown_route(&self) -> bool {
        matches!(self, Self::Refused { source, .. } if source.is_unknown_route())
    }
}

impl From<ServiceError> for ListError {
    fn from(error: ServiceError) -> Self {
        match error.kind {
            FailureKind::Refused { status, .. } => Self::Refused {
                status,
                source: error,
            },
            FailureKind::NotUnderstood { source } => Self::NotUnderstood(source),
            _ => Self::NoAnswer(error),
        }
    }
}

impl BrokerApi {
    /// All instances, or those that a filter selects; its names and values are the broker's affair.
    pub async fn list(
        &self,
        filter: &[(String, String)],
    ) -> Result<Vec<ListedInstance>, ListError> {
        let filter: Vec<(&str, &str)> = filter
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let path = ["mgmt", "service_instances"];
        let listed: Result<Option<Vec<ListedInstance>>, _> = self.get(&path, &filter).await;
        // A Go server encodes an empty list as `null`.
        listed
            .map(Option::unwrap_or_default)
            .map_err(ListError::from)
    }

    /// All instances, or those that a query selects, with all that the broker knows of them.
    pub async fn inventory(&self, query: &[(&str, &str)]) -> Result<Inventory, ListError> {
        let path = ["mgmt", "v1", "service_instances"];
        self.get(&path, query).await.map_err(ListError::from)
    }

    /// All deployments without an instance; `None` where the broker says `null`.
    pub async fn orphans(&self) -> Result<Option<Vec<ListedOrphan>>, ServiceError> {
        self.get(&["mgmt", "orphan_deployments"], &[]).await
    }

    /// The answer of `GET /mgmt/metrics`, unchanged.
    pub async fn metrics(&self) -> Result<Metrics, ServiceError> {
        let request = self.request(Method::GET, &["mgmt", "metrics"], &[]);
        let answer = self.send(&request).await?;
        // Its shape is validated, and the text returned unchanged.
        let _: Vec<serde_json::Value> = self.understood(&request, &answer)?;
        Ok(Metrics(answer.text()))
    }
}

/// A JSON array, as the broker has written it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metrics(String);

impl Metrics {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
