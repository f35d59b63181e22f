//! Counts the slots: the instances of the source, plus those being created here (`docs/contributing/architecture.md`,
//! "Quotas"). `ledger` has the rule.

mod ledger;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use odb_api_types::ids::{InstanceId, PlanId};
use odb_clients::http::Call;
use odb_config::Offering;
use tokio::time::Instant;

use super::{InstanceSource, Refused, RequestContext, SourceError};
use crate::{
    engine::Engine,
    offering::{Total, check_quotas, totals_needed},
};
use ledger::{Here, Ledger, Listing, Totals, is_unsettled};

#[derive(Clone, Debug)]
pub(super) struct Counting {
    engine: Arc<dyn Engine>,
    source: Arc<dyn InstanceSource>,
    offering: Arc<Offering>,
    /// How long ago a change may have happened that the source does not show yet.
    recently: Duration,
    ledger: Arc<Mutex<Ledger>>,
}

/// A reservation for an instance until its request has been answered; from then on its reconciler reports the
/// occupancy.
#[derive(Debug)]
pub(super) struct Reservation {
    instance: InstanceId,
    ledger: Arc<Mutex<Ledger>>,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        locked(&self.ledger).release(&self.instance);
    }
}

#[derive(Clone, Copy)]
struct Wanted<'a> {
    instance: &'a InstanceId,
    plan: &'a PlanId,
    /// The plan from which the instance shall be moved, if that is known.
    origin: Option<&'a PlanId>,
}

struct Pending<'a>(&'a Counting, &'a InstanceId);

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        locked(&self.0.ledger).end_pending(self.1);
    }
}

fn locked(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

fn uncounted(error: SourceError) -> Refused {
    Refused::CountSource(Box::new(error))
}

impl Counting {
    pub(super) fn new(
        engine: Arc<dyn Engine>,
        source: Arc<dyn InstanceSource>,
        offering: Arc<Offering>,
        recently: Duration,
    ) -> Self {
        Self {
            engine,
            source,
            offering,
            recently,
            ledger: Arc::default(),
        }
    }

    /// Reads what earlier processes left in progress, so that the first order need not.
    pub(super) async fn prepare(&self, call: &Call) -> Result<(), Refused> {
        if !self.offering.has_quotas() {
            return Ok(());
        }
        let listing = self.list(call).await?;
        let here = self.here();
        locked(&self.ledger).learn(&listing, &here, Instant::now());
        Ok(())
    }

    /// Reserves capacity on the plan for a new instance, if the quotas allow it.
    pub(super) async fn reserve(
        &self,
        request_context: &RequestContext,
        instance: &InstanceId,
        plan: &PlanId,
    ) -> Result<Reservation, Refused> {
        locked(&self.ledger).begin_pending(instance);
        let _pending = Pending(self, instance);
        let wanted = Wanted {
            instance,
            plan,
            origin: None,
        };
        self.find_reservation(request_context, wanted).await
    }

    /// Reserves capacity on the plan for an instance of another plan (`from`, if known). The instance counts on both
    /// until the outcome of the move is known.
    pub(super) async fn reserve_move(
        &self,
        request_context: &RequestContext,
        instance: &InstanceId,
        (from, to): (Option<&PlanId>, &PlanId),
    ) -> Result<Reservation, Refused> {
        let wanted = Wanted {
            instance,
            plan: to,
            origin: from,
        };
        self.find_reservation(request_context, wanted).await
    }

    async fn find_reservation(
        &self,
        request_context: &RequestContext,
        wanted: Wanted<'_>,
    ) -> Result<Reservation, Refused> {
        let needed = totals_needed(&self.offering, wanted.plan);
        if needed.is_empty() {
            return Ok(self.keep(&mut locked(&self.ledger), &self.here(), wanted));
        }
        let call = request_context.call();
        if let Some(reservation) = self.try_totals(&call, &needed, wanted).await? {
            return Ok(reservation);
        }
        let listing = self.list(&call).await?;
        // Counting and reserving are one step: two orders must not get the same last reservation.
        let mut ledger = locked(&self.ledger);
        let here = self.here();
        let now = Instant::now();
        let usage = ledger.exactly(&listing, &here, wanted.instance, now, self.recently);
        check_quotas(&self.offering, wanted.plan, &usage)?;
        Ok(self.keep(&mut ledger, &here, wanted))
    }

    async fn try_totals(
        &self,
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
        let mut ledger = locked(&self.ledger);
        let here = self.here();
        let Some(usage) = ledger.at_most(&totals, &here, wanted.instance) else {
            return Ok(None);
        };
        Ok(check_quotas(&self.offering, wanted.plan, &usage)
            .is_ok()
            .then(|| self.keep(&mut ledger, &here, wanted)))
    }

    async fn list(&self, call: &Call) -> Result<Listing, Refused> {
        let began = Instant::now();
        let (entries, occupancies) = tokio::join!(
            self.source.all(call),
            self.engine.recorded_occupancies(call)
        );
        let entries = entries.map_err(uncounted)?;
        let occupancies = occupancies
            .map_err(Refused::CountInstances)?
            .into_iter()
            .collect();
        // An instance without an operation in progress is deployed by now.
        let mut deployed = BTreeSet::new();
        if entries
            .iter()
            .any(|entry| is_unsettled(entry, &occupancies))
        {
            let present = self.engine.present_instances(call).await;
            deployed = present.map_err(Refused::CountInstances)?;
        }
        Ok(Listing {
            began,
            records: entries,
            occupancies,
            deployed,
        })
    }

    fn here(&self) -> Here {
        self.engine.occupied().into_iter().collect()
    }

    fn keep(&self, ledger: &mut Ledger, here: &Here, wanted: Wanted<'_>) -> Reservation {
        ledger.reserve(wanted.instance, wanted.plan, wanted.origin, here);
        Reservation {
            instance: wanted.instance.clone(),
            ledger: self.ledger.clone(),
        }
    }
}
