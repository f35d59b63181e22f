//! Changes of a service instance: the user's updates, the operator's operations and their previews.

use odb_adapter_sdk::protocol::RequestParameters;
use odb_api_types::{
    ids::{InstanceId, OfferingId, PlanId},
    management::DryRun,
};
use odb_clients::http::Call;
use serde_json::{Map, Value, json};

use super::{Operations, Refused, RequestContext, provision::object, require_async};
use crate::{
    engine::{Cancelled, Order, Started, Upgraded},
    offering::{ParametersOf, ProposedUpdate, UpdateMeaning, meaning_of_update},
};

/// A change of a service instance (Open Service Broker API 2.17, "Updating a Service Instance").
#[derive(Debug)]
pub struct UpdateRequest {
    pub instance: InstanceId,
    pub service: OfferingId,
    /// The plan it shall be on; absent: it stays.
    pub plan: Option<PlanId>,
    pub previous: PreviousValues,
    /// The user's parameters; absent and null are the same.
    pub parameters: Option<Value>,
    pub maintenance_version: Option<String>,
    /// Whether the platform waits.
    pub accepts_incomplete: bool,
    pub body: RequestParameters,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreviousValues {
    pub plan: Option<PlanId>,
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
        require_async(request.accepts_incomplete)?;
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
            has_parameters: !parameters.is_empty(),
            version: request.maintenance_version.as_deref(),
            previous_version: request.previous.maintenance_version.as_deref(),
        };
        match self.meaning(&call, &request.instance, &proposed).await? {
            UpdateMeaning::Update { plan, moves } => {
                let _reservation = match &self.counting {
                    Some(counting) if moves => Some(
                        counting
                            .reserve_move(
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
            moves: false,
        })
    }

    /// Upgrades a service instance to its current target (`spec/contracts/broker-behaviour.md` §3.6, §6). The user's
    /// parameters stay. The adapter gets the context of the body, which may be absent or null.
    #[tracing::instrument(name = "upgrade", skip_all)]
    pub async fn upgrade(
        &self,
        request_context: RequestContext,
        instance: InstanceId,
        plan: PlanId,
        body: RequestParameters,
    ) -> Result<Upgraded, Refused> {
        let identity = json!({ "plan_id": plan });
        let order = self.order_of_upgrade(&request_context, instance, plan, identity, &body)?;
        let _turn = self.locks.instance(&order.instance, order.deadline).await?;
        Ok(self.engine.upgrade(&order).await?)
    }

    /// Returns what an upgrade would change. Changes nothing, and waits for no lock: for a busy instance it uses the
    /// last deployment.
    #[tracing::instrument(name = "dry run", skip_all)]
    pub async fn dry_run(
        &self,
        request_context: RequestContext,
        instance: InstanceId,
        plan: PlanId,
        body: RequestParameters,
    ) -> Result<DryRun, Refused> {
        let order = self.order_of_upgrade(&request_context, instance, plan, Value::Null, &body)?;
        Ok(self.engine.preview(&order).await?)
    }

    fn order_of_upgrade(
        &self,
        request_context: &RequestContext,
        instance: InstanceId,
        plan: PlanId,
        identity: Value,
        body: &RequestParameters,
    ) -> Result<Order, Refused> {
        self.check_plan(&plan)?;
        object(body.fields().get("context"), "context")?;
        Ok(request_context.order(instance, plan, identity, body.only("context")))
    }

    /// Puts a service instance onto new VMs (`spec/contracts/broker-behaviour.md` §6). Nothing else about it changes.
    #[tracing::instrument(name = "recreate", skip_all)]
    pub async fn recreate(
        &self,
        request_context: RequestContext,
        instance: InstanceId,
        plan: PlanId,
    ) -> Result<Started, Refused> {
        self.check_plan(&plan)?;
        let _turn = self
            .locks
            .instance(&instance, request_context.deadline)
            .await?;
        let identity = json!({ "plan_id": plan });
        let nothing = RequestParameters::from_fields(Map::new());
        let order = request_context.order(instance, plan, identity, nothing);
        Ok(self.engine.recreate(&order).await?)
    }

    #[tracing::instrument(name = "cancel", skip_all)]
    pub async fn cancel(
        &self,
        request_context: RequestContext,
        instance: InstanceId,
    ) -> Result<Cancelled, Refused> {
        let _turn = self
            .locks
            .instance(&instance, request_context.deadline)
            .await?;
        let call = request_context.call();
        let cancelled = self
            .engine
            .cancel(&call, &instance, &request_context.request);
        Ok(cancelled.await?)
    }
}
