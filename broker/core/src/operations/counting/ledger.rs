//! The occupied slots, from the source of instances, the reconcilers and the operation records
//! (`docs/contributing/architecture.md`, "Quotas"). No I/O, no clock.
//!
//! An instance *occupies a slot* from the admission of its order until the source no longer has it or its creation has
//! failed. An instance of the source without an operation record was admitted if the Director has its deployment. There
//! are two counts of occupied slots:
//!
//! - [`Ledger::at_most`] from totals of the source: never too small. Each instance that occupies a slot is in the
//!   total, or known here, or was found by the first listing of this process;
//! - [`Ledger::exactly`] from a listing and the operation records.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use odb_api_types::ids::{InstanceId, PlanId};
use tokio::time::Instant;

use crate::{
    engine::{Occupancy, OccupancyKind},
    offering::{Total, Usage},
    operations::instance_source::{InstanceEntry, PlatformState},
};

pub(super) type Here = BTreeMap<InstanceId, Occupancy>;

#[derive(Clone, Debug)]
pub(super) struct Totals {
    pub(super) began: Instant,
    pub(super) counts: BTreeMap<Total, u64>,
}

#[derive(Clone, Debug)]
pub(super) struct Listing {
    /// When the listing started: it may lack later changes.
    pub(super) began: Instant,
    pub(super) records: Vec<InstanceEntry>,
    pub(super) occupancies: Here,
    /// The instances without an operation record that the Director had at that time.
    pub(super) deployed: BTreeSet<InstanceId>,
}

impl Listing {
    fn by_instance(&self) -> BTreeMap<&InstanceId, &InstanceEntry> {
        let records = self.records.iter();
        records.map(|record| (&record.instance, record)).collect()
    }
}

/// Whether only the Director can show if the broker ever accepted an instance of the source: a rejected order may look
/// like an instance at rest, for example when the platform failed to delete it.
pub(super) fn is_unsettled(record: &InstanceEntry, occupancies: &Here) -> bool {
    let may_be_unmade = match record.state {
        PlatformState::Settled | PlatformState::Updating | PlatformState::Listed => true,
        PlatformState::Creating | PlatformState::Unmade => false,
    };
    let occupancy = occupancies.get(&record.instance);
    may_be_unmade && occupancy.is_none_or(|occupancy| occupancy.kind == OccupancyKind::Absent)
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Reserved for requests without an answer yet.
    reserved: BTreeMap<InstanceId, PlanId>,
    /// The previous plans of instances that are being moved: the source's total may be older than its row of the
    /// instance.
    origins: BTreeMap<InstanceId, PlanId>,
    /// Ordered, and nothing decided yet.
    pending: BTreeSet<InstanceId>,
    learned: Option<Learned>,
}

#[derive(Debug)]
struct Learned {
    /// Totals requested before this time are too old for it.
    at: Instant,
    /// Reservations of instances of earlier processes that no total includes.
    hidden: BTreeMap<InstanceId, BTreeSet<PlanId>>,
    /// Instances that were being created when this process began; it is unknown whether they were admitted.
    inherited: BTreeSet<InstanceId>,
    shown: HashMap<InstanceId, Instant>,
}

impl Ledger {
    /// Makes a reservation. `origin` is the plan from which the instance moves, if known.
    pub(super) fn reserve(
        &mut self,
        instance: &InstanceId,
        plan: &PlanId,
        origin: Option<&PlanId>,
        here: &Here,
    ) {
        // Where totals suffice there is no listing that would forget them.
        let reserved = &self.reserved;
        self.origins.retain(|moved, _| {
            let occupancy = here.get(moved);
            reserved.contains_key(moved)
                || occupancy.is_some_and(|occupancy| may_be_at_its_origin(occupancy.kind))
        });
        self.reserved.insert(instance.clone(), plan.clone());
        if let Some(origin) = origin {
            self.origins.insert(instance.clone(), origin.clone());
        }
    }

    pub(super) fn release(&mut self, instance: &InstanceId) {
        self.reserved.remove(instance);
    }

    pub(super) fn begin_pending(&mut self, instance: &InstanceId) {
        self.pending.insert(instance.clone());
    }

    pub(super) fn end_pending(&mut self, instance: &InstanceId) {
        self.pending.remove(instance);
    }

