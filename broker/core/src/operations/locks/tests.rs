use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use proptest::prelude::*;
use tokio::runtime;

use super::*;

const BINDINGS: u8 = 4;
const INSTANCES: u8 = 2;

fn locks(concurrent_bindings: u32) -> Locks {
    Locks::new(NonZeroU32::new(concurrent_bindings).unwrap())
}

fn instance(number: u8) -> InstanceId {
    InstanceId::try_from(format!("instance-{number}")).unwrap()
}

fn binding(number: u8) -> BindingId {
    BindingId::try_from(format!("binding-{number}")).unwrap()
}

fn later() -> Deadline {
    Deadline::after(Duration::from_hours(1))
}

fn now() -> Deadline {
    Deadline::after(Duration::ZERO)
}

/// The locks that a request takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LockMode {
    Instance(u8),
    Binding(u8, u8),
    Record(u8, u8),
}

impl LockMode {
    fn binding(self) -> Option<(u8, u8)> {
        match self {
            Self::Instance(_) => None,
            Self::Binding(instance, binding) | Self::Record(instance, binding) => {
                Some((instance, binding))
            }
        }
    }

    /// The instance, and how many of its permits.
    fn share(self, all: u32) -> Option<(u8, u32)> {
        match self {
            Self::Instance(instance) => Some((instance, all)),
            Self::Binding(instance, _) => Some((instance, 1)),
            Self::Record(..) => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Ask(LockMode),
    /// A request ends, or stops waiting: the oldest ones have the lowest numbers.
    Leave(prop::sample::Index),
}

fn events() -> impl Strategy<Value = Event> {
    let of_binding = (0..INSTANCES, 0..BINDINGS);
    prop_oneof![
        1 => (0..INSTANCES).prop_map(|instance| Event::Ask(LockMode::Instance(instance))),
        4 => of_binding.clone().prop_map(|(of, binding)| Event::Ask(LockMode::Binding(of, binding))),
        1 => of_binding.prop_map(|(of, binding)| Event::Ask(LockMode::Record(of, binding))),
        5 => any::<prop::sample::Index>().prop_map(Event::Leave),
    ]
}

/// The expected behaviour: queues, first come, first served.
#[derive(Default)]
struct Model {
    all: u32,
    wanted: BTreeMap<usize, LockMode>,
    /// The holder of each binding's lock, followed by the waiting requests.
    bindings: BTreeMap<(u8, u8), VecDeque<usize>>,
    /// The holders of an instance's permits, and the waiting requests.
    shares: BTreeMap<u8, VecDeque<usize>>,
    /// Requests that hold all of their locks.
    holders: BTreeSet<usize>,
}

impl Model {
    fn ask(&mut self, request: usize, wanted: LockMode) {
        self.wanted.insert(request, wanted);
        match wanted.binding() {
            Some(key) => {
                let queue = self.bindings.entry(key).or_default();
                queue.push_back(request);
                if queue.len() == 1 {
                    self.queue_at_instance(request);
                }
            }
            None => self.queue_at_instance(request),
        }
        self.grant();
    }

    fn leave(&mut self, request: usize) {
        let wanted = self.wanted.remove(&request).unwrap();
        self.holders.remove(&request);
        for queue in self.shares.values_mut() {
            queue.retain(|queued| *queued != request);
        }
        if let Some(key) = wanted.binding() {
            let queue = self.bindings.get_mut(&key).unwrap();
            let was_first = queue.front() == Some(&request);
            queue.retain(|queued| *queued != request);
            let next = queue.front().copied().filter(|_| was_first);
            if let Some(next) = next {
                self.queue_at_instance(next);
            }
        }
        self.grant();
    }

    fn queue_at_instance(&mut self, request: usize) {
        match self.wanted[&request].share(self.all) {
            Some((instance, _)) => self.shares.entry(instance).or_default().push_back(request),
            None => {
                self.holders.insert(request);
            }
        }
    }

    fn grant(&mut self) {
        for queue in self.shares.values() {
            let mut left = self.all;
            for request in queue {
                let (_, wanted) = self.wanted[request].share(self.all).unwrap();
                if wanted > left {
                    break;
                }
                left -= wanted;
                self.holders.insert(*request);
            }
        }
    }
}

type Guard = Box<dyn std::any::Any>;

/// A request: waiting, or with its lock.
enum Request {
    Waits(Pin<Box<dyn Future<Output = Guard>>>),
    Holds { _guard: Guard },
}

fn ask(locks: &Locks, wanted: LockMode) -> Request {
    let locks = locks.clone();
    Request::Waits(Box::pin(async move {
        match wanted {
            LockMode::Instance(of) => {
                let held = locks.instance(&instance(of), later()).await;
                Box::new(held.unwrap()) as Guard
            }
            LockMode::Binding(of, number) => {
                let (instance, binding) = (instance(of), binding(number));
                let held = locks.binding(&instance, &binding, later()).await;
                Box::new(held.unwrap())
            }
            LockMode::Record(of, number) => {
                let (instance, binding) = (instance(of), binding(number));
                let held = locks.binding_record(&instance, &binding, later()).await;
                Box::new(held.unwrap())
            }
        }
    }))
}

/// Polls every waiting request. Returns those that have their lock.
fn settle(requests: &mut BTreeMap<usize, Request>) -> BTreeSet<usize> {
    let mut context = Context::from_waker(Waker::noop());
    // Each request that proceeds may let another one proceed.
    for _ in 0..=requests.len() {
        for request in requests.values_mut() {
            if let Request::Waits(waiting) = request
                && let Poll::Ready(guard) = waiting.as_mut().poll(&mut context)
            {
                *request = Request::Holds { _guard: guard };
            }
        }
    }
    let holders = requests
        .iter()
        .filter(|(_, request)| matches!(request, Request::Holds { .. }));
    holders.map(|(number, _)| *number).collect()
}

fn assert_compatible(holders: &BTreeSet<usize>, wanted: &BTreeMap<usize, LockMode>, all: u32) {
    let mut bindings = BTreeSet::new();
    let mut shares: BTreeMap<u8, u32> = BTreeMap::new();
    for wanted in holders.iter().map(|holder| wanted[holder]) {
        if let Some(key) = wanted.binding() {
            assert!(bindings.insert(key), "two requests hold binding {key:?}");
        }
        if let Some((instance, share)) = wanted.share(all) {
            *shares.entry(instance).or_default() += share;
        }
    }
    for (instance, share) in shares {
        assert!(share <= all, "instance {instance}: {share} of {all}");
    }
}

proptest! {
    #[test]
    fn requests_hold_what_their_turn_allows_and_nothing_else(
        all in 1_u32..5,
        events in prop::collection::vec(events(), 1..80),
    ) {
        let runtime = runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _entered = runtime.enter();
        let locks = locks(all);
        let mut model = Model { all, ..Model::default() };
        let mut requests = BTreeMap::new();
        for (number, event) in events.into_iter().enumerate() {
            match event {
                Event::Ask(wanted) => {
                    requests.insert(number, ask(&locks, wanted));
                    model.ask(number, wanted);
                }
                Event::Leave(_) if requests.is_empty() => {}
                Event::Leave(index) => {
                    let numbers: Vec<usize> = requests.keys().copied().collect();
                    let number = *index.get(&numbers);
                    drop(requests.remove(&number));
                    model.leave(number);
                }
            }
            let holders = settle(&mut requests);
            assert_compatible(&holders, &model.wanted, all);
            prop_assert_eq!(&holders, &model.holders);
        }
    }
}

#[tokio::test]
async fn an_operation_holds_its_instance_alone() {
    let locks = locks(8);
    let held = locks.instance(&instance(1), later()).await.unwrap();
    let second = locks.instance(&instance(1), now()).await;
    assert_eq!(second.unwrap_err().instance, instance(1));
    let bound = locks.binding(&instance(1), &binding(1), now()).await;
    assert_eq!(bound.unwrap_err().instance, instance(1));
    assert!(locks.instance(&instance(2), now()).await.is_ok());
    drop(held);
    assert!(locks.instance(&instance(1), now()).await.is_ok());
}

#[tokio::test]
async fn bindings_of_an_instance_are_made_side_by_side_up_to_the_limit() {
    let locks = locks(2);
    let first = locks.binding(&instance(1), &binding(1), later()).await;
    let second = locks.binding(&instance(1), &binding(2), now()).await;
    assert!(second.is_ok());
    let third = locks.binding(&instance(1), &binding(3), now()).await;
    assert!(third.is_err());
    assert!(locks.instance(&instance(1), now()).await.is_err());
    drop(first);
    assert!(
        locks
            .binding(&instance(1), &binding(3), now())
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_request_that_gives_up_waiting_is_in_the_way_of_no_other() {
    let locks = locks(2);
    let _held = locks.binding(&instance(1), &binding(1), later()).await;
    // It waits for both permits, and has got one of them.
    assert!(locks.instance(&instance(1), now()).await.is_err());
    // It waits for the binding, and holds no permit of the instance.
    let repeat = locks.binding(&instance(1), &binding(1), now()).await;
    assert!(repeat.is_err());
    assert!(
        locks
            .binding(&instance(1), &binding(2), now())
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn unused_locks_are_dropped() {
    let locks = locks(1);
    let held = locks.instance(&instance(0), later()).await;
    for number in 0..=PRUNE_ABOVE {
        let id = InstanceId::try_from(format!("other-{number}")).unwrap();
        drop(locks.instance(&id, later()).await);
    }
    assert!(locks.used.lock().unwrap().len() <= PRUNE_ABOVE);
    assert!(locks.instance(&instance(0), now()).await.is_err());
    drop(held);
}
