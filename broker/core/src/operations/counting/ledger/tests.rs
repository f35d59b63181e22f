use proptest::prelude::*;

use super::*;

const RECENTLY: Duration = Duration::from_hours(1);
const INSTANCES: u8 = 6;

fn instance(number: u8) -> InstanceId {
    InstanceId::try_from(format!("instance-{number}")).unwrap()
}

fn plan(is_large: bool) -> PlanId {
    PlanId::from(if is_large { "large" } else { "small" }.to_owned())
}

fn both() -> [PlanId; 2] {
    [plan(false), plan(true)]
}

/// The true state of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Truth {
    Creating(PlanId),
    On(PlanId),
    Moving(PlanId, PlanId),
    Deleting(PlanId),
}

impl Truth {
    fn locations(&self) -> BTreeSet<PlanId> {
        match self {
            Self::Creating(plan) | Self::On(plan) | Self::Deleting(plan) => [plan.clone()].into(),
            Self::Moving(from, to) => [from.clone(), to.clone()].into(),
        }
    }

    fn is_at_rest(&self) -> bool {
        matches!(self, Self::On(_))
    }

    fn is_deployed(&self) -> bool {
        !matches!(self, Self::Creating(_))
    }
}

/// When a platform records an instance, and how it shows one that the broker has not accepted yet.
#[derive(Clone, Copy, Debug)]
enum Writes {
    Early,
    /// Like a Cloud Controller that does not distinguish requested from granted plans.
    EarlyAndRash,
    Late,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Order {
        number: u8,
        is_large: bool,
        writes: Writes,
        stale: bool,
    },
    Move {
        number: u8,
        stale: bool,
    },
    Delete {
        number: u8,
    },
    Finish {
        number: u8,
        well: bool,
    },
    /// The platform learns how an instance is.
    Handle {
        number: u8,
    },
    /// The platform fails to delete what was never created, and lists it like an instance at rest.
    FailToDelete {
        number: u8,
    },
    /// A broker that leaves no operation records has made an instance.
    Inherit {
        number: u8,
        is_large: bool,
    },
    /// A request reads the counts now, and decides later.
    Look,
    Restart,
}

fn events() -> impl Strategy<Value = Event> {
    let number = 0..INSTANCES;
    let writes = prop::sample::select(vec![Writes::Early, Writes::EarlyAndRash, Writes::Late]);
    prop_oneof![
        4 => (number.clone(), any::<bool>(), writes, any::<bool>())
            .prop_map(|(number, is_large, writes, stale)| Event::Order { number, is_large, writes, stale }),
        2 => (number.clone(), any::<bool>()).prop_map(|(number, stale)| Event::Move { number, stale }),
        1 => number.clone().prop_map(|number| Event::Delete { number }),
        4 => (number.clone(), any::<bool>()).prop_map(|(number, well)| Event::Finish { number, well }),
        3 => number.clone().prop_map(|number| Event::Handle { number }),
        2 => number.clone().prop_map(|number| Event::FailToDelete { number }),
        1 => (number, any::<bool>()).prop_map(|(number, is_large)| Event::Inherit { number, is_large }),
        1 => Just(Event::Look),
        1 => Just(Event::Restart),
    ]
}

type Looked = (Totals, Listing);

/// A platform, a Director and a broker.
struct World {
    now: Instant,
    limit: u64,
    truth: BTreeMap<InstanceId, Truth>,
    records: BTreeMap<InstanceId, InstanceEntry>,
    occupancies: Here,
    here: Here,
    ledger: Ledger,
    looked: Option<Looked>,
}

impl World {
    fn new(limit: u64) -> Self {
        let mut world = Self {
            now: Instant::now(),
            limit,
            truth: BTreeMap::new(),
            records: BTreeMap::new(),
            occupancies: Here::new(),
            here: Here::new(),
            ledger: Ledger::default(),
            looked: None,
        };
        world.restart();
        world
    }

    fn look(&self) -> Looked {
        let mut counts: BTreeMap<Total, u64> = both()
            .into_iter()
            .map(|plan| (Total::OfPlan(plan), 0))
            .collect();
        for record in self.records.values() {
            *counts
                .entry(Total::OfPlan(record.plan.clone()))
                .or_insert(0) += 1;
        }
        counts.insert(Total::OfAll, self.records.len() as u64);
        let totals = Totals {
            began: self.now,
            counts,
        };
        let listing = Listing {
            began: self.now,
            records: self.records.values().cloned().collect(),
            occupancies: self.occupancies.clone(),
            deployed: self.deployed(),
        };
        (totals, listing)
    }

