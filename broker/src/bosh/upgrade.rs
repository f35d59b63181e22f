//! An instance as it is, with what the operator offers today.

use super::{
    Fault, Instances, OperationKind, Order, Started,
    current::{AtRest, Current},
    hand_over::HandOver,
    preparation::Prepared,
};

impl Instances {
    /// Deploys the instance anew on its plan. Adapters get no secrets (`spec/contracts/adapter-protocol.md` §1.8). What its
    /// user asked for before is in the deployed manifest, from which the adapter takes it; pending changes are what an upgrade
    /// is for (`spec/contracts/broker-behaviour.md` §3.6).
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
        let mut marker = prepared.marker;
        if let Some(configs) = &current.configs {
            marker.replaced_configs = configs.replaced_by(&prepared.configs);
            marker.obsolete_configs = configs.versions_of(&prepared.obsolete_configs);
        }
        let context = marker.context.clone();
        let hand_over = HandOver {
            order,
            marker,
            before: current.stored.as_deref(),
            configs: prepared.configs,
            secrets: prepared.secrets,
            client: prepared.client,
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
