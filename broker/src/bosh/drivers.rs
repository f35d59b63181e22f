//! The operations in flight, one driver each, and what the latest ones came to.

mod revival;

use std::{
    collections::HashMap,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use odb_api_types::{code::Code, ids::InstanceId};
use tokio::{runtime::Handle, sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    Neighbours, Presence, PresenceKind, Started,
    driver::{Driver, first_snapshot},
    operation::{Begun, Operation, Snapshot, SnapshotState},
};
use crate::{config::Timings, instance_clients::InstanceClient, telemetry::redact};
use revival::begin_until_one_ends;

/// Ended operations are swept out when there are more than this.
const SWEEP_ABOVE: usize = 1024;

/// Starts drivers and reads their snapshots.
#[derive(Clone, Debug)]
pub(super) struct Drivers {
    entries: Arc<Mutex<Entries>>,
    runtime: Handle,
    stopping: CancellationToken,
}

type Entries = HashMap<InstanceId, Entry>;

#[derive(Debug)]
struct Entry {
    operation: Arc<Operation>,
    snapshot: watch::Receiver<Snapshot>,
    phase: Phase,
    /// The answer that the request got, for its identical repeat.
    started: Option<Started>,
    since: Instant,
    /// When it was first noticed that the operation has ended.
    ended: Option<Instant>,
    /// Stops the driver when a later operation takes its place.
    cancelled: CancellationToken,
    /// The operation before, which is the latest again if this one is not handed over after all.
    former: Option<Box<Self>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Its request is at it.
    HandingOver,
    /// Its driver is at it, or has ended.
    Driven,
}

impl Entry {
    fn known(&self) -> Option<Known> {
        let snapshot = self.snapshot.borrow().clone();
        // A driver that is gone without a word knows nothing any more.
        let is_mute = self.phase == Phase::Driven && self.snapshot.has_changed().is_err();
        if is_mute && snapshot.is_in_progress() {
            return None;
        }
        Some(Known {
            operation: self.operation.clone(),
            snapshot,
            started: self.started.clone(),
        })
    }

    /// Where the operation was begun, for a driver that takes the place of this one.
    fn redirected(&self) -> Begun {
        match (self.operation.begun, self.phase) {
            (Begun::Here, Phase::Driven) => Begun::Redirected(self.since),
            (Begun::Here, Phase::HandingOver) => Begun::Elsewhere,
            (begun @ (Begun::Redirected(_) | Begun::Elsewhere), _) => begun,
        }
    }

    /// The entry of an operation that has ended. One that has not is stopped.
    fn if_ended(mut self) -> Option<Self> {
        if is_in_progress(&self) {
            self.cancelled.cancel();
            return None;
        }
        self.former = None;
        Some(self)
    }
}

/// What is known here of an instance's latest operation.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) operation: Arc<Operation>,
    pub(super) snapshot: Snapshot,
    pub(super) started: Option<Started>,
}

impl Drivers {
    /// Drivers run on `runtime` until `stopping`; a restart picks them up.
    pub(super) fn new(runtime: Handle, stopping: CancellationToken) -> Self {
        Self {
            entries: Arc::default(),
            runtime,
            stopping,
        }
    }

    /// Says that an operation is being handed over: until its driver starts, a poll reads that it is in progress.
    pub(super) fn announce(&self, timings: &Timings, operation: Operation) {
        // Nobody writes it; it is read all the same.
        let (_, snapshot) = watch::channel(first_snapshot(&operation));
        let instance = operation.instance.clone();
        let announced = self.entry(Phase::HandingOver, operation, None, snapshot);
        let mut entries = self.lock();
        let former = entries.remove(&instance).and_then(Entry::if_ended);
        let announced = Entry {
            former: former.map(Box::new),
            ..announced
        };
        insert(&mut entries, instance, announced, timings);
    }

    /// Says that an operation that was announced is not handed over: the one before is the latest again.
    pub(super) fn withdraw(&self, instance: &InstanceId) {
        let mut entries = self.lock();
        if let Some(announced) = entries.remove(instance) {
            announced.cancelled.cancel();
            if let Some(former) = announced.former {
                entries.insert(instance.clone(), *former);
            }
        }
    }

    /// Starts driving, unless this very operation is being driven already.
    pub(super) fn start(
        &self,
        neighbours: &Arc<Neighbours>,
        mut operation: Operation,
        started: Option<Started>,
    ) -> Snapshot {
        // A driver lives long, and needs no secret to undo what was done.
        operation.client_in_hand = operation.client_in_hand.map(InstanceClient::without_secret);
        if let Some(driven) = self.driven(&operation) {
            return driven;
        }
        let first = first_snapshot(&operation);
        self.begin(neighbours, operation, started, first)
    }

