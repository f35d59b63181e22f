//! How the VMs of a service instance are, and what their Director can do. Changes nothing.

use odb_api_types::{
    ids::InstanceId,
    management::{DirectorAbilities, Health},
};

use super::{Operations, RequestContext};
use crate::bosh::Fault;

impl Operations {
    /// How the VMs of an instance are, as their agents tell within the time of the request.
    #[tracing::instrument(name = "health", skip_all)]
    pub async fn health(
        &self,
        request_context: RequestContext,
        instance: InstanceId,
    ) -> Result<Health, Fault> {
        let call = request_context.call();
        self.instances.health(&call, &instance).await
    }

    /// What the platform under the instances can do.
    #[tracing::instrument(name = "abilities", skip_all)]
    pub async fn abilities(
        &self,
        request_context: RequestContext,
    ) -> Result<DirectorAbilities, Fault> {
        let call = request_context.call();
        self.instances.director_abilities(&call).await
    }
}
