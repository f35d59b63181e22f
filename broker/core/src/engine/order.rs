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

#[derive(Debug)]
pub struct Order {
    pub instance: InstanceId,
    pub plan: PlanId,
    pub parameters: RequestParameters,
    pub identity: Value,
    pub request: RequestId,
    pub deadline: Deadline,
}

impl Order {
    pub fn call(&self) -> Call {
        Call::until(self.deadline).with_request_id(self.request.as_str())
    }

    pub fn identity(&self) -> RequestIdentity<'_> {
        RequestIdentity(&self.identity)
    }

    pub fn digest(&self) -> RequestDigest {
        RequestDigest::new(self.identity())
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Started {
    pub token: String,
    pub dashboard_url: Option<String>,
    pub labels: Map<String, Value>,
}

#[derive(Debug)]
pub enum Found {
    Vacant(Box<dyn Vacancy>),
    InProgress(Started),
    Completed {
        dashboard_url: Option<String>,
        labels: Map<String, Value>,
    },
}

/// A free id, or one with only the remains of a request that never reached the foundation.
#[async_trait]
pub trait Vacancy: fmt::Debug + Send {
    async fn create(self: Box<Self>, order: &Order) -> Result<Started, EngineError>;
}

#[derive(Clone, Debug, PartialEq)]
pub enum Upgraded {
    Started(Started),
    /// The instance already has the target state; nothing was started.
    NothingToDo,
}

/// Whether a delete continues after a failing lifecycle errand or an unresponsive machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    Careful,
    Forced,
}

impl Deletion {
    pub fn kind(self) -> OperationKind {
        match self {
            Self::Careful => OperationKind::Delete,
            Self::Forced => OperationKind::ForceDelete,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    #[default]
    Platform,
    /// From an operator, for an instance without an operation record: if the delete fails, it may still belong to
    /// another broker.
    Unmarked,
}

#[derive(Debug)]
pub enum Deleted {
    Started(Started),
    /// The instance did not exist; its residual resources are deleted, too.
    WasAbsent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    AsSoonAsPossible,
    /// When its present step ends: the foundation does not let the broker cancel it.
    AfterThisStep,
}

#[derive(Clone, Debug)]
pub struct BindingOrder {
    pub instance: InstanceId,
    pub binding: BindingId,
    /// The plan, which the catalog may no longer have when credentials are revoked.
    pub plan: PlanId,
    pub parameters: RequestParameters,
    pub request: RequestId,
    pub deadline: Deadline,
}

impl BindingOrder {
    pub fn call(&self) -> Call {
        Call::until(self.deadline).with_request_id(self.request.as_str())
    }

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

#[async_trait]
pub trait Bindable: fmt::Debug + Send + Sync {
    async fn bind(&self, order: &BindingOrder) -> Result<Binding, EngineError>;

    async fn unbind(&self, order: &BindingOrder) -> Result<(), EngineError>;
}
