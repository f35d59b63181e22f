//! Counts the slots: the instances of the source, plus those being created here (`docs/contributing/architecture.md`,
//! "Quotas").
//!
//! | file | contents |
//! | --- | --- |
//! | `ledger` | the occupied slots |

mod ledger;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use odb_api_types::ids::{InstanceId, PlanId};
use odb_clients::http::Call;
use odb_config::{Offering, Timings};
use tokio::time::Instant;

use super::{InstanceSource, Refused, RequestContext, SourceError};
use crate::{
    engine::Engine,
    offering::{Total, check_quotas, totals_needed},
};
use ledger::{Here, Ledger, Listing, Totals, is_unsettled};

/// Counts instances and reserves capacity for those in creation.
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

/// A reservation for an instance until its request has been answered; from then on its reconciler reports the
/// occupancy.
#[derive(Debug)]
pub(super) struct Reservation {
    instance: InstanceId,
    ledger: SharedLedger,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.ledger.lock().release(&self.instance);
    }
}

/// A reservation that a request needs.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    instance: &'a InstanceId,
    plan: &'a PlanId,
    /// The plan from which the instance shall be moved, if that is known.
    origin: Option<&'a PlanId>,
}

/// Says of an instance that nothing is decided about it yet.
struct PendingAnswer<'a> {
    instance: &'a InstanceId,
    ledger: &'a SharedLedger,
}

impl<'a> PendingAnswer<'a> {
    fn begin(instance: &'a InstanceId, ledger: &'a SharedLedger) -> Self {
        ledger.lock().begin_pending(instance);
        Self { instance, ledger }
    }
}

impl Drop for PendingAnswer<'_> {
    fn drop(&mut self) {
        self.ledger.lock().end_pending(self.instance);
    }
}

fn uncounted(error: SourceError) -> Refused {
    Refused::CountSource(Box::new(error))
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

    /// Reads what earlier processes left in progress, so that the first order need not.
    pub(super) async fn prepare(&self, engine: &dyn Engine, call: &Call) -> Result<(), Refused> {
        if !self.offering.has_quotas() {
            return Ok(());
        }
        let listing = self.list(engine, call).await?;
        let here = here(engine);
        self.ledger.lock().learn(&listing, &here, Instant::now());
        Ok(())
    }

    /// Reserves capacity on the plan for a new instance, if the quotas allow it.
    pub(super) async fn reserve(
        &self,
        engine: &dyn Engine,
        request_context: &RequestContext,
        instance: &InstanceId,
        plan: &PlanId,
    ) -> Result<Reservation, Refused> {
        let _asking = PendingAnswer::begin(instance, &self.ledger);
        let wanted = Wanted {
            instance,
            plan,
            origin: None,
        };
        self.find_reservation(engine, request_context, wanted).await
    }

    /// Reserves capacity on the plan for an instance of another plan (`from`, if known). The instance counts on both
    /// until the outcome of the move is known.
    pub(super) async fn reserve_move(
        &self,
        engine: &dyn Engine,
        request_context: &RequestContext,
        instance: &InstanceId,
        (from, to): (Option<&PlanId>, &PlanId),
    ) -> Result<Reservation, Refused> {
        let wanted = Wanted {
            instance,
            plan: to,
            origin: from,
        };
        self.find_reservation(engine, request_context, wanted).await
    }

    async fn find_reservation(
        &self,
        engine: &dyn Engine,
        request_context: &RequestContext,
        wanted: Wanted<'_>,
    ) -> Result<Reservation, Refused> {
        let Wanted { instance, plan, .. } = wanted;
        let needed = totals_needed(&self.offering, plan);
        if needed.is_empty() {
            return Ok(self.keep(&mut self.ledger.lock(), &here(engine), wanted));
        }
        let call = request_context.call();
        if let Some(location) = self.try_totals(engine, &call, &needed, wanted).await? {
            return Ok(location);
        }
        let listing = self.list(engine, &call).await?;
        // Counting and reserving are one step: two orders must not get the same last reservation.
        let mut ledger = self.ledger.lock();
        let here = here(engine);
        let recently = self.timings.recorded;
        let usage = ledger.exactly(&listing, &here, instance, Instant::now(), recently);
        check_quotas(&self.offering, plan, &usage)?;
        Ok(self.keep(&mut ledger, &here, wanted))
    }

    /// Makes a reservation if the totals alone show free capacity.
    async fn try_totals(
        &self,
        engine: &dyn Engine,
        call: &Call,
        needed: &BTreeSet<Total>,
        wanted: Wanted<'_>,
    ) -> Result<Option<Reservation>, Refused> {
        let began = Instant::now();
        let counts = self.source.totals(call, needed).await;
        let totals = Totals {
            began,
            counts: counts.map_err(uncounted)?,
        };
        let mut ledger = self.ledger.lock();
        let here = here(engine);
        let Some(usage) = ledger.at_most(&totals, &here, wanted.instance) else {
            return Ok(None);
        };
        Ok(check_quotas(&self.offering, wanted.plan, &usage)
            .is_ok()
            .then(|| self.keep(&mut ledger, &here, wanted)))
    }

    async fn list(&self, engine: &dyn Engine, call: &Call) -> Result<Listing, Refused> {
        let began = Instant::now();
        let (records, occupancies) =
            tokio::join!(self.source.records(call), engine.recorded_occupancies(call));
        let records = records.map_err(uncounted)?;
        let occupancies = occupancies
            .map_err(Refused::CountInstances)?
            .into_iter()
            .collect();
        // An instance without an operation in progress is deployed by now.
        let deployed = if records
            .iter()
            .any(|record| is_unsettled(record, &occupancies))
        {
            let present = engine.present_instances(call).await;
            present.map_err(Refused::CountInstances)?
        } else {
            BTreeSet::new()
        };
        Ok(Listing {
            began,
            records,
            occupancies,
            deployed,
        })
    }

    fn keep(&self, ledger: &mut Ledger, here: &Here, wanted: Wanted<'_>) -> Reservation {
        ledger.reserve(wanted.instance, wanted.plan, wanted.origin, here);
        Reservation {
            instance: wanted.instance.clone(),
            ledger: self.ledger.clone(),
        }
    }
}

fn here(engine: &dyn Engine) -> Here {
    engine.occupied().into_iter().collect()
}
