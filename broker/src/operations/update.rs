//! A service instance with other parameters, or on another plan.

use odb_adapter_sdk::protocol::RequestParameters;
use serde_json::{Value, json};

use super::{
    AsyncRequired, CountError, LockTimeout, NotAnObject, Operations, Patience, RequestContext,
    provision::object,
};
use crate::{
    bosh::{Fault, Order, Started},
    ids::{InstanceId, OfferingId, PlanId},
    offering::{CatalogFault, MaintenanceConflict, QuotaExceeded},
};

/// A change of a service instance (Open Service Broker API 2.17, "Updating a Service Instance").
#[derive(Debug)]
pub struct UpdateRequest {
    /// The service instance.
    pub instance: InstanceId,
    /// The offering.
    pub service: OfferingId,
    /// The plan it shall be on; absent: it stays.
    pub plan: Option<PlanId>,
    /// What the platform knows of the instance's state before.
    pub previous: PreviousPlan,
    /// The user's parameters; absent and null are the same.
    pub parameters: Option<Value>,
    /// The version of the plan as the platform knows it.
    pub maintenance_version: Option<String>,
    /// Whether the platform waits.
    pub patience: Patience,
    /// The whole body, for the adapter.
    pub body: RequestParameters,
}

/// The plan that an instance has been on, if the platform says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviousPlan(pub Option<PlanId>);

/// Why nothing changes.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "each variant wraps an error that says it, or has its text"
)]
pub enum UpdateError {
    #[error(transparent)]
    Catalog(#[from] CatalogFault),
    #[error(transparent)]
    AsyncRequired(#[from] AsyncRequired),
    #[error(transparent)]
    NotAnObject(#[from] NotAnObject),
    #[error(transparent)]
    Maintenance(#[from] MaintenanceConflict),
    #[error(
        "neither `plan_id` nor `previous_values.plan_id` is given, and nobody remembers the plan of the instance"
    )]
    PlanUnknown,
    #[error("the plan of a service instance of this offering cannot be changed")]
    PlanNotUpdatable,
    #[error(transparent)]
    Lock(#[from] LockTimeout),
    #[error(transparent)]
    Count(#[from] CountError),
    #[error(transparent)]
    Quota(#[from] QuotaExceeded),
    #[error(transparent)]
    Instance(#[from] Fault),
}

impl Operations {
    /// Changes a service instance. The order of the checks is that of `spec/contracts/broker-behaviour.md` §3.5.
    #[tracing::instrument(name = "update", skip_all)]
    pub async fn update(
        &self,
        request_context: RequestContext,
        request: UpdateRequest,
    ) -> Result<Started, UpdateError> {
        self.check_service(&request.service)?;
        if let Some(plan) = &request.plan {
            self.check_in_catalog(&request.service, plan)?;
        }
        request.patience.required()?;
        let parameters = object(request.parameters.as_ref(), "parameters")?;

        let _turn = self
            .locks
            .acquire(&request.instance, request_context.deadline)
            .await?;
        let call = request_context.call();
        let from = match request.previous.0 {
            Some(plan) => Some(plan),
            None => {
                self.instances
                    .current_plan(&call, &request.instance)
                    .await?
            }
        };
        let to = request
            .plan
            .or_else(|| from.clone())
            .ok_or(UpdateError::PlanUnknown)?;
        self.check_in_catalog(&request.service, &to)?;
        self.check_maintenance_version(&to, request.maintenance_version.as_deref())?;
        // A plan that nobody remembers may have been another one.
        let moves = from.as_ref() != Some(&to);
        if moves && !self.offering.plan_updatable {
            return Err(UpdateError::PlanNotUpdatable);
        }
        let _place = match &self.counting {
            Some(counting) if moves => Some(
                counting
                    .reserve(&self.instances, &request_context, &request.instance, &to)
                    .await?,
            ),
            Some(_) | None => None,
        };
        let identity = json!({
            "service_id": request.service,
            "plan_id": to,
            "parameters": parameters,
            "maintenance_version": request.maintenance_version,
        });
        let order = Order {
            instance: request.instance,
            plan: to.clone(),
            parameters: request.body,
            identity,
            request: request_context.request,
            deadline: request_context.deadline,
        };
        Ok(self.instances.update(&order, &from.unwrap_or(to)).await?)
    }
}
