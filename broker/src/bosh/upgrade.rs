//! An instance as it is, with what the operator offers today.

use super::{
    Fault, Instances, OperationKind, Order, Started,
    current::{AtRest, Current},
    hand_over::HandOver,
    preparation::Previous,
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
        self.redeploy(order, OperationKind::Upgrade, current, previous)
            .await
    }

    /// Asks the adapter for everything and hands it over.
    pub(super) async fn redeploy(
        &self,
        order: &Order,
        kind: OperationKind,
        current: AtRest,
        previous: Previous,
    ) -> Result<Started, Fault> {
        let prepared = self.prepare(order, kind, Some(previous)).await?;
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
