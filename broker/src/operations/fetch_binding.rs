//! What is known of a binding. Changes nothing.

use odb_adapter_sdk::protocol::Binding;
use odb_api_types::ids::{BindingId, InstanceId};

use super::{
    LockTimeout, Operations, RequestContext,
    secure_bindings::{BindingNames, SecureBindingFault},
};

/// A question what a binding is (Open Service Broker API 2.17, "Fetching a Service Binding").
#[derive(Debug)]
pub struct FetchBindingRequest {
    /// The service instance.
    pub instance: InstanceId,
    /// The binding.
    pub binding: BindingId,
}

/// Why nothing is told.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its text")]
pub enum FetchBindingError {
    #[error("there is no such binding in the runtime CredHub")]
    NotFound,
    #[error(transparent)]
    Lock(#[from] LockTimeout),
    #[error("could not tell whether the binding exists")]
    LookUp(#[source] SecureBindingFault),
}

impl Operations {
    /// Tells what the platform was told when the binding was made: a reference in the place of credentials. Nobody else is
    /// asked but the runtime CredHub. Parameters are not kept, and so not told.
    #[tracing::instrument(name = "fetch_binding", skip_all, fields(binding.id = %request.binding))]
    pub async fn fetch_binding(
        &self,
        request_context: RequestContext,
        request: FetchBindingRequest,
    ) -> Result<Binding, FetchBindingError> {
        let Some(secure) = &self.secure_bindings else {
            return Err(FetchBindingError::NotFound);
        };
        let names = BindingNames::new(&self.offering.id, &request.instance, &request.binding)
            .map_err(|_| FetchBindingError::NotFound)?;
        // One that is being made is not there yet.
        let _turn = self
            .locks
            .binding_record(
                &request.instance,
                &request.binding,
                request_context.deadline,
            )
            .await?;
        let record = secure.find(&request_context.call(), &names).await;
        let record = record.map_err(FetchBindingError::LookUp)?;
        Ok(record.ok_or(FetchBindingError::NotFound)?.into_answer())
    }
}
