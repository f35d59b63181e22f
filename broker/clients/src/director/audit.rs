//! The Director's audit: actions on objects. It outlives the tasks.

use serde::Deserialize;
use serde_json::Value;

use super::{ConfigName, ConfigType, DeploymentName, Director, TaskId};
use crate::{http::Call, service_error::ServiceError};

/// Which records to request.
#[derive(Clone, Copy, Debug)]
pub enum AuditFilter<'a> {
    /// A deployment.
    Deployment(&'a DeploymentName),
    /// The errands that were run on a deployment.
    Errands(&'a DeploymentName),
    /// The writes of a config.
    Config(&'a ConfigType, &'a ConfigName),
}

/// A record of the audit (`spec/contracts/director-api.md`, "Events").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// Later records have higher numbers.
    pub id: u64,
    /// The record of the start. A record without one is a start, or the action failed before its start was recorded.
    pub parent: Option<u64>,
    /// The user of the action.
    pub user: String,
    /// The action, such as `update`.
    pub action: String,
    /// The type of the object, such as `deployment`.
    pub object_type: String,
    /// To which one.
    pub object_name: Option<String>,
    /// Why it failed, in full. For the operator only.
    pub error: Option<String>,
    /// The task that did it.
    pub task: Option<TaskId>,
    /// The exit code of an errand that has ended.
    pub exit_code: Option<i64>,
}

impl Director {
    /// The latest records that match a filter, 200 at most, the newest first. Safe to repeat.
    ///
    /// A Director without an audit log returns no records, and every Director keeps only the latest of all records.
    #[tracing::instrument(name = "director.audit", skip_all)]
    pub async fn audit(
        &self,
        call: &Call,
        filter: AuditFilter<'_>,
    ) -> Result<Vec<AuditRecord>, ServiceError> {
        let of_config;
        let query = match filter {
            AuditFilter::Deployment(deployment) => {
                vec![
                    ("deployment", deployment.as_str()),
                    ("object_type", "deployment"),
                ]
            }
            AuditFilter::Errands(deployment) => {
                vec![
                    ("deployment", deployment.as_str()),
                    ("object_type", "errand"),
                ]
            }
            AuditFilter::Config(kind, name) => {
                of_config = format!("config/{}", kind.as_str());
                vec![
                    ("object_type", of_config.as_str()),
                    ("object_name", name.as_str()),
                    ("action", "create"),
                ]
            }
        };
        let wire: Vec<WireRecord> = self.read(call, &["events"], &query).await?;
        Ok(wire.into_iter().filter_map(AuditRecord::of).collect())
    }
}

#[derive(Deserialize)]
struct WireRecord {
    id: String,
    parent_id: Option<String>,
    #[serde(default)]
    user: String,
    action: String,
    object_type: String,
    object_name: Option<String>,
    error: Option<String>,
    task: Option<String>,
    /// Each action has its own form.
    #[serde(default)]
    context: Value,
}

impl AuditRecord {
    fn of(wire: WireRecord) -> Option<Self> {
        Some(Self {
            id: wire.id.parse().ok()?,
            parent: wire.parent_id.and_then(|parent| parent.parse().ok()),
            user: wire.user,
            action: wire.action,
            object_type: wire.object_type,
            object_name: wire.object_name,
            error: wire.error,
            task: wire
                .task
                .and_then(|task| task.parse().ok())
                .map(TaskId::new),
            exit_code: wire.context.get("exit_code").and_then(Value::as_i64),
        })
    }
}
