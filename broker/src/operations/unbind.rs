//! The end of credentials.

use odb_adapter_sdk::protocol::RequestParameters;
use serde_json::{Map, Value};

use super::{LockTimeout, Operations, RequestContext};
use crate::{
    bosh::{BindingOrder, Fault},
    ids::{BindingId, InstanceId, OfferingId, PlanId},
    offering::CatalogFault,
};

/// The end of credentials (Open Service Broker API 2.17, "Unbinding").
#[derive(Debug)]
pub struct UnbindRequest {
    /// The service instance.
    pub instance: InstanceId,
    /// The binding.
    pub binding: BindingId,
    /// The offering.
    pub service: OfferingId,
    /// The plan. One that is gone from the catalog is no hindrance.
    pub plan: PlanId,
}

/// Why the credentials may still work.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant wraps an error that says it")]
pub enum UnbindError {
    #[error(transparent)]
    Catalog(#[from] CatalogFault),
    #[error(transparent)]
    Lock(#[from] LockTimeout),
    #[error(transparent)]
    Instance(#[from] Fault),
}

impl Operations {
    /// Takes credentials back.
    #[tracing::instrument(name = "unbind", skip_all, fields(binding.id = %request.binding))]
    pub async fn unbind(
        &self,
        request_context: RequestContext,
        request: UnbindRequest,
    ) -> Result<(), UnbindError> {
        self.check_service(&request.service)?;
        let _turn = self
            .locks
            .acquire(&request.instance, request_context.deadline)
            .await?;
        // The Go broker tells adapters these two and nothing else.
        let fields: Map<String, Value> = [
            ("plan_id", request.plan.as_str()),
            ("service_id", request.service.as_str()),
        ]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.into()))
        .collect();
        let order = BindingOrder {
            instance: request.instance,
            binding: request.binding,
            parameters: RequestParameters::from_fields(fields),
            request: request_context.request,
            deadline: request_context.deadline,
        };
        Ok(self.instances.unbind(&order).await?)
    }
}
