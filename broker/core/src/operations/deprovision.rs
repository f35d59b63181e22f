//! The end of a service instance.

use odb_adapter_sdk::protocol::RequestParameters;
use odb_api_types::ids::{InstanceId, OfferingId, PlanId};
use serde_json::{Map, json};

use super::{AcceptsIncomplete, Operations, Refused, RequestContext};
use crate::engine::{Deleted, Deletion, Origin};

/// The end of a service instance (Open Service Broker API 2.17, "Deprovisioning").
#[derive(Debug)]
pub struct DeprovisionRequest {
    /// The service instance.
    pub instance: InstanceId,
    /// The offering.
    pub service: OfferingId,
    /// Its plan. A plan that the catalog no longer has does not prevent the deletion.
    pub plan: PlanId,
    /// Whether to continue after failures (`force=true`).
    pub deletion: Deletion,
    /// Whether the platform waits.
    pub accepts_incomplete: AcceptsIncomplete,
}

impl Operations {
    /// Deletes a service instance and its residual resources.
    #[tracing::instrument(name = "deprovision", skip_all)]
    pub async fn deprovision(
        &self,
        request_context: RequestContext,
        request: DeprovisionRequest,
    ) -> Result<Deleted, Refused> {
        self.check_service(&request.service)?;
        request.accepts_incomplete.required()?;

        let _turn = self
            .locks
            .instance(&request.instance, request_context.deadline)
            .await?;
        let identity = json!({ "service_id": request.service, "plan_id": request.plan });
        let nothing = RequestParameters::from_fields(Map::new());
        let order = request_context.order(request.instance, request.plan, identity, nothing);
        let deleted = self
            .engine
            .delete(&order, request.deletion, Origin::Platform);
        Ok(deleted.await?)
    }
}
