//! The latest operation on a service instance, as its operator sees it. Changes nothing.

use odb_api_types::{ids::InstanceId, management::OperationStatus};

use super::{Operations, RequestContext};
use crate::bosh::Fault;

impl Operations {
    /// The latest operation on an instance, with its stages. `None` where nobody knows of one.
    #[tracing::instrument(name = "review", skip_all)]
    pub async fn review(
        &self,
        request_context: RequestContext,
        instance: InstanceId,
    ) -> Result<Option<OperationStatus>, Fault> {
        let call = request_context.call();
        Box::pin(self.instances.review(&call, &instance)).await
    }
}
