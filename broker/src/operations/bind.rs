//! Credentials for an app, or for a key.

use odb_adapter_sdk::protocol::{Binding, RequestParameters};
use serde_json::Value;

use super::{LockTimeout, NotAnObject, Operations, RequestContext, provision::object};
use crate::{
    bosh::{BindingOrder, Fault},
    ids::{BindingId, InstanceId, OfferingId, PlanId},
    offering::{CatalogFault, InvalidParameters, ParametersOf},
};

/// A request for credentials (Open Service Broker API 2.17, "Binding").
#[derive(Debug)]
pub struct BindRequest {
    /// The service instance.
    pub instance: InstanceId,
    /// The id that the platform chose.
    pub binding: BindingId,
    /// The offering.
    pub service: OfferingId,
    /// The plan.
    pub plan: PlanId,
    /// The user's parameters; absent and null are the same.
    pub parameters: Option<Value>,
    /// An agent that makes backups wants to bind.
    pub for_backup_agent: bool,
    /// The whole body, for the adapter.
    pub body: RequestParameters,
}

/// Why there are no credentials.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "each variant wraps an error that says it, or has its text"
)]
pub enum BindError {
    #[error(transparent)]
    Catalog(#[from] CatalogFault),
    #[error(transparent)]
    NotAnObject(#[from] NotAnObject),
    #[error("the service does not support bindings of backup agents")]
    BackupAgent,
    #[error(transparent)]
    Parameters(#[from] InvalidParameters),
    #[error(transparent)]
    Lock(#[from] LockTimeout),
    #[error(transparent)]
    Instance(#[from] Fault),
}

impl Operations {
    /// Makes credentials. The order of the checks is that of `spec/contracts/broker-behaviour.md` §3.13.
    #[tracing::instrument(name = "bind", skip_all, fields(binding.id = %request.binding))]
    pub async fn bind(
        &self,
        request_context: RequestContext,
        request: BindRequest,
    ) -> Result<Binding, BindError> {
        self.check_in_catalog(&request.service, &request.plan)?;
        let parameters = object(request.parameters.as_ref(), "parameters")?;
        if request.for_backup_agent {
            return Err(BindError::BackupAgent);
        }
        let _turn = self
            .locks
            .acquire(&request.instance, request_context.deadline)
            .await?;
        let order = BindingOrder {
            instance: request.instance,
            binding: request.binding,
            parameters: request.body,
            request: request_context.request,
            deadline: request_context.deadline,
        };
        let bindable = self.instances.find_bindable(&order).await?;
        self.schemas
            .check(&request.plan, ParametersOf::BindingCreate, &parameters)?;
        Ok(self.instances.bind(&order, bindable).await?)
    }
}
