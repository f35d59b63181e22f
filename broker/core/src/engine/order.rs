//! What operations order from an engine, and what comes of it.

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

/// What a request asks for, with all that the request brings.
#[derive(Debug)]
pub struct Order {
    /// The service instance.
    pub instance: InstanceId,
    /// The plan it shall be on.
    pub plan: PlanId,
    /// The request's body as the service author gets to see it.
    pub parameters: RequestParameters,
    /// What makes a repeat of the request the same request.
    pub identity: Value,
    /// The request's id.
    pub request: RequestId,
    /// When the answer is due.
    pub deadline: Deadline,
}

impl Order {
    /// What calls of upstreams inherit from the request.
    pub fn call(&self) -> Call {
        Call::until(self.deadline).with_request_id(self.request.as_str())
    }

    /// What makes a repeat of the request the same request.
    pub fn identity(&self) -> RequestIdentity<'_> {
        RequestIdentity(&self.identity)
    }

    /// Stands for the request in an operation record.
    pub fn digest(&self) -> RequestDigest {
        RequestDigest::new(self.identity())
    }
}

/// An operation that has begun.
#[derive(Clone, Debug, PartialEq)]
pub struct Started {
    /// What the platform hands back when it asks how the operation is doing: JSON.
    pub token: String,
    /// Where users manage the instance.
    pub dashboard_url: Option<String>,
    /// What the service author says of the instance.
    pub labels: Map<String, Value>,
}

/// What there is under an ordered id.
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
        /// What the service author says of the instance.
        labels: Map<String, Value>,
    },
}

/// An id under which nothing is, or only what a request left that never got to the foundation.
#[async_trait]
pub trait Vacancy: fmt::Debug + Send {
    /// Creates the instance.
    async fn create(self: Box<Self>, order: &Order) -> Result<Started, EngineError>;
}

/// What came of an upgrade.
#[derive(Clone, Debug, PartialEq)]
pub enum Upgraded {
    /// It is in progress.
    Started(Started),
    /// The instance is what it would become, and nothing has begun.
    NothingToDo,
}

/// Whether a delete goes on after a failing lifecycle errand or an unresponsive machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It stops and fails.
    Careful,
    /// It goes on.
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
    /// From the platform, or from an operator who takes the instance to be this broker's.
    #[default]
    Platform,
    /// From an operator, of an instance without an operation record: should the delete fail, it may still be another broker's.
    Unmarked,
}

/// What came of a delete.
#[derive(Debug)]
pub enum Deleted {
    /// It is in progress.
    Started(Started),
    /// There was no such instance; what it left behind is gone, too.
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

/// What a request for credentials brings, or for their end.
#[derive(Clone, Debug)]
pub struct BindingOrder {
    /// The service instance.
    pub instance: InstanceId,
    /// The binding.
    pub binding: BindingId,
    /// The plan, which may be gone from the catalog when credentials are given back.
    pub plan: PlanId,
    /// The request's body as the service author gets to see it.
    pub parameters: RequestParameters,
    /// The request's id.
    pub request: RequestId,
    /// When the answer is due.
    pub deadline: Deadline,
}

impl BindingOrder {
    /// What calls of upstreams inherit from the request.
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

/// An instance that an engine has looked at, so that it can be bound.
#[async_trait]
pub trait Bindable: fmt::Debug + Send + Sync {
    /// Makes credentials.
    async fn bind(&self, order: &BindingOrder) -> Result<Binding, EngineError>;

    /// Takes credentials back.
    async fn unbind(&self, order: &BindingOrder) -> Result<(), EngineError>;
}
