//! The operations in flight, one driver each, and what the latest ones came to.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{runtime::Handle, sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    Neighbours, Started,
    driver::Driver,
    operation::{Operation, Snapshot, SnapshotState},
};
use crate::ids::{InstanceId, PlanId};

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
            cancelled.run_until_cancelled(driver.run()).await;
        });
        first
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

    /// The instances that are here after their latest operation, or will be.
    pub(super) fn present(&self) -> Vec<(InstanceId, PlanId)> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries
            .iter()
            .filter(|(_, entry)| entry.snapshot.borrow().leaves_an_instance())
            .filter_map(|(instance, entry)| Some((instance.clone(), entry.plan.clone()?)))
            .collect()
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
            cancelled: cancelled.clone(),
        };
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() > SWEEP_ABOVE {
            entries.retain(|_, entry| is_in_progress(entry) || entry.since.elapsed() < remembered);
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
