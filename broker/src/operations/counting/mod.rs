//! Who gets a place: what the source of instances has, plus what is being made here (`docs/architecture.md`, "Quotas").
//!
//! | file | holds |
//! | --- | --- |
//! | `ledger` | which places are taken |

mod ledger;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use odb_api_types::{
    code::Code,
    ids::{InstanceId, PlanId},
};
use odb_platform::http::Call;
use tokio::time::Instant;

use super::{InstanceSource, RequestContext, SourceError};
use crate::{
    bosh::{Fault, Instances},
    config::{Offering, Timings},
    offering::{QuotaExceeded, Total, check_quotas, totals_needed},
};
use ledger::{Here, Ledger, Listing, Totals, is_doubtful};

/// Counts instances and keeps places for those on their way.
#[derive(Clone, Debug)]
pub(super) struct Counting {
    source: InstanceSource,
    offering: Arc<Offering>,
    timings: Timings,
    ledger: SharedLedger,
}

#[derive(Clone, Debug, Default)]
struct SharedLedger(Arc<Mutex<Ledger>>);

impl SharedLedger {
    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place kept for an instance until its request has been answered; from then on its driver speaks for it.
#[derive(Debug)]
pub(super) struct Place {
    instance: InstanceId,
    ledger: SharedLedger,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.ledger.lock().release(&self.instance);
    }
}

/// A place that a request asks for.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    instance: &'a InstanceId,
    plan: &'a PlanId,
    /// The plan from which the instance shall be moved, if that is known.
    origin: Option<&'a PlanId>,
}

/// Says of an instance that nothing is decided about it yet.
struct Asking<'a> {
    instance: &'a InstanceId,
    ledger: &'a SharedLedger,
}

impl<'a> Asking<'a> {
    fn begin(instance: &'a InstanceId, ledger: &'a SharedLedger) -> Self {
        ledger.lock().begin_asking(instance);
        Self { instance, ledger }
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.ledger.lock().end_asking(self.instance);
    }
}

