//! A service instance with what the operator offers today, as the operator asks for it.

use odb_adapter_sdk::protocol::RequestParameters;
use odb_api_types::ids::{InstanceId, PlanId};
use serde_json::json;

use super::{LockTimeout, NotAnObject, Operations, RequestContext, provision::object};
use crate::{
    bosh::{Fault, Order, Upgraded},
    offering::CatalogFault,
};

/// An operator's wish for an upgrade of a service instance (`spec/contracts/broker-behaviour.md` §3.6, §6). Users upgrade
/// by an update request.
#[derive(Debug)]
pub struct UpgradeRequest {
    /// The service instance.
    pub instance: InstanceId,
    /// The plan it is on.
    pub plan: PlanId,
    /// The whole body. The adapter is told its context, which may be absent or null.
    pub body: RequestParameters,
}

/// Why there is no upgrade.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant wraps an error that says it")]
pub enum UpgradeError {
    #[error(transparent)]
    Catalog(#[from] CatalogFault),
    #[error(transparent)]
    NotAnObject(#[from] NotAnObject),
    #[error(transparent)]
    Lock(#[from] LockTimeout),
    #[error(transparent)]
    Instance(#[from] Fault),
}

impl Operations {
    /// Brings a service instance to what the operator offers today. What its user has asked for stays.
    #[tracing::instrument(name = "upgrade", skip_all)]
    pub async fn upgrade(
        &self,
        request_context: RequestContext,
        request: UpgradeRequest,
    ) -> Result<Upgraded, UpgradeError> {
        self.check_plan(&request.plan)?;
        object(request.body.fields().get("context"), "context")?;
        let _turn = self
            .locks
            .instance(&request.instance, request_context.deadline)
            .await?;
        let order = Order {
            instance: request.instance,
            identity: json!({ "plan_id": request.plan }),
            plan: request.plan,
            parameters: request.body.only("context"),
            request: request_context.request,
            deadline: request_context.deadline,
        };
        Ok(self.instances.upgrade(&order).await?)
    }
}
