//! The end of an operation that its operator has had enough of.

use odb_api_types::ids::InstanceId;

use super::{LockTimeout, Operations, RequestContext};
use crate::bosh::{CancelFault, Cancelled};

/// Why an operation goes on.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant wraps an error that says it")]
pub enum CancelError {
    #[error(transparent)]
    Lock(#[from] LockTimeout),
    #[error(transparent)]
    Instance(#[from] CancelFault),
}

impl Operations {
    /// Cancels the operation in progress on an instance.
    #[tracing::instrument(name = "cancel", skip_all)]
    pub async fn cancel(
        &self,
        request_context: RequestContext,
        instance: InstanceId,
    ) -> Result<Cancelled, CancelError> {
        let _turn = self
            .locks
            .instance(&instance, request_context.deadline)
            .await?;
        let call = request_context.call();
        let cancelled = self
            .instances
            .cancel(&call, &instance, &request_context.request);
        Ok(cancelled.await?)
    }
}