/// The instances could not be counted.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    /// The source of instances did not tell.
    #[error("could not count the service instances")]
    Source(#[source] SourceError),
    /// The Director did not tell which instances were let in before.
    #[error("could not count the service instances")]
    Markers(#[source] Fault),
    /// The list of the Director's deployments could not be read.
    #[error("could not count the service instances")]
    Deployments(#[source] Fault),
}

impl CountError {
    /// The time of the request was used up.
    pub fn is_out_of_time(&self) -> bool {
        match self {
            Self::Source(error) => error.is_out_of_time(),
            Self::Markers(fault) | Self::Deployments(fault) => fault.is_out_of_time(),
        }
    }

    /// The instances change faster than they are listed.
    pub fn is_unsteady(&self) -> bool {
        match self {
            Self::Source(error) => error.is_unsteady(),
            Self::Markers(_) | Self::Deployments(_) => false,
        }
    }

    /// The code under which it stands in the log.
    pub fn code(&self) -> Code {
        match self {
            Self::Source(error) if error.is_unsteady() => Code::UnsteadyCount,
            Self::Source(error) => error.code(),
            Self::Markers(_) | Self::Deployments(_) => Code::Director,
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
    pub(super) fn new(source: InstanceSource, offering: Arc<Offering>, timings: &Timings) -> Self {
        Self {
            source,
            offering,
            timings: *timings,
            ledger: SharedLedger::default(),
        }
    }

    /// Learns what earlier processes have left in progress, so that the first order need not.
    pub(super) async fn prepare(
        &self,
        instances: &Instances,
        call: &Call,
    ) -> Result<(), CountError> {
        if !self.offering.has_quotas() {
            return Ok(());
        }
        let listing = self.list(instances, call).await?;
        let here = here(instances);
        self.ledger.lock().learn(&listing, &here, Instant::now());
        Ok(())
    }

    /// Keeps a place on the plan for an instance that shall be made, if the quotas have one.
    pub(super) async fn reserve(
        &self,
        instances: &Instances,
        request_context: &RequestContext,
        instance: &InstanceId,
        plan: &PlanId,
    ) -> Result<Place, ReserveError> {
        let _asking = Asking::begin(instance, &self.ledger);
        let wanted = Wanted {
            instance,
            plan,
            origin: None,
        };
        self.find_place(instances, request_context, wanted).await
    }

    /// Keeps a place on the plan for an instance that is on another one, `from` where that is known. It takes its place on
    /// both until it is known how the move has ended.
    pub(super) async fn reserve_move(
        &self,
        instances: &Instances,
        request_context: &RequestContext,
        instance: &InstanceId,
        (from, to): (Option<&PlanId>, &PlanId),
    ) -> Result<Place, ReserveError> {
        let wanted = Wanted {
            instance,
            plan: to,
            origin: from,
        };
        self.find_place(instances, request_context, wanted).await
    }

    async fn find_place(
        &self,
        instances: &Instances,
        request_context: &RequestContext,
        wanted: Wanted<'_>,
    ) -> Result<Place, ReserveError> {
        let Wanted { instance, plan, .. } = wanted;
        let needed = totals_needed(&self.offering, plan);
        if needed.is_empty() {
            return Ok(self.keep(&mut self.ledger.lock(), &here(instances), wanted));
        }
        let call = request_context.call();
        if let Some(place) = self.try_totals(instances, &call, &needed, wanted).await? {
            return Ok(place);
        }
        let listing = self.list(instances, &call).await?;
        // Looking and reserving are one step: two orders must not see the same last place.
        let mut ledger = self.ledger.lock();
        let here = here(instances);
        let lately = self.timings.remembered;
        let usage = ledger.exactly(&listing, &here, instance, Instant::now(), lately);
        check_quotas(&self.offering, plan, &usage)?;
        Ok(self.keep(&mut ledger, &here, wanted))
    }

    /// Keeps a place if the totals alone show that there is one.
    async fn try_totals(
        &self,
        instances: &Instances,
        call: &Call,
        needed: &BTreeSet<Total>,
        wanted: Wanted<'_>,
    ) -> Result<Option<Place>, CountError> {
        let began = Instant::now();
        let counts = self.source.totals(call, needed).await;
        let totals = Totals {
            began,
            counts: counts.map_err(CountError::Source)?,
        };
        let mut ledger = self.ledger.lock();
        let here = here(instances);
        let Some(usage) = ledger.at_most(&totals, &here, wanted.instance) else {
            return Ok(None);
        };
        Ok(check_quotas(&self.offering, wanted.plan, &usage)
            .is_ok()
            .then(|| self.keep(&mut ledger, &here, wanted)))
    }

    async fn list(&self, instances: &Instances, call: &Call) -> Result<Listing, CountError> {
        let began = Instant::now();
        let (records, markers) = tokio::join!(
            self.source.records(call),
            instances.recorded_occupancies(call)
        );
        let records = records.map_err(CountError::Source)?;
        let markers = markers.map_err(CountError::Markers)?.into_iter().collect();
        // What is at rest by now is deployed by now.
        let deployed = if records.iter().any(|record| is_doubtful(record, &markers)) {
            let present = instances.present_at_director(call).await;
            present.map_err(CountError::Deployments)?
        } else {
            BTreeSet::new()
        };
        Ok(Listing {
            began,
            records,
            markers,
            deployed,
        })
    }

    fn keep(&self, ledger: &mut Ledger, here: &Here, wanted: Wanted<'_>) -> Place {
        ledger.reserve(wanted.instance, wanted.plan, wanted.origin, here);
        Place {
            instance: wanted.instance.clone(),
            ledger: self.ledger.clone(),
        }
    }
}

fn here(instances: &Instances) -> Here {
    instances.occupied().into_iter().collect()
}
