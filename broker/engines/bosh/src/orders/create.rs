//! A new service instance.

use async_trait::async_trait;
use odb_api_types::kind::OperationKind;
use odb_clients::director::Deployment;
use odb_core::engine::{EngineError, Found, Order, Started, Vacancy};

use crate::{
    BoshEngine,
    configs::CurrentConfigs,
    deployment::deployment,
    error::Error,
    orders::{preparation, submit_order},
    records::{
        in_flight::{self, InFlight},
        operation_record::OperationRecord,
        operation_records::StoredRecord,
    },
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
    let vacant = |before| -> Box<dyn Vacancy> {
        Box::new(VacantDeployment {
            engine: engine.clone(),
            before,
        })
    };
    let call = order.call();
    let name = deployment(&order.instance);
    let (deployed, stored) = tokio::join!(
        engine.upstreams.director.deployment(&call, &name),
        engine.upstreams.records.read(&call, &order.instance)
    );
    let deployed = deployed.map_err(Error::director("look the deployment up"))?;
    if matches!(deployed, Deployment::ForeignTeam) {
        return Err(Error::Foreign);
    }
    let is_absent = matches!(deployed, Deployment::Absent);
    let is_same = |record: &OperationRecord| {
        record.operation == OperationKind::Create && record.digest.matches(order.identity())
    };
    let stored = match in_flight::in_flight(engine, &call, &order.instance, stored?).await? {
        InFlight::OnItsWay { stored, started } if is_same(&stored.record) => {
            return Ok(Found::InProgress(started));
        }
        InFlight::OnItsWay { stored, .. } if stored.record.operation.deletes() => {
            return Err(Error::Busy);
        }
        InFlight::OnItsWay { .. } => return Err(Error::Taken),
        InFlight::AtRest(stored) => stored,
    };
    let Some(stored) = stored else {
        return if !is_absent {
            Err(Error::Taken)
        } else if engine.reconcilers.in_progress(&order.instance).is_some() {
            Err(Error::Busy)
        } else {
            Ok(Found::Vacant(vacant(None)))
        };
    };
    // An operation record without a deployment belongs to an instance that was removed outside of the broker, or that
    // never existed.
    if is_absent {
        return Ok(Found::Vacant(vacant(Some(Box::new(stored)))));
    }
    let record = stored.record;
    match &record.outcome {
        Some(outcome) if outcome.is_success() && is_same(&record) => Ok(Found::Completed {
            dashboard_url: record.dashboard_url,
            labels: record.labels,
        }),
        Some(_) | None => Err(Error::Taken),
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
    prepared.record.replaced_configs = CurrentConfigs::default().replaced_by(&prepared.configs);
    submit_order::submit_order(engine, order, prepared, before).await
}
