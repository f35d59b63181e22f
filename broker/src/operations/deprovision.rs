//! The end of a service instance.

use odb_adapter_sdk::protocol::RequestParameters;
use odb_api_types::ids::{InstanceId, OfferingId, PlanId};
use serde_json::{Map, json};

use super::{AsyncRequired, LockTimeout, Operations, Patience, RequestContext};
use crate::{
    bosh::{Deleted, Fault, Insistence, Order, Origin, Started},
    offering::CatalogFault,
};

/// The end of a service instance (Open Service Broker API 2.17, "Deprovisioning").
#[derive(Debug)]
pub struct DeprovisionRequest {
    /// The service instance.
    pub instance: InstanceId,
    /// The offering.
    pub service: OfferingId,
    /// The plan it is on. One that is gone from the catalog is no hindrance.
    pub plan: PlanId,
    /// Whether to go on after failures (`force=true`).
    pub insistence: Insistence,
    /// Whether the platform waits.
    pub patience: Patience,
}

/// What came of it.
#[derive(Debug)]
pub enum Deprovisioned {
    /// It is being deleted.
    Started(Started),
    /// It was not there.
    WasAbsent,
}

/// Why nothing is deleted.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant wraps an error that says it")]
pub enum DeprovisionError {
    #[error(transparent)]
    Catalog(#[from] CatalogFault),
    #[error(transparent)]
    AsyncRequired(#[from] AsyncRequired),
    #[error(transparent)]
    Lock(#[from] LockTimeout),
    #[error(transparent)]
    Instance(#[from] Fault),
}

impl Operations {
    /// Deletes a service instance and what it leaves behind.
    #[tracing::instrument(name = "deprovision", skip_all)]
    pub async fn deprovision(
        &self,
        request_context: RequestContext,
        request: DeprovisionRequest,
    ) -> Result<Deprovisioned, DeprovisionError> {
        self.check_service(&request.service)?;
        request.patience.required()?;

        let _turn = self
            .locks
            .instance(&request.instance, request_context.deadline)
            .await?;
        let order = Order {
            instance: request.instance,
            identity: json!({ "service_id": request.service, "plan_id": request.plan }),
            plan: request.plan,
            parameters: RequestParameters::from_fields(Map::new()),
            request: request_context.request,
            deadline: request_context.deadline,
        };
        Ok(
            match self
                .instances
                .delete(&order, request.insistence, Origin::Platform)
                .await?
            {
                Deleted::Started(started) => Deprovisioned::Started(started),
                Deleted::WasAbsent => Deprovisioned::WasAbsent,
            },
        )
    }
}
