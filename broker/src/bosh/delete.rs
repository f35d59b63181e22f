//! The end of a service instance.

use std::collections::BTreeMap;

use odb_adapter_sdk::protocol::LifecycleErrand;
use odb_platform::{
    director::{ContextId, Deployment, DirectorError, SubmitError},
    http::StatusCode,
};
use serde_json::Map;

use super::{
    Fault, Instances, OperationKind, Order, Started, StoredMarker, WriteMarkerError, deployment,
    errands, force,
    hand_over::HandOver,
    leftovers,
    marker::{Marker, NewMarker},
    unfinished_of,
};
use crate::{config::BoshConfigs, ids::PlanId};

/// Whether a delete goes on after a failing errand or an unresponsive VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insistence {
    /// It stops and fails.
    Careful,
    /// It goes on.
    Forced,
}

impl Insistence {
    fn kind(self) -> OperationKind {
        match self {
            Self::Careful => OperationKind::Delete,
            Self::Forced => OperationKind::ForceDelete,
        }
    }
}

/// What came of a delete.
#[derive(Debug)]
pub enum Deleted {
    /// It is in progress.
    Started(Started),
    /// There was no such instance; what it left behind is gone, too.
    WasAbsent,
}

impl Instances {
    /// Runs the plan's errands and deletes the instance, then whatever it leaves behind.
    pub async fn delete(&self, order: &Order, insistence: Insistence) -> Result<Deleted, Fault> {
        let call = order.call();
        let director = &self.neighbours.director;
        let name = deployment(&order.instance);
        let unfinished = unfinished_of(&name);
        let (deployed, stored, unfinished) = tokio::join!(
            director.deployment(&call, &name),
            self.neighbours.markers.read(&call, &order.instance),
            director.tasks(&call, &unfinished)
        );
        let deployed = deployed.map_err(Fault::director("look the deployment up"))?;
        let stored = stored?;
        let unfinished = unfinished.map_err(Fault::director("look for tasks in progress"))?;

        if let Some(stored) = stored
            .as_ref()
            .filter(|stored| stored.marker.outcome.is_none())
            && let Some(started) = self.started_before(&call, &order.instance, stored).await?
        {
            return if stored.marker.operation.deletes() {
                Ok(Deleted::Started(started))
            } else {
                Err(Fault::Busy)
            };
        }
        if let Some(known) = self.drivers.known(&order.instance)
            && known.snapshot.is_in_progress()
        {
            return match known.started {
                Some(started) if known.snapshot.kind.deletes() => Ok(Deleted::Started(started)),
                Some(_) | None => Err(Fault::Busy),
            };
        }
        if !unfinished.is_empty() {
            return Err(Fault::Busy);
        }
        let errands = match deployed {
            Deployment::ForeignTeam => return Err(Fault::Foreign),
            Deployment::Absent => return self.remove_leftovers(order).await,
            // Errands need something that was deployed once.
            Deployment::NeverDeployed => Vec::new(),
            Deployment::Deployed(_) => self.errands_before_delete(&order.plan),
        };
        match self
            .start_delete(order, insistence.kind(), errands, stored.as_ref())
            .await
        {
            // Somebody else deleted it in between.
            Err(Fault::Submit(SubmitError::Refused {
                status: StatusCode::NOT_FOUND,
                ..
            })) => self.remove_leftovers(order).await,
            started => started.map(Deleted::Started),
        }
    }

    /// A plan that is gone from the configuration has no errands any more.
    fn errands_before_delete(&self, plan: &PlanId) -> Vec<LifecycleErrand> {
        self.offering
            .plan(plan)
            .map(|plan| plan.lifecycle_errands.pre_delete.clone())
            .unwrap_or_default()
    }

    async fn start_delete(
        &self,
        order: &Order,
        kind: OperationKind,
        errands: Vec<LifecycleErrand>,
        before: Option<&StoredMarker>,
    ) -> Result<Started, Fault> {
        let first = errands.first().cloned();
        let marker = Marker::new(NewMarker {
            offering: self.offering.id.clone(),
            plan: order.plan.clone(),
            operation: kind,
            context: ContextId::random(),
            request: order.request.clone(),
            errands,
            digest: order.digest(),
            dashboard_url: None,
            labels: Map::new(),
        });
        let context = marker.context.clone();
        let hand_over = HandOver {
            order,
            marker,
            before,
            configs: BTreeMap::new(),
            configs_before: BTreeMap::new(),
        };
        let name = deployment(&order.instance);
        let (director, name, context, first) =
            (&self.neighbours.director, &name, &context, first.as_ref());
        self.hand_over(hand_over, |call| async move {
            match first {
                Some(errand) => errands::run(director, &call, name, errand, context).await,
                None => director.delete(&call, name, force(kind), context).await,
            }
        })
        .await
    }

    async fn remove_leftovers(&self, order: &Order) -> Result<Deleted, Fault> {
        let call = order.call();
        if self.neighbours.configs == BoshConfigs::Enabled {
            leftovers::delete_configs(
                &self.neighbours.director,
                &call,
                &deployment(&order.instance),
            )
            .await
            .map_err(Fault::director("delete the instance's configs"))?;
        }
        match self.neighbours.markers.delete(&call, &order.instance).await {
            // Whoever may not delete a marker could not write one.
            Ok(()) | Err(DirectorError::NotAllowed { .. }) => {}
            Err(error) => return Err(Fault::Marker(WriteMarkerError::Director(error))),
        }
        self.drivers.forget(&order.instance);
        Ok(Deleted::WasAbsent)
    }
}
