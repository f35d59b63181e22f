//! A new service instance.

use odb_clients::director::Deployment;
use serde_json::{Map, Value};

use super::{
    Fault, Instances, Marker, OperationKind, Order, Started, StoredMarker, configs::CurrentConfigs,
    deployment, in_flight::InFlight,
};

/// What there is under an ordered id.
#[derive(Debug)]
pub enum Found {
    /// Nothing: it can be made.
    Vacant(Vacancy),
    /// The same request, in progress.
    InProgress(Started),
    /// The same request, completed.
    Completed {
        /// What the adapter named as dashboard.
        dashboard_url: Option<String>,
        /// What the adapter says of the instance.
        labels: Map<String, Value>,
    },
}

/// An id under which nothing is, or only what a request left that never got to the Director.
#[derive(Debug)]
pub struct Vacancy {
    before: Option<Box<StoredMarker>>,
}

impl Instances {
    /// Looks what is there under the ordered id. An instance with other attributes is a fault.
    pub async fn find(&self, order: &Order) -> Result<Found, Fault> {
        let call = order.call();
        let name = deployment(&order.instance);
        let (deployed, stored) = tokio::join!(
            self.neighbours.director.deployment(&call, &name),
            self.neighbours.markers.read(&call, &order.instance)
        );
        let deployed = deployed.map_err(Fault::director("look the deployment up"))?;
        if matches!(deployed, Deployment::ForeignTeam) {
            return Err(Fault::Foreign);
        }
        let is_absent = matches!(deployed, Deployment::Absent);
        let is_same = |marker: &Marker| {
            marker.operation == OperationKind::Create && marker.digest.matches(order.identity())
        };
        let stored = match self.in_flight(&call, &order.instance, stored?).await? {
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
            } else if self.drivers.in_progress(&order.instance).is_some() {
                Err(Fault::Busy)
            } else {
                Ok(Found::Vacant(Vacancy { before: None }))
            };
        };
        // Without its deployment a marker tells of an instance that somebody removed behind our back, or that never was.
        if is_absent {
            return Ok(Found::Vacant(Vacancy {
                before: Some(Box::new(stored)),
            }));
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
    pub async fn create(&self, order: &Order, vacancy: Vacancy) -> Result<Started, Fault> {
        let mut prepared = self.prepare(order, OperationKind::Create, None).await?;
        prepared.record.replaced_configs = CurrentConfigs::default().replaced_by(&prepared.configs);
        self.hand_over(order, prepared, vacancy.before.as_deref())
            .await
    }
}
