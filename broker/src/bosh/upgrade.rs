//! An instance as it is, with what the operator offers today.

use super::{
    Fault, Instances, OperationKind, Order, Started,
    current::{AtRest, Current},
    hand_over::HandOver,
    preparation::Prepared,
};

impl Instances {
    /// Deploys the instance anew on its plan. What its user asked for before is in the deployed manifest, from which the
    /// adapter takes it; pending changes are what an upgrade is for (`spec/contracts/broker-behaviour.md` §3.6).
    pub async fn upgrade(&self, order: &Order) -> Result<Started, Fault> {
        let current = match self.look_at_current(order, OperationKind::Upgrade).await? {
            Current::AtRest(current) => current,
            Current::SameInProgress(started) => return Ok(started),
        };
        let previous = self.previous(Some(self.plan(&order.plan)?), &current);
        let prepared = self
            .prepare(order, OperationKind::Upgrade, Some(previous))
            .await?;
        self.redeploy(order, current, prepared).await
    }

    /// Hands over what is prepared for an existing instance.
    pub(super) async fn redeploy(
        &self,
        order: &Order,
        current: AtRest,
        prepared: Prepared,
    ) -> Result<Started, Fault> {
        let context = prepared.marker.context.clone();
        let hand_over = HandOver {
            order,
            marker: prepared.marker,
            before: current.stored.as_deref(),
            configs: prepared.configs,
            configs_before: current.configs.unwrap_or_default(),
        };
        let (director, manifest, context) = (
            &self.neighbours.director,
            prepared.manifest.as_str(),
            &context,
        );
        self.hand_over(hand_over, |call| async move {
            director.deploy(&call, manifest, context).await
        })
        .await
    }
}
