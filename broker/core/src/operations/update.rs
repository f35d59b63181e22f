//! Updates: other parameters, another plan, or the current offering.

use odb_adapter_sdk::protocol::RequestParameters;
use odb_api_types::ids::{InstanceId, OfferingId, PlanId};
use odb_clients::http::Call;
use serde_json::{Value, json};

use super::{AcceptsIncomplete, Operations, Refused, RequestContext, provision::object};
use crate::{
    engine::Upgraded,
    offering::{
        ParametersOf, PlanMovement, ProposedUpdate, RequestedParameters, UpdateMeaning,
        meaning_of_update,
    },
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
    /// The instance's previous state according to the platform.
    pub previous: PreviousValues,
    /// The user's parameters; absent and null are the same.
    pub parameters: Option<Value>,
    /// The version of the plan as the platform knows it.
    pub maintenance_version: Option<String>,
    /// Whether the platform waits.
    pub accepts_incomplete: AcceptsIncomplete,
    /// The complete body, for the adapter.
    pub body: RequestParameters,
}

/// The platform's record of an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreviousValues {
    /// The plan it has been on.
    pub plan: Option<PlanId>,
    /// The version it has been at.
    pub maintenance_version: Option<String>,
}

impl Operations {
    /// Changes a service instance. The order of the checks is that of `spec/contracts/broker-behaviour.md` §3.5.
    #[tracing::instrument(name = "update", skip_all)]
    pub async fn update(
        &self,
        request_context: RequestContext,
        request: UpdateRequest,
    ) -> Result<Upgraded, Refused> {
        self.check_service(&request.service)?;
        if let Some(plan) = &request.plan {
            self.check_in_catalog(&request.service, plan)?;
        }
        request.accepts_incomplete.required()?;
        let parameters = object(request.parameters.as_ref(), "parameters")?;

        let _turn = self
            .locks
            .instance(&request.instance, request_context.deadline)
            .await?;
        let call = request_context.call();
        let from = match &request.previous.plan {
            Some(plan) => Some(plan.clone()),
            None => self.engine.current_plan(&call, &request.instance).await?,
        };
        let proposed = ProposedUpdate {
            plan: request.plan.as_ref(),
            previous_plan: from.as_ref(),
            parameters: if parameters.is_empty() {
                RequestedParameters::None
            } else {
                RequestedParameters::Given
            },
            version: request.maintenance_version.as_deref(),
            previous_version: request.previous.maintenance_version.as_deref(),
        };
        match self.meaning(&call, &request.instance, &proposed).await? {
            UpdateMeaning::Update { plan, movement } => {
                let _reservation = match &self.counting {
                    Some(counting) if movement == PlanMovement::Moves => Some(
                        counting
                            .reserve_move(
                                &*self.engine,
                                &request_context,
                                &request.instance,
                                (from.as_ref(), &plan),
                            )
                            .await?,
                    ),
                    Some(_) | None => None,
                };
                self.schemas
                    .check(&plan, ParametersOf::InstanceUpdate, &parameters)?;
                let identity = json!({
                    "service_id": request.service,
                    "plan_id": plan,
                    "parameters": parameters,
                    "maintenance_version": request.maintenance_version,
                });
                let from = from.unwrap_or_else(|| plan.clone());
                let order = request_context.order(request.instance, plan, identity, request.body);
                let started = self.engine.update(&order, &from).await?;
                Ok(Upgraded::Started(started))
            }
            UpdateMeaning::Upgrade { plan } => {
                let identity = json!({
                    "service_id": request.service,
                    "plan_id": plan,
                    "maintenance_version": request.maintenance_version,
                });
                let context = request.body.only("context");
                let order = request_context.order(request.instance, plan, identity, context);
                Ok(self.engine.upgrade(&order).await?)
            }
            UpdateMeaning::Nothing => {
                self.engine
                    .require_at_rest(&call, &request.instance)
                    .await?;
                Ok(Upgraded::NothingToDo)
            }
        }
    }

    /// What an update requests. An update without changes repairs an instance whose latest operation has failed:
    /// otherwise the platform would show the ordered values while the instance has others.
    async fn meaning(
        &self,
        call: &Call,
        instance: &InstanceId,
        proposed: &ProposedUpdate<'_>,
    ) -> Result<UpdateMeaning, Refused> {
        let meaning = meaning_of_update(&self.offering, proposed)?;
        let plan = proposed.plan.or(proposed.previous_plan);
        let (UpdateMeaning::Nothing, Some(plan)) = (&meaning, plan) else {
            return Ok(meaning);
        };
        if self.engine.is_as_ordered(call, instance).await? {
            return Ok(meaning);
        }
        Ok(UpdateMeaning::Update {
            plan: plan.clone(),
            movement: PlanMovement::Stays,
        })
    }
}
