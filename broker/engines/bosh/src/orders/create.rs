//! A new service instance.

use async_trait::async_trait;
use odb_api_types::kind::OperationKind;
use odb_clients::director::Deployment;
use odb_core::engine::{EngineError, Found, Order, Started, Vacancy};

use crate::{
    BoshEngine,
    configs::CurrentConfigs,
    error::Error,
    instance::{InFlight, Instance},
    orders::{preparation, submission::submit_order},
    records::{operation_record::OperationRecord, operation_records::StoredRecord},
};

/// An id under which nothing is, or only the operation record of a request that never got to the Director.
#[derive(Debug)]
struct VacantDeployment {
    engine: BoshEngine,
    before: Option<Box<StoredRecord>>,
}

#[async_trait]
impl Vacancy for VacantDeployment {
    async fn create(self: Box<Self>, order: &Order) -> Result<Started, EngineError> {
        let created = create(&self.engine, order, self.before.as_deref()).await;
        created.map_err(Error::of_creation)
    }
}

/// Finds the existing state under the ordered id. An instance with other attributes is an error.
pub(crate) async fn find(engine: &BoshEngine, order: &Order) -> Result<Found, Error> {
    let vacant = |before: Option<StoredRecord>| {
        Found::Vacant(Box::new(VacantDeployment {
            engine: engine.clone(),
            before: before.map(Box::new),
        }))
    };
    let call = order.call();
    let instance = Instance::new(engine, &call, &order.instance);
    let (deployed, stored) = tokio::join!(instance.deployment(), instance.stored());
    let deployed = deployed?;
    if matches!(deployed, Deployment::ForeignTeam) {
        return Err(Error::Foreign);
    }
    let is_absent = matches!(deployed, Deployment::Absent);
    let is_same = |record: &OperationRecord| {
        record.operation == OperationKind::Create && record.digest.matches(order.identity())
    };
    let stored = match instance.in_flight(stored?).await? {
        InFlight::OnItsWay { stored, started } if is_same(&stored.record) => {
            return Ok(Found::InProgress(started));
        }
        InFlight::OnItsWay { stored, .. } if stored.record.operation.deletes() => {
            return Err(Error::Busy);
        }
        InFlight::OnItsWay { .. } => return Err(Error::Taken),
        InFlight::AtRest(stored) => stored,
    };
    match stored {
        None if !is_absent => Err(Error::Taken),
        None if instance.in_progress().is_some() => Err(Error::Busy),
        Some(StoredRecord { record, .. }) if !is_absent => match &record.outcome {
            Some(outcome) if outcome.is_success() && is_same(&record) => Ok(Found::Completed {
                dashboard_url: record.dashboard_url,
                labels: record.labels,
            }),
            Some(_) | None => Err(Error::Taken),
        },
        // An operation record without a deployment belongs to an instance that was removed outside of the broker, or
        // that never existed.
        stored => Ok(vacant(stored)),
    }
}

/// Creates a new instance. Everything that can fail comes before the submission; afterwards a reconciler completes the
/// operation.
async fn create(
    engine: &BoshEngine,
    order: &Order,
    before: Option<&StoredRecord>,
) -> Result<Started, Error> {
    let mut prepared = preparation::prepare(engine, order, OperationKind::Create, None).await?;
    prepared.note_configs(Some(&CurrentConfigs::default()));
    submit_order(engine, order, prepared, before).await
}
