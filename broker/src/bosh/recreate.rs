//! An instance as it is, on new VMs.

use odb_clients::{
    director::{ContextId, SubmitError},
    http::StatusCode,
};

use super::{
    Fault, Instances, OperationKind, Order, Started,
    current::Current,
    marker::{ClientRole, Marker, NewMarker},
    preparation::Prepared,
    submission::Work,
};

impl Instances {
    /// Recreates every VM of the instance, with the manifest that the Director has; the adapter is not asked. The errands
    /// that follow a deployment follow this one, too (`spec/contracts/broker-behaviour.md` §6).
    pub async fn recreate(&self, order: &Order) -> Result<Started, Fault> {
        let errands = self
            .plan(&order.plan)?
            .lifecycle_errands
            .post_deploy
            .clone();
        let current = match self.look_at_current(order, OperationKind::Recreate).await? {
            Current::AtRest(current) => current,
            Current::SameInProgress(started) => return Ok(started),
        };
        // The instance stays what it is: so does what is known of it.
        let known = current.stored.as_ref().map(|stored| &stored.marker);
        let mut marker = Marker::new(NewMarker {
            offering: self.offering.id.clone(),
            plan: order.plan.clone(),
            operation: OperationKind::Recreate,
            context: ContextId::random(),
            request: order.request.clone(),
            target: None,
            errands,
            digest: order.digest(),
            dashboard_url: known.and_then(|marker| marker.dashboard_url.clone()),
            labels: known
                .map(|marker| marker.labels.clone())
                .unwrap_or_default(),
        });
        marker.client = ClientRole::after(current.stored.as_deref());
        marker.carry_over(known);
        let prepared = Prepared::new(marker, Work::Recreate);
        let handed_over = self
            .hand_over(order, prepared, current.stored.as_deref())
            .await;
        match handed_over {
            // Somebody deleted it in between.
            Err(
                fault @ Fault::Submit(SubmitError::Refused {
                    status: StatusCode::NOT_FOUND,
                    ..
                }),
            ) => self
                .require(&order.call(), &order.instance)
                .await
                .and(Err(fault)),
            handed_over => handed_over,
        }
    }
}
