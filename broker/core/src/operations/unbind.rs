//! Unbinding, and reading a binding.

use odb_adapter_sdk::protocol::Binding;
use odb_api_types::ids::{BindingId, InstanceId, OfferingId, PlanId};

use super::{Operations, Refused, RequestContext, secure_bindings::BindingNames};
use crate::engine::{BindingOrder, EngineErrorKind, parameters_of_unbind};

/// The end of credentials (Open Service Broker API 2.17, "Unbinding").
#[derive(Debug)]
pub struct UnbindRequest {
    pub instance: InstanceId,
    pub binding: BindingId,
    pub service: OfferingId,
    /// The plan. A plan that the catalog no longer has does not prevent the deletion.
    pub plan: PlanId,
}

impl Operations {
    /// Deletes the credentials of a binding. The entries in the runtime CredHub are deleted whenever the service no
    /// longer has the credentials, even if they were never created, so that interrupted binds are cleaned up.
    #[tracing::instrument(name = "unbind", skip_all, fields(binding.id = %request.binding))]
    pub async fn unbind(
        &self,
        request_context: RequestContext,
        request: UnbindRequest,
    ) -> Result<(), Refused> {
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
        let names = BindingNames::new(&request.service, &request.instance, &request.binding);
        let order = BindingOrder {
            instance: request.instance,
            binding: request.binding,
            parameters: parameters_of_unbind(&request.service, &request.plan),
            plan: request.plan,
            request: request_context.request,
            deadline: request_context.deadline,
        };
        let unbound = self.engine.unbind(&order).await;
        let is_gone = match &unbound {
            Ok(()) => true,
            Err(error) => matches!(
                error.kind(),
                EngineErrorKind::NotFound | EngineErrorKind::UnknownBinding
            ),
        };
        if let (true, Some(secure), Some(names)) = (is_gone, &self.secure_bindings, names) {
            let removed = secure.remove(&call, &names, None).await;
            removed.map_err(Refused::RemoveBinding)?;
        }
        Ok(unbound?)
    }

    /// Returns what the platform received when the binding was created: a reference in place of credentials. Only the
    /// runtime CredHub is called. The broker stores no parameters, so the answer has none.
    #[tracing::instrument(name = "fetch_binding", skip_all, fields(binding.id = %binding))]
    pub async fn fetch_binding(
        &self,
        request_context: RequestContext,
        instance: InstanceId,
        binding: BindingId,
    ) -> Result<Binding, Refused> {
        let Some(secure) = &self.secure_bindings else {
            return Err(Refused::NoSuchBinding);
        };
        let names = BindingNames::new(&self.offering.id, &instance, &binding);
        let names = names.ok_or(Refused::NoSuchBinding)?;
        // One that is being made is not there yet.
        let _turn = self
            .locks
            .binding_record(&instance, &binding, request_context.deadline)
            .await?;
        let record = secure.find(&request_context.call(), &names).await;
        let record = record.map_err(Refused::LookUpBinding)?;
        Ok(record.ok_or(Refused::NoSuchBinding)?.answer)
    }
}