    /// Drives the very operation that is being driven in another way: its driver ends before the new one begins, which gets
    /// what that one knew.
    pub(super) fn redirect(
        &self,
        neighbours: &Arc<Neighbours>,
        mut operation: Operation,
        started: Option<Started>,
    ) -> Snapshot {
        let mut first = first_snapshot(&operation);
        if let Some(entry) = self.lock().get(&operation.instance)
            && entry.operation.context == operation.context
        {
            operation.begun = entry.redirected();
            operation
                .client_in_hand
                .clone_from(&entry.operation.client_in_hand);
            let snapshot = entry.snapshot.borrow();
            first.first_task = first.first_task.or(snapshot.first_task);
            first.stages = snapshot.stages.clone();
        }
        self.begin(neighbours, operation, started, first)
    }

    fn begin(
        &self,
        neighbours: &Arc<Neighbours>,
        operation: Operation,
        started: Option<Started>,
        first: Snapshot,
    ) -> Snapshot {
        let (told, snapshot) = watch::channel(first.clone());
        let entry = self.entry(Phase::Driven, operation.clone(), started, snapshot);
        let cancelled = entry.cancelled.clone();
        let former = {
            let mut entries = self.lock();
            let instance = operation.instance.clone();
            let former = entries.get(&instance).map(|former| former.snapshot.clone());
            insert(&mut entries, instance, entry, &neighbours.timings);
            former
        };
        let driving = Box::pin(drive(neighbours.clone(), operation, told));
        self.runtime.spawn(async move {
            let driving = async {
                if let Some(former) = former {
                    ended(former).await;
                }
                driving.await;
            };
            cancelled.run_until_cancelled(driving).await;
        });
        first
    }

    /// Starts driving what nobody here is at. Who does not hold the instance's lock may be late with what was read: an
    /// operation that is being handed over, or driven, stays as it is.
    pub(super) fn take_over(&self, neighbours: &Arc<Neighbours>, operation: Operation) -> Snapshot {
        match self.at_work(&operation.instance, &neighbours.timings) {
            Some(at_work) => at_work,
            None => self.start(neighbours, operation, None),
        }
    }

    /// What is being done with an instance. A hand-over that takes longer than any request has was cut off.
    fn at_work(&self, instance: &InstanceId, timings: &Timings) -> Option<Snapshot> {
        let entries = self.lock();
        let entry = entries.get(instance)?;
        let is_alive = match entry.phase {
            Phase::HandingOver => entry.since.elapsed() < timings.request_budget * 2,
            Phase::Driven => entry.snapshot.has_changed().is_ok(),
        };
        let snapshot = entry.snapshot.borrow();
        (is_alive && snapshot.is_in_progress()).then(|| snapshot.clone())
    }

    /// What is known of the instance's latest operation without asking anybody.
    pub(super) fn known(&self, instance: &InstanceId) -> Option<Known> {
        self.lock().get(instance).and_then(Entry::known)
    }

    /// The same of all instances.
    pub(super) fn all_known(&self) -> HashMap<InstanceId, Known> {
        let entries = self.lock();
        let known = entries
            .iter()
            .filter_map(|(instance, entry)| Some((instance.clone(), entry.known()?)));
        known.collect()
    }

    /// Tells of every step of an instance's latest operation.
    pub(super) fn watch(&self, instance: &InstanceId) -> Option<watch::Receiver<Snapshot>> {
        let entries = self.lock();
        Some(entries.get(instance)?.snapshot.clone())
    }

