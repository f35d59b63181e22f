//! The end of credentials.

use odb_api_types::ids::{BindingId, InstanceId, OfferingId, PlanId};

use super::{
    LockTimeout, Operations, RequestContext,
    secure_bindings::{BindingNames, SecureBindingFault},
    undo_bind::is_unknown_binding,
};
use crate::{
    bosh::{BindingOrder, Fault, parameters_of_unbind},
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
#[expect(
    missing_docs,
    reason = "each variant wraps an error that says it, or has its text"
)]
pub enum UnbindError {
    #[error(transparent)]
    Catalog(#[from] CatalogFault),
    #[error(transparent)]
    Lock(#[from] LockTimeout),
    #[error(transparent)]
    Instance(#[from] Fault),
    #[error(
        "the service has no such binding any more, but the runtime CredHub may still have its credentials"
    )]
    Stored(#[source] SecureBindingFault),
}

impl Operations {
    /// Takes credentials back. What the runtime CredHub has of them goes whenever the service does not have them any more,
    /// be it that they were never made, so that whatever broke off half-way is cleaned up.
    #[tracing::instrument(name = "unbind", skip_all, fields(binding.id = %request.binding))]
    pub async fn unbind(
        &self,
        request_context: RequestContext,
        request: UnbindRequest,
    ) -> Result<(), UnbindError> {
        self.check_service(&request.service)?;
        let _turn = self
            .locks
            .binding(
                &request.instance,
                &request.binding,
                request_context.deadline,
            )
            .await?;
        let call = request_context.call();
        // Ids that CredHub cannot have in a name have never been stored.
        let names = BindingNames::new(&request.service, &request.instance, &request.binding).ok();
        let order = BindingOrder {
            instance: request.instance,
            binding: request.binding,
            parameters: parameters_of_unbind(&request.service, &request.plan),
            plan: request.plan,
            request: request_context.request,
            deadline: request_context.deadline,
        };
        let unbound = self.instances.unbind(&order).await;
        let is_gone = match &unbound {
            Ok(()) | Err(Fault::NotFound) => true,
            Err(fault) => is_unknown_binding(fault),
        };
        if let (true, Some(secure), Some(names)) = (is_gone, &self.secure_bindings, names) {
            let removed = secure.remove(&call, &names, None).await;
            removed.map_err(UnbindError::Stored)?;
        }
        Ok(unbound?)
    }
}
