//! What an upgrade of a service instance would change. Changes nothing, and waits for nobody: a busy instance is told as it
//! was deployed last.

use odb_adapter_sdk::protocol::RequestParameters;
use odb_api_types::{
    ids::{InstanceId, PlanId},
    management::DryRun,
};
use serde_json::Value;

use super::{NotAnObject, Operations, RequestContext, provision::object};
use crate::{
    bosh::{Fault, Order},
    offering::CatalogFault,
};

/// An operator's question what an upgrade would change.
#[derive(Debug)]
pub struct DryRunRequest {
    /// The service instance.
    pub instance: InstanceId,
    /// The plan it is on.
    pub plan: PlanId,
    /// The whole body, as that of an upgrade.
    pub body: RequestParameters,
}

/// Why it cannot be told.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant wraps an error that says it")]
pub enum DryRunError {
    #[error(transparent)]
    Catalog(#[from] CatalogFault),
    #[error(transparent)]
    NotAnObject(#[from] NotAnObject),
    #[error(transparent)]
    Instance(#[from] Fault),
}

impl Operations {
    /// Tells what an upgrade would change.
    #[tracing::instrument(name = "dry run", skip_all)]
    pub async fn dry_run(
        &self,
        request_context: RequestContext,
        request: DryRunRequest,
    ) -> Result<DryRun, DryRunError> {
        self.check_plan(&request.plan)?;
        object(request.body.fields().get("context"), "context")?;
        let order = Order {
            instance: request.instance,
            identity: Value::Null,
            plan: request.plan,
            parameters: request.body.only("context"),
            request: request_context.request,
            deadline: request_context.deadline,
        };
        Ok(self.instances.dry_run(&order).await?)
    }
}