    /// An upper bound of the slots that instances other than `ordered` occupy, as far as the totals reach. `None` if
    /// the totals are insufficient: before the first listing of this process, which alone shows what an earlier one has
    /// left in progress, and when they are older than the latest.
    pub(super) fn at_most(
        &self,
        totals: &Totals,
        here: &Here,
        ordered: &InstanceId,
    ) -> Option<Usage> {
        let learned = self
            .learned
            .as_ref()
            .filter(|learned| learned.at < totals.began)?;
        let totals = &totals.counts;
        let mut usage = Usage::default();
        let mut of_plans = 0_u64;
        for (total, count) in totals {
            if let Total::OfPlan(plan) = total {
                usage.add([plan.clone()].into(), *count);
                of_plans = of_plans.saturating_add(*count);
            }
        }
        if let Some(all) = totals.get(&Total::OfAll) {
            usage.add(BTreeSet::new(), all.saturating_sub(of_plans));
        }
        let mut locations: BTreeMap<&InstanceId, BTreeSet<PlanId>> = BTreeMap::new();
        for (instance, occupancy) in here {
            let is_shown = occupancy.since.is_some()
                && learned.shown.get(instance) == occupancy.since.as_ref();
            if occupancy.kind != OccupancyKind::Absent && !is_shown {
                let plans = occupancy.plan.iter().chain(self.origin(instance, here));
                locations.insert(instance, plans.cloned().collect());
            }
        }
        for (instance, plans) in &learned.hidden {
            if !here.contains_key(instance) {
                locations.insert(instance, plans.clone());
            }
        }
        for (instance, plan) in &self.reserved {
            locations.entry(instance).or_default().insert(plan.clone());
        }
        locations.remove(ordered);
        for plans in locations.into_values() {
            usage.add(plans, 1);
        }
        Some(usage)
    }

    /// The usage of all instances except `ordered`. `recently` is how long ago a change may have happened that the
    /// source does not show yet.
    pub(super) fn exactly(
        &mut self,
        listing: &Listing,
        here: &Here,
        ordered: &InstanceId,
        now: Instant,
        recently: Duration,
    ) -> Usage {
        self.learn(listing, here, now);
        let records = listing.by_instance();
        let known: BTreeSet<&InstanceId> = records
            .keys()
            .copied()
            .chain(here.keys())
            .chain(listing.occupancies.keys())
            .chain(self.reserved.keys())
            .filter(|instance| *instance != ordered)
            .collect();
        let mut usage = Usage::default();
        for instance in known {
            let occupancy = here.get(instance);
            let mut plans = match (records.get(instance), occupancy) {
                (Some(record), _) => {
                    let occupancy = occupancy.or_else(|| listing.occupancies.get(instance));
                    self.listed_location(record, occupancy, listing)
                }
                (None, Some(occupancy)) => unlisted_location(occupancy, now, recently),
                (None, None) => listing
                    .occupancies
                    .get(instance)
                    .map(|occupancy| unlisted_location(occupancy, now, recently))
                    .unwrap_or_default(),
            };
            plans.extend(self.reserved.get(instance).cloned());
            if !plans.is_empty() {
                plans.extend(self.origin(instance, here).cloned());
                usage.add(plans, 1);
            }
        }
        usage
    }

    fn origin(&self, instance: &InstanceId, here: &Here) -> Option<&PlanId> {
        let may_be_there = here
            .get(instance)
            .is_some_and(|occupancy| may_be_at_its_origin(occupancy.kind));
        let origin = self.origins.get(instance);
        origin.filter(|_| may_be_there || self.reserved.contains_key(instance))
    }

    fn listed_location(
        &self,
        record: &InstanceEntry,
        occupancy: Option<&Occupancy>,
        listing: &Listing,
    ) -> BTreeSet<PlanId> {
        let kind = occupancy.map(|occupancy| occupancy.kind);
        let was_let_in = kind.is_some_and(|kind| kind != OccupancyKind::Absent);
        let is_unknown = kind.is_none();
        let is_deployed = listing.deployed.contains(&record.instance);
        let takes_a_slot = match record.state {
            PlatformState::Settled | PlatformState::Updating => was_let_in || is_deployed,
            PlatformState::Unmade => was_let_in,
            PlatformState::Creating => {
                was_let_in || (is_unknown && self.has_inherited(&record.instance))
            }
            PlatformState::Listed => {
                let is_asked_for = self.pending.contains(&record.instance);
                was_let_in || (is_unknown && is_deployed && !is_asked_for)
            }
        };
        if !takes_a_slot {
            return BTreeSet::new();
        }
        let own = || BTreeSet::from([record.plan.clone()]);
        let Some(Occupancy {
            plan: Some(plan),
            kind,
            since,
        }) = occupancy
        else {
            return own();
        };
        let is_news = since.is_some_and(|since| since > listing.began);
        match kind {
            OccupancyKind::Changing => [record.plan.clone(), plan.clone()].into(),
            // The record is from before the operation and may have another plan.
            OccupancyKind::Unchanged | OccupancyKind::Deleting if is_news => {
                [record.plan.clone(), plan.clone()].into()
            }
            // The result of an earlier process counts only while the platform shows that operation: the Go broker may
            // have changed the instance since, without an operation record.
            OccupancyKind::Settled
                if since.is_some() || record.state == PlatformState::Updating =>
            {
                [plan.clone()].into()
            }
            OccupancyKind::Settled
            | OccupancyKind::Unchanged
            | OccupancyKind::Deleting
            | OccupancyKind::Absent => own(),
        }
    }

