//! An instance with other parameters, or on another plan.

use odb_adapter_sdk::protocol::RequestParameters;
use serde_json::Map;

use super::{
    Fault, Instances, ManifestDifference, OperationKind, Order, Started,
    current::{AtRest, Current},
    preparation::Previous,
};
use crate::{
    config::{PendingChanges, Plan},
    ids::PlanId,
};

impl Instances {
    /// Deploys the instance anew with what is ordered. `from` is the plan it has been on.
    pub async fn update(&self, order: &Order, from: &PlanId) -> Result<Started, Fault> {
        let current = match self.look_at_current(order, OperationKind::Update).await? {
            Current::AtRest(current) => current,
            Current::SameInProgress(started) => return Ok(started),
        };
        let plan = self.offering.plan(from);
        if self.pending_changes == PendingChanges::Refused {
            self.check_pending_changes(order, plan, &current).await?;
        }
        let previous = self.previous(plan, &current);
        let mut prepared = self
            .prepare(order, OperationKind::Update, Some(previous))
            .await?;
        prepared.marker.previous_plan = Some(from.clone()).filter(|from| *from != order.plan);
        self.redeploy(order, current, prepared).await
    }

    /// Makes sure that the adapter would make of the instance what is deployed, so that its user changes nothing but
    /// what was asked for (`spec/contracts/broker-behaviour.md` §3.7).
    async fn check_pending_changes(
        &self,
        order: &Order,
        plan: Option<&Plan>,
        current: &AtRest,
    ) -> Result<(), Fault> {
        let Some(plan) = plan else {
            tracing::warn!(
                "the instance's plan is gone from the configuration: pending changes cannot be told"
            );
            return Ok(());
        };
        let nothing = RequestParameters::from_fields(Map::new());
        let previous = self.previous(Some(plan), current);
        let regenerated = self
            .generate(order, &self.adapter_plan(plan), nothing, Some(previous))
            .await?;
        let difference =
            ManifestDifference::between(current.manifest.as_str(), regenerated.manifest.as_str())?;
        if difference.is_empty() {
            Ok(())
        } else {
            Err(Fault::PendingChanges { difference })
        }
    }

    /// What the adapter is told of the instance as it is.
    pub(super) fn previous(&self, plan: Option<&Plan>, current: &AtRest) -> Previous {
        Previous {
            manifest: current.manifest.clone(),
            plan: plan.map(|plan| self.adapter_plan(plan)),
            configs: current.configs.clone(),
        }
    }
}
