//! A new service instance.

use async_trait::async_trait;
use odb_api_types::kind::OperationKind;
use odb_clients::director::Deployment;
use odb_core::engine::{EngineError, Found, Order, Started, Vacancy};

use crate::{
    BoshEngine,
    configs::CurrentConfigs,
    deployment::deployment,
    fault::Fault,
    orders::{hand_over, preparation},
    records::{
        in_flight::{self, InFlight},
        marker::Marker,
        markers::StoredMarker,
    },
};

/// An id under which nothing is, or only the operation record of a request that never got to the Director.
#[derive(Debug)]
struct VacantDeployment {
    engine: BoshEngine,
    before: Option<Box<StoredMarker>>,
}

#[async_trait]
impl Vacancy for VacantDeployment {
    async fn create(self: Box<Self>, order: &Order) -> Result<Started, EngineError> {
        let created = create(&self.engine, order, self.before.as_deref()).await;
        created.map_err(Fault::of_creation)
    }
}

/// Looks what is there under the ordered id. An instance with other attributes is a fault.
pub(crate) async fn find(engine: &BoshEngine, order: &Order) -> Result<Found, Fault> {
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
        engine.upstreams.markers.read(&call, &order.instance)
    );
    let deployed = deployed.map_err(Fault::director("look the deployment up"))?;
    if matches!(deployed, Deployment::ForeignTeam) {
        return Err(Fault::Foreign);
    }
    let is_absent = matches!(deployed, Deployment::Absent);
    let is_same = |marker: &Marker| {
        marker.operation == OperationKind::Create && marker.digest.matches(order.identity())
    };
    let stored = match in_flight::in_flight(engine, &call, &order.instance, stored?).await? {
        InFlight::OnItsWay { stored, started } if is_same(&stored.marker) => {
            return Ok(Found::InProgress(started));
        }
        InFlight::OnItsWay { stored, .. } if stored.marker.operation.deletes() => {
            return Err(Fault::Busy);
        }
        InFlight::OnItsWay { .. } => return Err(Fault::Taken),
        InFlight::AtRest(stored) => stored,
    };
    let Some(stored) = stored else {
        return if !is_absent {
            Err(Fault::Taken)
        } else if engine.drivers.in_progress(&order.instance).is_some() {
            Err(Fault::Busy)
        } else {
            Ok(Found::Vacant(vacant(None)))
        };
    };
    // Without its deployment a marker tells of an instance that somebody removed behind our back, or that never was.
    if is_absent {
        return Ok(Found::Vacant(vacant(Some(Box::new(stored)))));
    }
    let marker = stored.marker;
    match &marker.outcome {
        Some(outcome) if outcome.is_success() && is_same(&marker) => Ok(Found::Completed {
            dashboard_url: marker.dashboard_url,
            labels: marker.labels,
        }),
        Some(_) | None => Err(Fault::Taken),
    }
}

/// Makes a new instance. Everything that can fail comes before the hand-over; afterwards the operation completes by
/// itself.
async fn create(
    engine: &BoshEngine,
    order: &Order,
    before: Option<&StoredMarker>,
) -> Result<Started, Fault> {
    let mut prepared = preparation::prepare(engine, order, OperationKind::Create, None).await?;
    prepared.record.replaced_configs = CurrentConfigs::default().replaced_by(&prepared.configs);
    hand_over::hand_over(engine, order, prepared, before).await
}