    /// Runs something beside the drivers, as long as they run.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stopping = self.stopping.clone();
        self.runtime.spawn(async move {
            stopping.run_until_cancelled(work).await;
        });
    }

    /// What the latest operations mean for the places of their instances.
    pub(super) fn presences(&self) -> Vec<(InstanceId, Presence)> {
        let entries = self.lock();
        let told = entries.iter().map(|(instance, entry)| {
            let snapshot = entry.snapshot.borrow();
            let presence = Presence {
                plan: entry.operation.plan.clone(),
                kind: PresenceKind::of(snapshot.kind, &snapshot.state),
                since: Some(entry.since),
            };
            (instance.clone(), presence)
        });
        told.collect()
    }

    /// Forgets an instance that is gone.
    pub(super) fn forget(&self, instance: &InstanceId) {
        let mut entries = self.lock();
        if let Some(entry) = entries.remove(instance) {
            entry.cancelled.cancel();
        }
    }

    fn driven(&self, operation: &Operation) -> Option<Snapshot> {
        let entries = self.lock();
        let entry = entries.get(&operation.instance)?;
        // A driver that is gone without a word, or that never ran, drives nothing.
        let is_alive = entry.snapshot.has_changed().is_ok();
        let snapshot = entry.snapshot.borrow();
        let is_same = snapshot.context == operation.context;
        (is_alive && is_same && snapshot.is_in_progress()).then(|| snapshot.clone())
    }

    fn entry(
        &self,
        phase: Phase,
        operation: Operation,
        started: Option<Started>,
        snapshot: watch::Receiver<Snapshot>,
    ) -> Entry {
        let client_in_hand = operation.client_in_hand.map(InstanceClient::without_secret);
        Entry {
            operation: Arc::new(Operation {
                client_in_hand,
                ..operation
            }),
            snapshot,
            phase,
            started,
            since: Instant::now(),
            ended: None,
            cancelled: self.stopping.child_token(),
            former: None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until a driver is gone that has been stopped: what it was about to send has been sent then, or never is.
async fn ended(mut driver: watch::Receiver<Snapshot>) {
    while driver.changed().await.is_ok() {}
}

/// The latest operation on an instance is another one now.
fn insert(entries: &mut Entries, instance: InstanceId, entry: Entry, timings: &Timings) {
    if entries.len() > SWEEP_ABOVE {
        entries.retain(|_, entry| {
            is_in_progress(entry)
                || entry.ended.get_or_insert_with(Instant::now).elapsed() < timings.remembered
        });
    }
    if let Some(replaced) = entries.insert(instance, entry) {
        replaced.cancelled.cancel();
        if let Some(former) = replaced.former {
            former.cancelled.cancel();
        }
    }
}

/// Drives an operation to its end. A driver that panics is followed by another: the operation goes on at the Director, and
/// nobody else would look after it.
async fn drive(
    neighbours: Arc<Neighbours>,
    mut operation: Operation,
    snapshot: watch::Sender<Snapshot>,
) {
    let (request, instance) = (operation.request.clone(), operation.instance.clone());
    let pause = neighbours.timings.longest_retry;
    let driver = || {
        // What has been told as the end is not taken back.
        let is_in_progress = snapshot.borrow().is_in_progress();
        let driver = is_in_progress.then(|| {
            let driver = Driver::new(neighbours.clone(), operation.clone(), snapshot.clone());
            Box::pin(driver.run())
        });
        operation.begun = Begun::Elsewhere;
        driver
    };
    let complain = |panic: &str| {
        tracing::error!(
            code = %Code::Internal,
            request.id = %request,
            instance.id = %instance,
            panic = %redact(panic),
            "the driver of an operation has panicked, another one takes its place"
        );
    };
    Box::pin(begin_until_one_ends(driver, pause, complain)).await;
}

fn is_in_progress(entry: &Entry) -> bool {
    matches!(entry.snapshot.borrow().state, SnapshotState::InProgress(_))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::bosh::{
        Outcome,
        configs::{ObsoleteConfigs, ReplacedConfigs},
        deployment,
        marker::ClientRole,
    };
    use odb_api_types::{ids::RequestId, kind::OperationKind};

    fn instance() -> InstanceId {
        InstanceId::try_from("one".to_owned()).unwrap()
    }

    /// Somebody who remembers that the instance was moved to the plan.
    fn drivers_after_a_move(plan: &str) -> Drivers {
        let drivers = Drivers::new(Handle::current(), CancellationToken::new());
        let ended = Snapshot {
            state: SnapshotState::Ended {
                outcome: Outcome::Succeeded {
                    description: "moved".to_owned(),
                },
                at: Timestamp::now(),
            },
            ..first_snapshot(&operation(plan))
        };
        let (_, snapshot) = watch::channel(ended);
        let entry = drivers.entry(Phase::Driven, operation(plan), None, snapshot);
        drivers.lock().insert(instance(), entry);
        drivers
    }

    fn operation(plan: &str) -> Operation {
        Operation {
            instance: instance(),
            deployment: deployment(&instance()),
            kind: OperationKind::Update,
            plan: Some(plan.to_owned().into()),
            context: None,
            first_task: None,
            errands: Vec::new(),
            request: RequestId::random(),
            stored: None,
            cuts_short: None,
            former_secrets: Vec::new(),
            obsolete_configs: ObsoleteConfigs::new(),
            replaced_configs: ReplacedConfigs::new(),
            client: ClientRole::None,
            client_in_hand: None,
            begun: Begun::Here,
            began: Timestamp::now(),
            cancelled_by: None,
        }
    }

    fn told(drivers: &Drivers) -> Vec<(String, PresenceKind)> {
        let presences = drivers.presences().into_iter();
        presences
            .map(|(_, presence)| {
                let plan = presence.plan.map(|plan| plan.to_string());
                (plan.unwrap_or_default(), presence.kind)
            })
            .collect()
    }

    #[tokio::test]
    async fn a_move_that_has_succeeded_is_known_also_after_a_hand_over_that_failed() {
        let drivers = drivers_after_a_move("large");
        let before = told(&drivers);
        assert_eq!(before, [("large".to_owned(), PresenceKind::Arrived)]);

        for _ in 0..2 {
            drivers.announce(&Timings::default(), operation("small"));
            let during = told(&drivers);
            assert_eq!(during, [("small".to_owned(), PresenceKind::Arriving)]);
            drivers.withdraw(&instance());
            assert_eq!(told(&drivers), before);
        }
    }

    #[tokio::test]
    async fn an_operation_that_was_announced_first_leaves_nothing_when_it_is_withdrawn() {
        let drivers = Drivers::new(Handle::current(), CancellationToken::new());
        drivers.announce(&Timings::default(), operation("small"));
        drivers.withdraw(&instance());
        assert_eq!(told(&drivers), []);
    }
}
