//! How an operation is doing. Changes nothing.

use super::{Operations, RequestContext};
use crate::{
    bosh::{Fault, OperationToken},
    engine::LastOperation,
};
use odb_api_types::ids::InstanceId;

/// A question how an operation is doing (Open Service Broker API 2.17, "Polling Last Operation").
#[derive(Debug)]
pub struct LastOperationRequest {
    /// The service instance.
    pub instance: InstanceId,
    /// What the platform was told to hand back. Not given, or not understood: the latest operation is meant.
    pub token: Option<String>,
}

impl Operations {
    /// Tells how the instance's operation is doing.
    #[tracing::instrument(name = "last operation", skip_all)]
    pub async fn last_operation(
        &self,
        request_context: RequestContext,
        request: LastOperationRequest,
    ) -> Result<LastOperation, Fault> {
        let call = request_context.call();
        let token = request.token.as_deref().and_then(OperationToken::parse);
        self.instances
            .last_operation(
                &call,
                &request.instance,
                token.as_ref(),
                &request_context.request,
            )
            .await
    }
}
