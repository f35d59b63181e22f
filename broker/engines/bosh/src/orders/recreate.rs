//! An instance as it is, on new VMs.

use odb_api_types::kind::OperationKind;
use odb_clients::{
    director::{ContextId, SubmitError},
    http::StatusCode,
};
use odb_core::engine::{Order, Started};

use crate::{
    BoshEngine,
    fault::Fault,
    orders::{
        current::{self, Current},
        hand_over,
        preparation::{self, Prepared},
        submission::Work,
    },
    records::marker::{ClientRole, Marker, NewMarker},
};

/// Recreates every VM of the instance, with the manifest that the Director has; the adapter is not asked. The errands
/// that follow a deployment follow this one, too (`spec/contracts/broker-behaviour.md` §6).
pub(crate) async fn recreate(engine: &BoshEngine, order: &Order) -> Result<Started, Fault> {
    let errands = preparation::plan(engine, &order.plan)?
        .lifecycle_errands
        .post_deploy
        .clone();
    let current = match current::look_at_current(engine, order, OperationKind::Recreate).await? {
        Current::AtRest(current) => current,
        Current::SameInProgress(started) => return Ok(started),
    };
    // The instance stays what it is: so does what is known of it.
    let known = current.stored.as_ref().map(|stored| &stored.marker);
    let mut marker = Marker::new(NewMarker {
        offering: engine.offering.id.clone(),
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
    let handed_over =
        hand_over::hand_over(engine, order, prepared, current.stored.as_deref()).await;
    match handed_over {
        // Somebody deleted it in between.
        Err(
            fault @ Fault::Submit(SubmitError::Refused {
                status: StatusCode::NOT_FOUND,
                ..
            }),
        ) => current::require(engine, &order.call(), &order.instance)
            .await
            .and(Err(fault)),
        handed_over => handed_over,
    }
}