    fn deployed(&self) -> BTreeSet<InstanceId> {
        let deployed = self.truth.iter().filter(|(_, truth)| truth.is_deployed());
        deployed.map(|(instance, _)| instance.clone()).collect()
    }

    /// The slots of all instances but one.
    fn taken(&self, but: &InstanceId) -> Usage {
        let mut usage = Usage::default();
        for (instance, truth) in &self.truth {
            if instance != but {
                usage.add(truth.locations(), 1);
            }
        }
        usage
    }

    /// Reservations of instances that were never created and that the platform lists as being created.
    fn lingering(&self, but: &InstanceId) -> u64 {
        let lingers = |record: &&InstanceEntry| {
            record.instance != *but
                && !self.truth.contains_key(&record.instance)
                && record.state == PlatformState::Creating
        };
        self.records.values().filter(lingers).count() as u64
    }

    /// Decides as the broker does, and holds both numbers against the truth.
    fn decide(&mut self, ordered: &InstanceId, wanted: &PlanId, stale: bool) -> bool {
        let looked = if stale { self.looked.clone() } else { None };
        let is_fresh = looked.is_none();
        let (totals, listing) = looked.unwrap_or_else(|| self.look());
        let taken = self.taken(ordered);
        if let Some(at_most) = self.ledger.at_most(&totals, &self.here, ordered) {
            for plan in both() {
                assert!(
                    at_most.of(&plan) >= taken.of(&plan),
                    "{at_most:?} hides some of {taken:?}"
                );
            }
            assert!(
                at_most.total() >= taken.total(),
                "{at_most:?} hides some of {taken:?}"
            );
            if at_most.of(wanted) < self.limit {
                return true;
            }
        }
        let exactly = self
            .ledger
            .exactly(&listing, &self.here, ordered, self.now, RECENTLY);
        for plan in both() {
            assert!(
                exactly.of(&plan) >= taken.of(&plan),
                "{exactly:?} hides some of {taken:?}"
            );
        }
        if is_fresh {
            let most = taken.of(wanted) + self.lingering(ordered);
            assert!(
                exactly.of(wanted) <= most,
                "{exactly:?} has more than {taken:?}"
            );
        }
        exactly.of(wanted) < self.limit
    }

    fn remember(&mut self, instance: &InstanceId, plan: &PlanId, kind: OccupancyKind) {
        let occupancy = |since| Occupancy {
            plan: Some(plan.clone()),
            kind,
            since,
        };
        self.here
            .insert(instance.clone(), occupancy(Some(self.now)));
        self.occupancies.insert(instance.clone(), occupancy(None));
    }

    fn ended(&mut self, instance: &InstanceId, kind: OccupancyKind) {
        for memory in [&mut self.here, &mut self.occupancies] {
            if let Some(occupancy) = memory.get_mut(instance) {
                occupancy.kind = kind;
            }
        }
    }

    fn write(&mut self, instance: &InstanceId, plan: &PlanId, state: PlatformState) {
        let record = InstanceEntry::new(instance.clone(), plan.clone(), state);
        self.records.insert(instance.clone(), record);
    }

    fn order(&mut self, number: u8, is_large: bool, writes: Writes, stale: bool) {
        let (instance, plan) = (instance(number), plan(is_large));
        if self.truth.contains_key(&instance) || self.records.contains_key(&instance) {
            return;
        }
        self.occupancies.remove(&instance);
        match writes {
            Writes::Early => self.write(&instance, &plan, PlatformState::Unmade),
            Writes::EarlyAndRash => self.write(&instance, &plan, PlatformState::Creating),
            Writes::Late => {}
        }
        self.ledger.begin_pending(&instance);
        let is_let_in = self.decide(&instance, &plan, stale);
        self.ledger.end_pending(&instance);
        if is_let_in {
            self.remember(&instance, &plan, OccupancyKind::Changing);
            self.truth.insert(instance, Truth::Creating(plan));
        }
    }

