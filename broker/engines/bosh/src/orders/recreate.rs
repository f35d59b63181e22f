//! An instance as it is, on new VMs.

use odb_api_types::kind::OperationKind;
use odb_clients::{
    director::{ContextId, SubmitError},
    http::StatusCode,
};
use odb_core::engine::{Order, Started};

use crate::{
    BoshEngine,
    error::Error,
    orders::{
        current::{self, Current},
        preparation::{self, Prepared},
        submission::Work,
        submit_order,
    },
    records::operation_record::{ClientRole, NewRecord, OperationRecord},
};

/// Recreates every VM of the instance with the Director's manifest; the adapter is not called. Post-deploy errands run,
/// too (`spec/contracts/broker-behaviour.md` §6).
pub(crate) async fn recreate(engine: &BoshEngine, order: &Order) -> Result<Started, Error> {
    let errands = preparation::plan(engine, &order.plan)?
        .lifecycle_errands
        .post_deploy
        .clone();
    let current = match current::look_at_current(engine, order, OperationKind::Recreate).await? {
        Current::AtRest(current) => current,
        Current::SameInProgress(started) => return Ok(started),
    };
    // The instance does not change, so it keeps its record.
    let known = current.stored.as_ref().map(|stored| &stored.record);
    let mut record = OperationRecord::new(NewRecord {
        offering: engine.offering.id.clone(),
        plan: order.plan.clone(),
        operation: OperationKind::Recreate,
        context: ContextId::random(),
        request: order.request.clone(),
        target: None,
        errands,
        digest: order.digest(),
        dashboard_url: known.and_then(|record| record.dashboard_url.clone()),
        labels: known
            .map(|record| record.labels.clone())
            .unwrap_or_default(),
    });
    record.client = ClientRole::after(current.stored.as_deref());
    record.carry_over(known);
    let prepared = Prepared::new(record, Work::Recreate);
    let submitted =
        submit_order::submit_order(engine, order, prepared, current.stored.as_deref()).await;
    match submitted {
        // Another client has deleted it in between.
        Err(
            error @ Error::Submit(SubmitError::Refused {
                status: StatusCode::NOT_FOUND,
                ..
            }),
        ) => current::require(engine, &order.call(), &order.instance)
            .await
            .and(Err(error)),
        submitted => submitted,
    }
}
