//! The operations in flight, one driver each, and what the latest ones came to.

use std::{
    collections::HashMap,
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{runtime::Handle, sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    Neighbours, Presence, PresenceKind, Started,
    driver::Driver,
    operation::{Operation, Snapshot, SnapshotState},
};
use crate::{
    config::Timings,
    ids::{InstanceId, PlanId},
};

/// Ended operations are swept out when there are more than this.
const SWEEP_ABOVE: usize = 1024;

/// Starts drivers and reads their snapshots.
#[derive(Clone, Debug)]
pub(super) struct Drivers {
    entries: Arc<Mutex<HashMap<InstanceId, Entry>>>,
    runtime: Handle,
    stopping: CancellationToken,
}

#[derive(Debug)]
struct Entry {
    snapshot: watch::Receiver<Snapshot>,
    phase: Phase,
    plan: Option<PlanId>,
    /// The answer that the request got, for its identical repeat.
    started: Option<Started>,
    since: Instant,
    /// When it was first noticed that the operation has ended.
    ended: Option<Instant>,
    /// Stops the driver when a later operation takes its place.
    cancelled: CancellationToken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Its request is at it.
    HandingOver,
    /// Its driver is at it, or has ended.
    Driven,
}

/// What is known here of an instance's latest operation.
#[derive(Clone, Debug)]
pub(super) struct Known {
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
    pub(super) fn announce(&self, neighbours: &Arc<Neighbours>, operation: Operation) {
        let (instance, plan) = (operation.instance.clone(), operation.plan.clone());
        // Dropped undriven, a driver leaves its first snapshot behind.
        let (_, snapshot) = Driver::new(neighbours.clone(), operation);
        self.insert(
            instance,
            Phase::HandingOver,
            plan,
            None,
            snapshot,
            neighbours,
        );
    }

    /// Starts driving, unless this very operation is being driven already.
    pub(super) fn start(
        &self,
        neighbours: &Arc<Neighbours>,
        operation: Operation,
        started: Option<Started>,
    ) -> Snapshot {
        if let Some(driven) = self.driven(&operation) {
            return driven;
        }
        let (instance, plan) = (operation.instance.clone(), operation.plan.clone());
        let (driver, snapshot) = Driver::new(neighbours.clone(), operation);
        let first = snapshot.borrow().clone();
        let cancelled = self.insert(instance, Phase::Driven, plan, started, snapshot, neighbours);
        self.runtime.spawn(async move {
            let driving = Box::pin(driver.run());
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
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
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
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.get(instance)?;
        let snapshot = entry.snapshot.borrow().clone();
        // A driver that is gone without a word knows nothing any more.
        let is_mute = entry.phase == Phase::Driven && entry.snapshot.has_changed().is_err();
        if is_mute && snapshot.is_in_progress() {
            return None;
        }
        Some(Known {
            snapshot,
            started: entry.started.clone(),
        })
    }

    /// Tells of every step of an instance's latest operation.
    pub(super) fn watch(&self, instance: &InstanceId) -> Option<watch::Receiver<Snapshot>> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
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
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let told = entries.iter().map(|(instance, entry)| {
            let snapshot = entry.snapshot.borrow();
            let presence = Presence {
                plan: entry.plan.clone(),
                kind: PresenceKind::of(snapshot.kind, &snapshot.state),
                since: Some(entry.since),
            };
            (instance.clone(), presence)
        });
        told.collect()
    }

    /// Forgets an instance that is gone, or an operation that was announced and not handed over.
    pub(super) fn forget(&self, instance: &InstanceId) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.remove(instance) {
            entry.cancelled.cancel();
        }
    }

    fn driven(&self, operation: &Operation) -> Option<Snapshot> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.get(&operation.instance)?;
        // A driver that is gone without a word, or that never ran, drives nothing.
        let is_alive = entry.snapshot.has_changed().is_ok();
        let snapshot = entry.snapshot.borrow();
        let is_same = snapshot.context == operation.context;
        (is_alive && is_same && snapshot.is_in_progress()).then(|| snapshot.clone())
    }

    fn insert(
        &self,
        instance: InstanceId,
        phase: Phase,
        plan: Option<PlanId>,
        started: Option<Started>,
        snapshot: watch::Receiver<Snapshot>,
        neighbours: &Neighbours,
    ) -> CancellationToken {
        let remembered = neighbours.timings.remembered;
        let cancelled = self.stopping.child_token();
        let entry = Entry {
            snapshot,
            phase,
            plan,
            started,
            since: Instant::now(),
            ended: None,
            cancelled: cancelled.clone(),
        };
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() > SWEEP_ABOVE {
            entries.retain(|_, entry| {
                is_in_progress(entry)
                    || entry.ended.get_or_insert_with(Instant::now).elapsed() < remembered
            });
        }
        if let Some(former) = entries.insert(instance, entry) {
            former.cancelled.cancel();
        }
        cancelled
    }
}

fn is_in_progress(entry: &Entry) -> bool {
    matches!(entry.snapshot.borrow().state, SnapshotState::InProgress(_))
}