    fn change_plan(&mut self, number: u8, stale: bool) {
        let instance = instance(number);
        let Some(Truth::On(from)) = self.truth.get(&instance).cloned() else {
            return;
        };
        // A platform asks for it when it knows how the operation before has ended.
        if !self
            .records
            .get(&instance)
            .is_some_and(|record| record.plan == from && record.state == PlatformState::Settled)
        {
            return;
        }
        let to = plan(from == plan(false));
        if self.decide(&instance, &to, stale) {
            self.ledger.reserve(&instance, &to, Some(&from), &self.here);
            self.write(&instance, &from, PlatformState::Updating);
            self.remember(&instance, &to, OccupancyKind::Changing);
            self.ledger.release(&instance);
            self.truth.insert(instance, Truth::Moving(from, to));
        }
    }

    /// Also during a creation: the order's answer may have been lost. A platform that does not know the outcome of a
    /// change waits for it.
    fn delete(&mut self, number: u8) {
        let instance = instance(number);
        let record = self.records.get(&instance);
        if record.is_some_and(|record| record.state == PlatformState::Updating) {
            return;
        }
        if let Some(Truth::On(plan) | Truth::Creating(plan)) = self.truth.get(&instance).cloned() {
            self.remember(&instance, &plan, OccupancyKind::Deleting);
            self.truth.insert(instance, Truth::Deleting(plan));
        }
    }

    fn finish(&mut self, number: u8, well: bool) {
        let instance = instance(number);
        let Some(truth) = self.truth.get(&instance).cloned() else {
            return;
        };
        let (kind, after) = match (truth, well) {
            (Truth::On(_), _) => return,
            (Truth::Creating(plan) | Truth::Moving(_, plan), true) => {
                (OccupancyKind::Settled, Some(Truth::On(plan)))
            }
            (Truth::Creating(_), false) | (Truth::Deleting(_), true) => {
                (OccupancyKind::Absent, None)
            }
            (Truth::Moving(plan, _) | Truth::Deleting(plan), false) => {
                (OccupancyKind::Unchanged, Some(Truth::On(plan)))
            }
        };
        self.ended(&instance, kind);
        match after {
            Some(truth) => {
                self.truth.insert(instance, truth);
            }
            None => {
                self.truth.remove(&instance);
            }
        }
    }

    fn handle(&mut self, number: u8) {
        let instance = instance(number);
        match self.truth.get(&instance).cloned() {
            None => {
                self.records.remove(&instance);
            }
            Some(Truth::Creating(plan)) => self.write(&instance, &plan, PlatformState::Creating),
            Some(Truth::On(plan) | Truth::Deleting(plan)) => {
                self.write(&instance, &plan, PlatformState::Settled);
            }
            Some(Truth::Moving(from, _)) => self.write(&instance, &from, PlatformState::Updating),
        }
    }

    fn fail_to_delete(&mut self, number: u8) {
        let instance = instance(number);
        if !self.truth.contains_key(&instance)
            && let Some(record) = self.records.get_mut(&instance)
        {
            record.state = PlatformState::Settled;
        }
    }

    fn inherit(&mut self, number: u8, is_large: bool) {
        let (instance, plan) = (instance(number), plan(is_large));
        let is_taken = self.truth.contains_key(&instance)
            || self.records.contains_key(&instance)
            || self.here.contains_key(&instance);
        if !is_taken && self.taken(&instance).of(&plan) < self.limit {
            self.occupancies.remove(&instance);
            self.write(&instance, &plan, PlatformState::Settled);
            self.truth.insert(instance, Truth::On(plan));
            // It was there before this process was.
            self.restart();
        }
    }

    /// Reconcilers resume operations in progress; all other knowledge is lost.
    fn restart(&mut self) {
        // A platform takes less time to record an answer than lies between the answer and the end of an operation.
        for number in 0..INSTANCES {
            let instance = instance(number);
            let is_ended = self.truth.get(&instance).is_some_and(Truth::is_at_rest);
            if is_ended && !self.records.contains_key(&instance) {
                self.handle(number);
            }
        }
        let is_open = |occupancy: &Occupancy| {
            matches!(
                occupancy.kind,
                OccupancyKind::Changing | OccupancyKind::Deleting
            )
        };
        self.here = self
            .occupancies
            .iter()
            .filter(|(_, occupancy)| is_open(occupancy))
            .map(|(instance, occupancy)| {
                let occupancy = Occupancy {
                    since: Some(self.now),
                    ..occupancy.clone()
                };
                (instance.clone(), occupancy)
            })
            .collect();
        self.ledger = Ledger::default();
        self.looked = None;
        let (_, listing) = self.look();
        self.ledger.learn(&listing, &Here::new(), self.now);
    }

