//! The Director's audit: actions on objects. It outlives the tasks.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

use super::{ConfigName, ConfigType, DeploymentName, Director, TaskId};
use crate::{http::Call, service_error::Result};

#[derive(Clone, Copy, Debug)]
pub enum AuditFilter<'a> {
    Deployment(&'a DeploymentName),
    /// The errands that were run on a deployment.
    Errands(&'a DeploymentName),
    /// The writes of a config.
    Config(&'a ConfigType, &'a ConfigName),
}

/// A record of the audit (`spec/contracts/director-api.md`, "Events").
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct AuditRecord {
    /// Later records have higher numbers.
    #[serde(deserialize_with = "number")]
    pub id: u64,
    /// The record of the start. A record without one is a start, or the action failed before its start was recorded.
    #[serde(default, rename = "parent_id", deserialize_with = "number_if_any")]
    pub parent: Option<u64>,
    #[serde(default)]
    pub user: String,
    /// Such as `update`.
    pub action: String,
    /// Such as `deployment`.
    pub object_type: String,
    pub object_name: Option<String>,
    /// Why it failed, in full. For the operator only.
    pub error: Option<String>,
    #[serde(default, deserialize_with = "number_if_any")]
    pub task: Option<TaskId>,
    /// The exit code of an errand that has ended.
    #[serde(default, rename = "context", deserialize_with = "exit_code")]
    pub exit_code: Option<i64>,
}

impl Director {
    /// The latest records that match a filter, 200 at most, the newest first.
    ///
    /// An unreadable record is left out. A Director without an audit log returns no records, and every Director keeps only
    /// the latest of all records.
    #[tracing::instrument(name = "director.audit", skip_all)]
    pub async fn audit(&self, call: &Call, filter: AuditFilter<'_>) -> Result<Vec<AuditRecord>> {
        let config_type;
        let query = match filter {
            AuditFilter::Deployment(deployment) => vec![
                ("deployment", deployment.as_str()),
                ("object_type", "deployment"),
            ],
            AuditFilter::Errands(deployment) => vec![
                ("deployment", deployment.as_str()),
                ("object_type", "errand"),
            ],
            AuditFilter::Config(kind, name) => {
                config_type = format!("config/{kind}");
                vec![
                    ("object_type", config_type.as_str()),
                    ("object_name", name.as_str()),
                    ("action", "create"),
                ]
            }
        };
        let records: Vec<Value> = self.0.read(call, &["events"], &query).await?;
        let records = records.into_iter();
        Ok(records
            .filter_map(|record| serde_json::from_value(record).ok())
            .collect())
    }
}

fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(D::Error::custom)
}

fn number_if_any<'de, D: Deserializer<'de>, T: FromStr>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.and_then(|text| text.parse().ok()))
}

/// Each action has its own form of context.
fn exit_code<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let context = Value::deserialize(deserializer)?;
    Ok(context.get("exit_code").and_then(Value::as_i64))
}
