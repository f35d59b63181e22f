//! Lists and deletes orphan deployments, and cancels operations.

use odb_api_types::{
    ids::InstanceId,
    management::{OperationStatus, OrphanDeployment},
};
use odb_clients::{
    ServiceError,
    http::{Method, StatusCode},
};
use serde::Deserialize;

use super::{BrokerApi, OperationData};

/// The options of an orphan's deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrphanDeletion {
    /// Also deletes an unmarked orphan.
    pub include_unmarked: bool,
    /// The plan of an unmarked orphan, by name or id.
    pub plan: Option<String>,
    /// The platform does not know the offering any more, and that is right.
    pub offering_is_gone: bool,
    /// Failures on the way are passed over.
    pub force: bool,
}

/// The answer to the deletion of an orphan.
#[derive(Clone, Debug, PartialEq)]
pub enum OrphanDeleted {
    /// It is being deleted; poll it with this data.
    Accepted(OperationData),
    /// It was gone.
    WasAbsent,
}

/// The broker's answer when it cancels an operation.
#[derive(Deserialize)]
struct Cancelling {
    description: Option<String>,
}

impl BrokerApi {
    /// All deployments without an instance, with the broker's details.
    pub async fn explained_orphans(&self) -> Result<Vec<OrphanDeployment>, ServiceError> {
        self.get(&["mgmt", "v1", "orphan_deployments"], &[]).await
    }

    /// Deletes an orphan. A deletion in progress continues.
    pub async fn delete_orphan(
        &self,
        deployment: &str,
        deletion: &OrphanDeletion,
    ) -> Result<OrphanDeleted, ServiceError> {
        let said = [
            ("include_unmarked", deletion.include_unmarked),
            ("offering_is_gone", deletion.offering_is_gone),
            ("force", deletion.force),
        ];
        let mut query: Vec<_> = said
            .into_iter()
            .filter_map(|(name, is_said)| is_said.then_some((name, "true")))
            .collect();
        query.extend(deletion.plan.as_deref().map(|plan| ("plan_id", plan)));
        let path = ["mgmt", "v1", "orphan_deployments", deployment];
        let request = self.request(Method::DELETE, &path, &query);
        let answer = self.send(&request).await?;
        if answer.status() == StatusCode::NO_CONTENT {
            return Ok(OrphanDeleted::WasAbsent);
        }
        self.understood(&request, &answer)
            .map(OrphanDeleted::Accepted)
    }

    /// The latest operation on an instance.
    pub async fn operation(&self, instance: &InstanceId) -> Result<OperationStatus, ServiceError> {
        self.get(&operation_of(instance), &[]).await
    }

    /// Cancels the operation in progress on an instance. The operation ends some time later, or continues for a while,
    /// as the answer says.
    pub async fn cancel_operation(
        &self,
        instance: &InstanceId,
    ) -> Result<Option<String>, ServiceError> {
        let answer: Cancelling = self.delete(&operation_of(instance), &[]).await?;
        Ok(answer.description)
    }
}

fn operation_of(instance: &InstanceId) -> [&str; 5] {
    [
        "mgmt",
        "v1",
        "service_instances",
        instance.as_str(),
        "operation",
    ]
}
