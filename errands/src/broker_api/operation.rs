//! Upgrades or recreates one instance, and polls the operation (`spec/contracts/errands.md` §4.4).

use std::fmt;

use odb_api_types::ids::{InstanceId, PlanId};
use odb_clients::{
    FailureKind, ServiceError,
    http::{Answer, Method, StatusCode, UnreadableAnswer, cut},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{BrokerApi, client};

/// The operation that a run performs on each instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FleetOperation {
    /// It is deployed as its plan is offered today.
    Upgrade,
    /// Its VMs are made anew.
    Recreate,
}

/// The answer to an operation request.
#[derive(Clone, Debug, PartialEq)]
pub enum Triggered {
    /// It is in progress; poll it with this data.
    Accepted(OperationData),
    /// There is nothing to do.
    UpToDate,
    /// The platform does not know the instance any more.
    NotFound,
    /// The instance has no deployment.
    DeploymentMissing,
    /// Another operation is in progress.
    Busy,
}

/// The operation data that the broker expects with each poll. It is sent back unchanged, including unknown keys.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct OperationData(serde_json::Map<String, Value>);

/// How an operation goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastOperation {
    /// The state.
    pub state: OperationState,
    /// The broker's description; may be empty.
    pub description: String,
}

/// Whether an operation has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationState {
    /// It is in progress.
    InProgress,
    /// It is, and all is well.
    Succeeded,
    /// It is, and nothing is well.
    Failed,
}

/// An operation could not be started.
#[derive(Debug, thiserror::Error)]
#[error("operation type: {operation} failed for service instance {instance}")]
pub struct TriggerError {
    /// The requested operation.
    pub operation: FleetOperation,
    /// To which instance.
    pub instance: InstanceId,
    /// Why it is not.
    #[source]
    pub failure: TriggerFailure,
}

/// Why an operation could not be started, in the text of the Go errands.
#[derive(Debug, thiserror::Error)]
pub enum TriggerFailure {
    /// The broker says why.
    #[error("unexpected status code: 500. description: {description}")]
    Described {
        /// The broker's description.
        description: String,
    },
    /// The broker says something.
    #[error("unexpected status code: 500. cannot parse upgrade response: '{body}'")]
    Undescribed {
        /// The start of it.
        body: String,
    },
    /// An answer that means nothing here.
    #[error("unexpected status code: {}. body: {body}", status.as_u16())]
    Unexpected {
        /// Its status.
        status: StatusCode,
        /// The start of its body.
        body: String,
    },
    /// The operation has begun, but its data for polls cannot be read.
    #[error("cannot parse upgrade response")]
    NotUnderstood(#[source] UnreadableAnswer),
    /// No answer came.
    #[error(transparent)]
    NoAnswer(ServiceError),
}

/// An operation could not be polled.
#[derive(Debug, thiserror::Error)]
pub enum LastOperationError {
    /// The broker reported an unknown state.
    #[error("unknown state from last operation: {state}")]
    UnknownState {
        /// The state.
        state: String,
    },
    /// The broker rejected the request, or did not answer.
    #[error("error getting last operation")]
    Request(#[from] ServiceError),
}

impl BrokerApi {
    /// Has an instance operated on. It is of that plan, and in that space if one is known.
    pub async fn operate(
        &self,
        operation: FleetOperation,
        instance: &InstanceId,
        plan: &PlanId,
        space: Option<&str>,
    ) -> Result<Triggered, TriggerError> {
        let path = ["mgmt", "service_instances", instance.as_str()];
        let query = [("operation_type", operation.name())];
        let body = json!({
            "plan_id": plan.as_str(),
            "context": { "space_guid": space.unwrap_or_default() },
        });
        let request = client::json(self.request(Method::PATCH, &path, &query), &body);
        let answer = self.send(&request).await.map_err(TriggerFailure::NoAnswer);
        let triggered = answer.and_then(|answer| triggered(&answer));
        triggered.map_err(|failure| TriggerError {
            operation,
            instance: instance.clone(),
            failure,
        })
    }

    /// Polls an operation. This also makes a Go broker start the next lifecycle errand.
    pub async fn last_operation(
        &self,
        instance: &InstanceId,
        operation: &OperationData,
    ) -> Result<LastOperation, LastOperationError> {
        let path = [
            "v2",
            "service_instances",
            instance.as_str(),
            "last_operation",
        ];
        let operation = operation.to_string();
        let reported: OperationReport = self.look_up(&path, &[("operation", &operation)]).await?;
        let state = match reported.state.as_str() {
            "in progress" => OperationState::InProgress,
            "succeeded" => OperationState::Succeeded,
            "failed" => OperationState::Failed,
            _ => {
                let state = cut(&reported.state);
                return Err(LastOperationError::UnknownState { state });
            }
        };
        Ok(LastOperation {
            state,
            description: reported.description.unwrap_or_default(),
        })
    }
}

fn triggered(answer: &Answer) -> Result<Triggered, TriggerFailure> {
    match answer.status() {
        StatusCode::ACCEPTED => answer
            .json()
            .map(Triggered::Accepted)
            .map_err(TriggerFailure::NotUnderstood),
        StatusCode::NO_CONTENT => Ok(Triggered::UpToDate),
        StatusCode::NOT_FOUND => Ok(Triggered::NotFound),
        StatusCode::GONE => Ok(Triggered::DeploymentMissing),
        StatusCode::CONFLICT => Ok(Triggered::Busy),
        StatusCode::INTERNAL_SERVER_ERROR => Err(match answer.json::<ErrorBody>() {
            Ok(said) => TriggerFailure::Described {
                description: cut(&said.description),
            },
            Err(_) => TriggerFailure::Undescribed {
                body: answer.error_text(),
            },
        }),
        status => Err(TriggerFailure::Unexpected {
            status,
            body: answer.error_text(),
        }),
    }
}

impl From<serde_json::Map<String, Value>> for OperationData {
    fn from(members: serde_json::Map<String, Value>) -> Self {
        Self(members)
    }
}

impl OperationData {
    /// The Director's task that the operation began with; 0 where the broker does not know it (yet).
    pub fn task(&self) -> u64 {
        let task = self.0.get("BoshTaskID").and_then(Value::as_u64);
        task.unwrap_or_default()
    }
}

/// As JSON in one line.
impl fmt::Display for OperationData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_string(&self.0).map_err(|_| fmt::Error)?;
        f.write_str(&text)
    }
}

impl FleetOperation {
    /// Its name in the management API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Upgrade => "upgrade",
            Self::Recreate => "recreate",
        }
    }
}

impl fmt::Display for FleetOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl TriggerError {
    /// Whether the broker may have begun the operation.
    pub fn may_have_begun(&self) -> bool {
        match &self.failure {
            TriggerFailure::NoAnswer(error) => error.may_have_taken_effect(),
            TriggerFailure::NotUnderstood(_) => true,
            TriggerFailure::Described { .. }
            | TriggerFailure::Undescribed { .. }
            | TriggerFailure::Unexpected { .. } => false,
        }
    }
}

impl LastOperationError {
    /// Whether a retry may help.
    pub fn is_transient(&self) -> bool {
        match self {
            // An error page of a proxy in front of the broker.
            Self::Request(error) => {
                matches!(error.kind, FailureKind::NotUnderstood { .. }) || error.is_transient()
            }
            Self::UnknownState { .. } => false,
        }
    }
}

#[derive(Deserialize)]
struct OperationReport {
    #[serde(default)]
    state: String,
    #[serde(default)]
    description: Option<String>,
}

#[derive(Deserialize)]
struct ErrorBody {
    description: String,
}
