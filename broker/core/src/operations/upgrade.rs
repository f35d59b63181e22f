//! The operator's operations on a service instance, and their previews.

use odb_adapter_sdk::protocol::RequestParameters;
use odb_api_types::{
    ids::{InstanceId, PlanId},
    management::DryRun,
};
use serde_json::{Map, Value, json};

use super::{Operations, Refused, RequestContext, provision::object};
use crate::engine::{Cancelled, Order, Started, Upgraded};

impl Operations {
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

    /// Cancels the operation in progress on an instance.
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
