//! How many instances there are: what the Cloud Controller has, plus what is being made here (`docs/architecture.md`, "Quotas").

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use odb_platform::{
    cloud_controller::{
        CfInstance, CfOperationKind, CfOperationState, CloudController, CloudControllerError,
    },
    http::Call,
};

use super::RequestContext;
use crate::{
    bosh::{Fault, Instances},
    config::Offering,
    ids::{InstanceId, PlanId},
    offering::{QuotaExceeded, Usage},
};

/// Counts instances and keeps places for those on their way.
#[derive(Clone, Debug)]
pub(super) struct Counting {
    source: CloudController,
    offering: Arc<Offering>,
    reserved: Arc<Mutex<HashMap<InstanceId, PlanId>>>,
}

/// A place kept for an instance until its request has been answered; from then on its marker speaks for it.
#[derive(Debug)]
pub(super) struct Place {
    instance: InstanceId,
    reserved: Arc<Mutex<HashMap<InstanceId, PlanId>>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.reserved
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.instance);
    }
}

/// The instances could not be counted.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    /// The Cloud Controller did not tell.
    #[error("could not count the service instances")]
    CloudController(#[source] CloudControllerError),
    /// The Director did not tell which instances were let in before.
    #[error("could not count the service instances")]
    Markers(#[source] Fault),
}

impl CountError {
    /// The time of the request was used up.
    pub fn is_out_of_time(&self) -> bool {
        match self {
            Self::CloudController(error) => matches!(error, CloudControllerError::OutOfTime { .. }),
            Self::Markers(fault) => fault.is_out_of_time(),
        }
    }
}

/// Why no place was kept.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReserveError {
    #[error(transparent)]
    Count(#[from] CountError),
    #[error(transparent)]
    Quota(#[from] QuotaExceeded),
}

impl From<ReserveError> for super::ProvisionError {
    fn from(error: ReserveError) -> Self {
        match error {
            ReserveError::Count(error) => Self::Count(error),
            ReserveError::Quota(error) => Self::Quota(error),
        }
    }
}

impl From<ReserveError> for super::UpdateError {
    fn from(error: ReserveError) -> Self {
        match error {
            ReserveError::Count(error) => Self::Count(error),
            ReserveError::Quota(error) => Self::Quota(error),
        }
    }
}

impl Counting {
    pub(super) fn new(source: CloudController, offering: Arc<Offering>) -> Self {
        Self {
            source,
            offering,
            reserved: Arc::default(),
        }
    }

    /// Keeps a place on the plan for the instance, if the quotas have one. Without quotas nobody is asked.
    pub(super) async fn reserve(
        &self,
        instances: &Instances,
        request_context: &RequestContext,
        instance: &InstanceId,
        plan: &PlanId,
    ) -> Result<Place, ReserveError> {
        let (known, remembered) = if self.offering.has_quotas() {
            let call = request_context.call();
            let (known, remembered) = tokio::join!(self.known(&call), instances.remembered(&call));
            (
                known.map_err(CountError::CloudController)?,
                remembered.map_err(CountError::Markers)?,
            )
        } else {
            (Vec::new(), Vec::new())
        };
        // Looking and reserving are one step: two orders must not see the same last place.
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        let here: BTreeMap<InstanceId, PlanId> = reserved
            .iter()
            .map(|(instance, plan)| (instance.clone(), plan.clone()))
            .chain(instances.present())
            .collect();
        let let_in: BTreeSet<&InstanceId> = remembered.iter().chain(here.keys()).collect();
        let mut places: BTreeMap<InstanceId, PlanId> = known
            .into_iter()
            // The Cloud Controller writes an instance down before it asks; only those that were let in count.
            .filter(|(known, _, standing)| {
                *standing == RecordStanding::Settled || let_in.contains(known)
            })
            .map(|(known, plan, _)| (known, plan))
            .collect();
        places.extend(here);
        places.remove(instance);
        let usage: Usage = places.into_values().collect();
        crate::offering::check_quotas(&self.offering, plan, &usage)?;
        reserved.insert(instance.clone(), plan.clone());
        Ok(Place {
            instance: instance.clone(),
            reserved: self.reserved.clone(),
        })
    }

    async fn known(
        &self,
        call: &Call,
    ) -> Result<Vec<(InstanceId, PlanId, RecordStanding)>, CloudControllerError> {
        let plans = self
            .source
            .plans_of_offering(call, self.offering.id.as_str())
            .await?;
        let guids: Vec<_> = plans.iter().map(|plan| plan.guid.clone()).collect();
        let names: HashMap<_, PlanId> = plans
            .into_iter()
            .map(|plan| (plan.guid, PlanId::from(plan.unique_id)))
            .collect();
        let instances = self.source.instances(call, &guids).await?;
        Ok(instances
            .into_iter()
            .filter_map(|record| {
                let plan = names.get(&record.plan)?.clone();
                let standing = standing(&record);
                let instance = InstanceId::try_from(record.guid.to_string()).ok()?;
                Some((instance, plan, standing))
            })
            .collect())
    }
}

/// What the Cloud Controller's record of an instance is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordStanding {
    /// There is such an instance.
    Settled,
    /// It is being created, or its creation has failed.
    Pending,
}

fn standing(record: &CfInstance) -> RecordStanding {
    match &record.last_operation {
        Some(operation)
            if operation.kind == CfOperationKind::Create
                && operation.state != CfOperationState::Succeeded =>
        {
            RecordStanding::Pending
        }
        Some(_) | None => RecordStanding::Settled,
    }
}