    fn happen(&mut self, event: Event) {
        self.now += Duration::from_millis(1);
        match event {
            Event::Order {
                number,
                is_large,
                writes,
                stale,
            } => {
                self.order(number, is_large, writes, stale);
            }
            Event::Move { number, stale } => self.change_plan(number, stale),
            Event::Delete { number } => self.delete(number),
            Event::Finish { number, well } => self.finish(number, well),
            Event::Handle { number } => self.handle(number),
            Event::FailToDelete { number } => self.fail_to_delete(number),
            Event::Inherit { number, is_large } => self.inherit(number, is_large),
            Event::Look => self.looked = Some(self.look()),
            Event::Restart => self.restart(),
        }
        assert!(
            self.ledger.origins.len() <= self.here.len(),
            "origins of idle instances: {:?}",
            self.ledger.origins
        );
        let taken = self.taken(&instance(INSTANCES));
        for plan in both() {
            assert!(taken.of(&plan) <= self.limit, "one too many on {plan}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(2000)))]

    #[test]
    fn whatever_happens_no_order_is_admitted_without_a_slot(
        limit in 1_u64..4,
        events in prop::collection::vec(events(), 1..60),
    ) {
        let mut world = World::new(limit);
        for event in events {
            world.happen(event);
        }
    }
}

fn record(number: u8, state: PlatformState) -> InstanceEntry {
    InstanceEntry::new(instance(number), plan(false), state)
}

/// Of a Director that has deployments of all instances.
fn exactly(ledger: &mut Ledger, records: Vec<InstanceEntry>, here: &Here) -> Usage {
    exactly_with(
        ledger,
        records,
        here,
        (0..INSTANCES).map(instance).collect(),
    )
}

fn exactly_with(
    ledger: &mut Ledger,
    records: Vec<InstanceEntry>,
    here: &Here,
    deployed: BTreeSet<InstanceId>,
) -> Usage {
    let now = Instant::now();
    let listing = Listing {
        began: now,
        records,
        occupancies: Here::new(),
        deployed,
    };
    ledger.exactly(&listing, here, &instance(INSTANCES), now, RECENTLY)
}

fn totals(total: Total, count: u64) -> Totals {
    Totals {
        began: Instant::now(),
        counts: BTreeMap::from([(total, count)]),
    }
}

#[test]
fn before_the_first_listing_totals_report_nothing() {
    let mut ledger = Ledger::default();
    let totals = || totals(Total::OfAll, 0);
    assert_eq!(ledger.at_most(&totals(), &Here::new(), &instance(0)), None);
    exactly(&mut ledger, Vec::new(), &Here::new());
    assert!(
        ledger
            .at_most(&totals(), &Here::new(), &instance(0))
            .is_some()
    );
}

#[test]
fn totals_that_are_older_than_what_was_learned_report_nothing() {
    let mut ledger = Ledger::default();
    let old = totals(Total::OfAll, 0);
    exactly(&mut ledger, Vec::new(), &Here::new());
    assert_eq!(ledger.at_most(&old, &Here::new(), &instance(0)), None);
}

#[test]
fn an_order_that_was_not_admitted_takes_no_slot() {
    let mut ledger = Ledger::default();
    exactly(&mut ledger, Vec::new(), &Here::new());
    for state in [PlatformState::Unmade, PlatformState::Creating] {
        let usage = exactly(&mut ledger, vec![record(1, state)], &Here::new());
        assert_eq!(usage.total(), 0, "{state:?}");
        ledger.reserve(&instance(1), &plan(false), None, &Here::new());
        let usage = exactly(&mut ledger, vec![record(1, state)], &Here::new());
        assert_eq!(usage.of(&plan(false)), 1, "{state:?}");
        ledger.release(&instance(1));
    }
}

#[test]
fn what_the_director_never_had_takes_no_location_whatever_the_platform_says() {
    let mut ledger = Ledger::default();
    for state in [
        PlatformState::Settled,
        PlatformState::Updating,
        PlatformState::Listed,
    ] {
        let records = || vec![record(1, state)];
        assert!(is_unsettled(&record(1, state), &Here::new()));
        let nothing = exactly_with(&mut ledger, records(), &Here::new(), BTreeSet::new());
        assert_eq!(nothing.total(), 0, "{state:?}");
        let deployed = BTreeSet::from([instance(1)]);
        let one = exactly_with(&mut ledger, records(), &Here::new(), deployed);
        assert_eq!(one.total(), 1, "{state:?}");
    }
}

#[test]
fn an_instance_with_a_record_takes_its_location_without_a_look_at_the_director() {
    let mut ledger = Ledger::default();
    let now = Instant::now();
    let made = Occupancy {
        plan: Some(plan(false)),
        kind: OccupancyKind::Settled,
        since: None,
    };
    let settled = record(1, PlatformState::Settled);
    let occupancies = Here::from([(instance(1), made)]);
    assert!(!is_unsettled(&settled, &occupancies));
    let listing = Listing {
        began: now,
        records: vec![settled],
        occupancies,
        deployed: BTreeSet::new(),
    };
    let usage = ledger.exactly(&listing, &Here::new(), &instance(2), now, RECENTLY);
    assert_eq!(usage.total(), 1);
}

#[test]
fn origins_are_forgotten_with_their_moves_although_nothing_is_listed() {
    let mut ledger = Ledger::default();
    for number in 0..=100 {
        let moved = instance(number);
        ledger.reserve(&moved, &plan(true), Some(&plan(false)), &Here::new());
        assert_eq!(ledger.origins.get(&moved), Some(&plan(false)));
        // Another order while this one is being answered.
        ledger.reserve(&instance(101), &plan(true), None, &Here::new());
        assert_eq!(ledger.origins.get(&moved), Some(&plan(false)));
        ledger.release(&moved);
    }
    assert_eq!(ledger.origins.len(), 1, "{:?}", ledger.origins);
}

#[test]
fn a_list_without_states_counts_but_for_those_that_are_being_asked_for() {
    let mut ledger = Ledger::default();
    let listed = || {
        vec![
            record(1, PlatformState::Listed),
            record(2, PlatformState::Listed),
        ]
    };
    ledger.begin_pending(&instance(2));
    assert_eq!(exactly(&mut ledger, listed(), &Here::new()).total(), 1);
    ledger.end_pending(&instance(2));
    assert_eq!(exactly(&mut ledger, listed(), &Here::new()).total(), 2);
    let failed = Occupancy {
        plan: Some(plan(false)),
        kind: OccupancyKind::Absent,
        since: Some(Instant::now()),
    };
    assert_eq!(
        exactly(&mut ledger, listed(), &Here::from([(instance(1), failed)])).total(),
        1
    );
}

#[test]
fn what_the_platform_has_forgotten_takes_no_location_for_long() {
    let mut ledger = Ledger::default();
    let now = Instant::now();
    let listing = Listing {
        began: now,
        records: Vec::new(),
        occupancies: Here::new(),
        deployed: BTreeSet::new(),
    };
    let made = Occupancy {
        plan: Some(plan(false)),
        kind: OccupancyKind::Settled,
        since: Some(now),
    };
    let here = Here::from([(instance(1), made)]);
    for (later, taken) in [(Duration::from_mins(1), 1), (RECENTLY, 0)] {
        let usage = ledger.exactly(&listing, &here, &instance(2), now + later, RECENTLY);
        assert_eq!(usage.total(), taken);
    }
}

#[test]
fn what_a_listing_has_shown_is_not_counted_twice() {
    let mut ledger = Ledger::default();
    let began = Instant::now();
    let made = Occupancy {
        plan: Some(plan(false)),
        kind: OccupancyKind::Settled,
        since: Some(began),
    };
    let here = Here::from([(instance(1), made)]);
    let totals = || totals(Total::OfPlan(plan(false)), 1);
    exactly(&mut ledger, Vec::new(), &here);
    let unsure = ledger.at_most(&totals(), &here, &instance(2)).unwrap();
    assert_eq!(unsure.of(&plan(false)), 2);
    exactly(&mut ledger, vec![record(1, PlatformState::Settled)], &here);
    let sure = ledger.at_most(&totals(), &here, &instance(2)).unwrap();
    assert_eq!(sure.of(&plan(false)), 1);
}
