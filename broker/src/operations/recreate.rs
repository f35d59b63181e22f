//! A service instance on new VMs.

use odb_adapter_sdk::protocol::RequestParameters;
use odb_api_types::ids::{InstanceId, PlanId};
use serde_json::{Map, json};

use super::{LockTimeout, Operations, RequestContext};
use crate::{
    bosh::{Fault, Order, Started},
    offering::CatalogFault,
};

/// An operator's wish for new VMs under a service instance (`spec/contracts/broker-behaviour.md` §6).
#[derive(Debug)]
pub struct RecreateRequest {
    /// The service instance.
    pub instance: InstanceId,
    /// The plan it is on.
    pub plan: PlanId,
}

/// Why the VMs stay.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant wraps an error that says it")]
pub enum RecreateError {
    #[error(transparent)]
    Catalog(#[from] CatalogFault),
    #[error(transparent)]
    Lock(#[from] LockTimeout),
    #[error(transparent)]
    Instance(#[from] Fault),
}

impl Operations {
    /// Puts a service instance onto new VMs. Nothing else about it changes.
    #[tracing::instrument(name = "recreate", skip_all)]
    pub async fn recreate(
        &self,
        request_context: RequestContext,
        request: RecreateRequest,
    ) -> Result<Started, RecreateError> {
        self.check_plan(&request.plan)?;
        let _turn = self
            .locks
            .instance(&request.instance, request_context.deadline)
            .await?;
        let order = Order {
            instance: request.instance,
            identity: json!({ "plan_id": request.plan }),
            plan: request.plan,
            parameters: RequestParameters::from_fields(Map::new()),
            request: request_context.request,
            deadline: request_context.deadline,
        };
        Ok(self.instances.recreate(&order).await?)
    }
}
