//! What is known of a service instance. Changes nothing.

use super::{Operations, RequestContext};
use crate::{bosh::Fault, engine::InstanceRecord};
use odb_api_types::ids::InstanceId;

/// A question what a service instance is (Open Service Broker API 2.17, "Fetching a Service Instance").
#[derive(Debug)]
pub struct FetchRequest {
    /// The service instance.
    pub instance: InstanceId,
}

impl Operations {
    /// Tells what is known of a service instance.
    #[tracing::instrument(name = "fetch", skip_all)]
    pub async fn fetch(
        &self,
        request_context: RequestContext,
        request: FetchRequest,
    ) -> Result<InstanceRecord, Fault> {
        let call = request_context.call();
        self.instances
            .record_at_rest(&call, &request.instance)
            .await
    }
}