    fn has_inherited(&self, instance: &InstanceId) -> bool {
        self.learned
            .as_ref()
            .is_some_and(|learned| learned.inherited.contains(instance))
    }

    fn forget_origins(&mut self, listing: &Listing, here: &Here) {
        let records = listing.by_instance();
        let reserved = &self.reserved;
        self.origins.retain(|instance, origin| {
            let Some(occupancy) = here.get(instance) else {
                return reserved.contains_key(instance);
            };
            // During a move the platform shows no other plan, so this is a later operation.
            let has_moved = occupancy.since.is_some_and(|since| since <= listing.began)
                && (records.get(instance)).is_some_and(|record| record.plan != *origin);
            reserved.contains_key(instance) || (may_be_at_its_origin(occupancy.kind) && !has_moved)
        });
    }

    /// Records what a listing shows and totals do not.
    pub(super) fn learn(&mut self, listing: &Listing, here: &Here, now: Instant) {
        self.forget_origins(listing, here);
        let creating = listing
            .records
            .iter()
            .filter(|record| record.state == PlatformState::Creating)
            .map(|record| record.instance.clone());
        let inherited = match self.learned.take() {
            Some(previous) => creating
                .filter(|instance| previous.inherited.contains(instance))
                .collect(),
            None => creating
                .filter(|instance| !self.pending.contains(instance))
                .collect(),
        };
        let records = listing.by_instance();
        let hidden = listing
            .occupancies
            .iter()
            .filter_map(|(instance, occupancy)| {
                if here.contains_key(instance) {
                    return None;
                }
                let record = records.get(instance);
                let is_hidden = match occupancy.kind {
                    OccupancyKind::Changing => true,
                    OccupancyKind::Deleting => record.is_none(),
                    OccupancyKind::Settled => {
                        record.is_some_and(|record| record.state == PlatformState::Updating)
                    }
                    OccupancyKind::Unchanged | OccupancyKind::Absent => false,
                };
                let plan = occupancy.plan.clone()?;
                is_hidden.then(|| (instance.clone(), [plan].into()))
            });
        let shown = here.iter().filter_map(|(instance, occupancy)| {
            let record = records.get(instance)?;
            let since = occupancy.since.filter(|since| *since <= listing.began)?;
            let is_shown = match occupancy.kind {
                OccupancyKind::Changing | OccupancyKind::Settled => {
                    occupancy.plan.as_ref() == Some(&record.plan)
                }
                OccupancyKind::Unchanged | OccupancyKind::Deleting => true,
                OccupancyKind::Absent => false,
            };
            is_shown.then(|| (instance.clone(), since))
        });
        self.learned = Some(Learned {
            at: now,
            hidden: hidden.collect(),
            inherited,
            shown: shown.collect(),
        });
    }
}

fn may_be_at_its_origin(kind: OccupancyKind) -> bool {
    matches!(kind, OccupancyKind::Changing | OccupancyKind::Unchanged)
}

/// The plans that an instance counts on that the source does not list: not yet, or no longer.
fn unlisted_location(occupancy: &Occupancy, now: Instant, recently: Duration) -> BTreeSet<PlanId> {
    let takes_a_slot = match occupancy.kind {
        OccupancyKind::Changing | OccupancyKind::Deleting => true,
        OccupancyKind::Settled | OccupancyKind::Unchanged => occupancy
            .since
            .is_some_and(|since| now.saturating_duration_since(since) < recently),
        OccupancyKind::Absent => false,
    };
    let plan = occupancy.plan.clone();
    plan.filter(|_| takes_a_slot).into_iter().collect()
}

#[cfg(test)]
mod tests;
