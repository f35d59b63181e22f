//! The orders to an engine and their results.

use std::fmt;

use async_trait::async_trait;
use odb_adapter_sdk::protocol::{Binding, RequestParameters};
use odb_api_types::{
    ids::{BindingId, InstanceId, OfferingId, PlanId, RequestId},
    kind::OperationKind,
};
use odb_clients::http::{Call, Deadline};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{EngineError, RequestDigest, RequestIdentity};

/// A request with all of its data.
#[derive(Debug)]
pub struct Order {
    /// The service instance.
    pub instance: InstanceId,
    /// The plan it shall be on.
    pub plan: PlanId,
    /// The request's body as the service author gets to see it.
    pub parameters: RequestParameters,
    /// The identity of the request: a repetition has the same one.
    pub identity: Value,
    /// The request's id.
    pub request: RequestId,
    /// When the answer is due.
    pub deadline: Deadline,
}

impl Order {
    /// The call context that upstream calls inherit from the request.
    pub fn call(&self) -> Call {
        Call::until(self.deadline).with_request_id(self.request.as_str())
    }

    /// The identity of the request: a repetition has the same one.
    pub fn identity(&self) -> RequestIdentity<'_> {
        RequestIdentity(&self.identity)
    }

    /// The digest of the request for an operation record.
    pub fn digest(&self) -> RequestDigest {
        RequestDigest::new(self.identity())
    }
}

/// A started operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Started {
    /// The token that the platform sends with each poll: JSON.
    pub token: String,
    /// Where users manage the instance.
    pub dashboard_url: Option<String>,
    /// The service author's labels of the instance.
    pub labels: Map<String, Value>,
}

/// The existing state under an ordered id.
#[derive(Debug)]
pub enum Found {
    /// Nothing: the instance can be created.
    Vacant(Box<dyn Vacancy>),
    /// The same request, in progress.
    InProgress(Started),
    /// The same request, completed.
    Completed {
        /// Where users manage the instance.
        dashboard_url: Option<String>,
        /// The service author's labels of the instance.
        labels: Map<String, Value>,
    },
}

/// A free id, or one with only the remains of a request that never reached the foundation.
#[async_trait]
pub trait Vacancy: fmt::Debug + Send {
    /// Creates the instance.
    async fn create(self: Box<Self>, order: &Order) -> Result<Started, EngineError>;
}

/// The result of an upgrade.
#[derive(Clone, Debug, PartialEq)]
pub enum Upgraded {
    /// It is in progress.
    Started(Started),
    /// The instance already has the target state; nothing was started.
    NothingToDo,
}

/// Whether a delete continues after a failing lifecycle errand or an unresponsive machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It stops and fails.
    Careful,
    /// It continues.
    Forced,
}

impl Deletion {
    /// The operation that it is.
    pub fn kind(self) -> OperationKind {
        match self {
            Self::Careful => OperationKind::Delete,
            Self::Forced => OperationKind::ForceDelete,
        }
    }
}

/// Where a delete comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// From the platform, or from an operator for an instance of this broker.
    #[default]
    Platform,
    /// From an operator, for an instance without an operation record: if the delete fails, it may still belong to
    /// another broker.
    Unmarked,
}

/// The result of a delete.
#[derive(Debug)]
pub enum Deleted {
    /// It is in progress.
    Started(Started),
    /// The instance did not exist; its residual resources are deleted, too.
    WasAbsent,
}

/// When an operation ends that is being cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// As soon as it can be stopped.
    AsSoonAsPossible,
    /// When its present step ends: the foundation does not let the broker cancel it.
    AfterThisStep,
}

/// A bind or unbind request.
#[derive(Clone, Debug)]
pub struct BindingOrder {
    /// The service instance.
    pub instance: InstanceId,
    /// The binding.
    pub binding: BindingId,
    /// The plan, which the catalog may no longer have when credentials are revoked.
    pub plan: PlanId,
    /// The request's body as the service author gets to see it.
    pub parameters: RequestParameters,
    /// The request's id.
    pub request: RequestId,
    /// When the answer is due.
    pub deadline: Deadline,
}

impl BindingOrder {
    /// The call context that upstream calls inherit from the request.
    pub fn call(&self) -> Call {
        Call::until(self.deadline).with_request_id(self.request.as_str())
    }

    /// The order that takes the credentials back.
    #[must_use]
    pub fn reversed(self, service: &OfferingId, deadline: Deadline) -> Self {
        Self {
            parameters: parameters_of_unbind(service, &self.plan),
            deadline,
            ..self
        }
    }
}

/// The Go broker passes these two of an unbind to adapters, and nothing else.
pub fn parameters_of_unbind(service: &OfferingId, plan: &PlanId) -> RequestParameters {
    let fields = [("plan_id", plan.as_str()), ("service_id", service.as_str())];
    let fields = fields.map(|(key, value)| (key.to_owned(), Value::from(value)));
    RequestParameters::from_fields(Map::from_iter(fields))
}

/// An instance that can be bound.
#[async_trait]
pub trait Bindable: fmt::Debug + Send + Sync {
    /// Makes credentials.
    async fn bind(&self, order: &BindingOrder) -> Result<Binding, EngineError>;

    /// Takes credentials back.
    async fn unbind(&self, order: &BindingOrder) -> Result<(), EngineError>;
}
