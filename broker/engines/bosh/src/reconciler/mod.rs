//! Carries operations from their submission to their outcome; here the operations in flight with one reconciler each, and
//! the outcomes of the latest ones.
//!
//! | file | contents |
//! | --- | --- |
//! | `operation` | an operation in flight, and what every step needs, with the retries of calls during transient errors |
//! | `control_loop` | one reconciler with its operation |
//! | `observer`, `next_step`, `narrative` | the results of its tasks, the next step, the texts for users |
//! | `stopping` | cancels tasks, and waits for requests that may still arrive |
//! | `history` | what the Director's audit and the deployment show of an operation whose tasks are dropped |
//! | `failure` | why an operation has failed; recording and publishing how it has ended |
//! | `spans` | the spans of an operation in a trace |
//! | `cleanup` | what to remove after a success, a delete, and an operation that was not submitted |

pub(crate) mod cleanup;
mod control_loop;
pub(crate) mod failure;
pub(crate) mod history;
pub(crate) mod narrative;
pub(crate) mod next_step;
pub(crate) mod observer;
pub(crate) mod operation;
mod spans;
mod stopping;

use std::{
    any::Any,
    collections::HashMap,
    future::Future,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    time::Duration,
};

use futures_util::FutureExt;
use odb_api_types::{
    code::Code,
    ids::{InstanceId, PlanId},
};
use odb_clients::http::Call;
use odb_config::Timings;
use odb_core::engine::{Occupancy, OccupancyKind};
use odb_redaction::{Chain, redact};
use tokio::{runtime::Handle, sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    BoshEngine, Upstreams,
    error::{Error, is_not_allowed},
    instance::Instance,
    instance_clients::InstanceClient,
    reconciler::{
        control_loop::Reconciler,
        operation::{Begun, Operation, Snapshot},
    },
    records::operation_record::{OperationRecord, StoredRecord},
    wait,
};

/// Ended operations are removed when there are more than this.
const PRUNE_ABOVE: usize = 1024;

#[derive(Clone, Debug)]
pub(crate) struct Reconcilers {
    entries: Arc<Mutex<Entries>>,
    timings: Timings,
    runtime: Handle,
    stopping: CancellationToken,
}

type Entries = HashMap<InstanceId, Entry>;

#[derive(Debug)]
struct Entry {
    operation: Arc<Operation>,
    snapshot: watch::Receiver<Snapshot>,
    phase: Phase,
    since: Instant,
    /// Stops the reconciler when a later operation replaces it.
    cancelled: CancellationToken,
}

#[derive(Debug)]
enum Phase {
    /// Its request submits it. The operation before is the latest again if nothing is submitted after all.
    Submitting(Option<Box<Entry>>),
    /// Its reconciler follows it, or writes its outcome down.
    Driven,
    Left(Instant),
}

impl Entry {
    /// The reconciler of this operation has ended. During the submission of the next one its entry remains.
    fn leave(&mut self, operation: &Arc<Operation>) {
        if Arc::ptr_eq(&self.operation, operation) {
            self.phase = Phase::Left(Instant::now());
        } else if let Phase::Submitting(Some(previous)) = &mut self.phase {
            previous.leave(operation);
        }
    }

    fn is_in_progress(&self) -> bool {
        self.snapshot.borrow().is_in_progress()
    }

    fn known(&self) -> Option<Known> {
        let snapshot = self.snapshot.borrow().clone();
        // A reconciler that was stopped knows nothing any more.
        let is_stopped = matches!(self.phase, Phase::Left(_)) && snapshot.is_in_progress();
        (!is_stopped).then(|| Known {
            operation: self.operation.clone(),
            snapshot,
        })
    }

    /// The same, if it is in progress and a reconciler or request works on it. A submission that takes longer than any
    /// request was interrupted.
    fn at_work(&self, timings: &Timings) -> Option<Known> {
        let is_alive = match self.phase {
            Phase::Submitting(_) => self.since.elapsed() < timings.request_budget * 2,
            Phase::Driven => true,
            Phase::Left(_) => false,
        };
        self.known()
            .filter(|known| is_alive && known.is_in_progress())
    }

    /// Where the operation was started, for a reconciler that replaces this one.
    fn redirected(&self) -> Begun {
        match (self.operation.begun, &self.phase) {
            (Begun::Here, Phase::Submitting(_)) => Begun::Elsewhere,
            (Begun::Here, Phase::Driven | Phase::Left(_)) => Begun::Redirected(self.since),
            (begun @ (Begun::Redirected(_) | Begun::Elsewhere), _) => begun,
        }
    }

    /// Another operation replaces it. If it has ended, its outcome is recorded first.
    fn stop(&self) {
        self.cancelled.cancel();
        if let Phase::Submitting(Some(previous)) = &self.phase {
            previous.stop();
        }
    }

    /// The entry of an operation that has ended. One that has not is stopped.
    fn if_ended(self) -> Option<Box<Self>> {
        if self.is_in_progress() {
            self.cancelled.cancel();
            return None;
        }
        Some(Box::new(self))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) operation: Arc<Operation>,
    pub(crate) snapshot: Snapshot,
}

impl Known {
    pub(crate) fn is_in_progress(&self) -> bool {
        self.snapshot.is_in_progress()
    }

    pub(crate) fn is_of(&self, record: &OperationRecord) -> bool {
        self.operation.record.context == record.context
    }
}

impl Reconcilers {
    /// Reconcilers run on `runtime` until `stopping`; a restart picks them up.
    pub(crate) fn new(timings: &Timings, runtime: Handle, stopping: CancellationToken) -> Self {
        Self {
            entries: Arc::default(),
            timings: *timings,
            runtime,
            stopping,
        }
    }

    /// Registers an operation that is being submitted: until its reconciler starts, a poll reads that it is in
    /// progress.
    pub(crate) fn register(&self, operation: Operation) {
        // The sender is gone, but the snapshot can be read.
        let (_, snapshot) = watch::channel(operation.first_snapshot());
        let mut entries = self.lock();
        let previous = entries
            .remove(&operation.instance)
            .and_then(Entry::if_ended);
        let entry = self.entry(Phase::Submitting(previous), operation, snapshot);
        self.insert(&mut entries, entry);
    }

    /// Unregisters an operation that is not submitted: the one before is the latest again.
    pub(crate) fn unregister(&self, instance: &InstanceId) {
        let mut entries = self.lock();
        if let Some(entry) = entries.remove(instance) {
            entry.cancelled.cancel();
            if let Phase::Submitting(Some(previous)) = entry.phase {
                entries.insert(instance.clone(), *previous);
            }
        }
    }

    /// Starts driving, unless this very operation is being driven already.
    pub(crate) fn start(&self, upstreams: &Arc<Upstreams>, operation: Operation) -> Known {
        let driven = self.lock().get(&operation.instance).and_then(|entry| {
            let is_same = entry.operation.record.context == operation.record.context;
            let is_driven = matches!(entry.phase, Phase::Driven) && entry.is_in_progress();
            entry.known().filter(|_| is_same && is_driven)
        });
        driven.unwrap_or_else(|| {
            let first = operation.first_snapshot();
            self.begin(upstreams, operation, first)
        })
    }

    /// Replaces the reconciler of an operation: it ends before the new one starts, which gets its knowledge.
    pub(crate) fn redirect(&self, upstreams: &Arc<Upstreams>, mut operation: Operation) {
        let mut first = operation.first_snapshot();
        if let Some(entry) = self.lock().get(&operation.instance)
            && entry.operation.record.context == operation.record.context
        {
            operation.begun = entry.redirected();
            operation.client.clone_from(&entry.operation.client);
            operation.trace = entry.operation.trace;
            let snapshot = entry.snapshot.borrow();
            operation.first_task = operation.first_task.or(snapshot.first_task);
            first.first_task = operation.first_task;
            first.stages = snapshot.stages.clone();
        }
        self.begin(upstreams, operation, first);
    }

    fn begin(&self, upstreams: &Arc<Upstreams>, operation: Operation, first: Snapshot) -> Known {
        let (reported, snapshot) = watch::channel(first.clone());
        let entry = self.entry(Phase::Driven, operation, snapshot);
        let (cancelled, operation) = (entry.cancelled.clone(), entry.operation.clone());
        let previous = {
            let mut entries = self.lock();
            let previous = entries.get(&operation.instance);
            let previous = previous.map(|previous| previous.snapshot.clone());
            self.insert(&mut entries, entry);
            previous
        };
        let known = Known {
            operation: operation.clone(),
            snapshot: first,
        };
        let driven = Operation::clone(&operation);
        let driving = Box::pin(drive(upstreams.clone(), driven, reported));
        let this = self.clone();
        self.runtime.spawn(async move {
            let driving = async {
                if let Some(previous) = previous {
                    ended(previous).await;
                }
                driving.await;
            };
            cancelled.run_until_cancelled(driving).await;
            this.leave(&operation);
        });
        known
    }

    fn leave(&self, operation: &Arc<Operation>) {
        let mut entries = self.lock();
        if let Some(entry) = entries.get_mut(&operation.instance) {
            entry.leave(operation);
        }
    }

    /// Starts a reconciler unless one runs. Without the instance lock the record may be stale: an operation that is
    /// being submitted or reconciled stays unchanged.
    pub(crate) fn take_over(&self, upstreams: &Arc<Upstreams>, operation: Operation) -> Known {
        let at_work = self
            .lock()
            .get(&operation.instance)
            .and_then(|entry| entry.at_work(&self.timings));
        at_work.unwrap_or_else(|| self.start(upstreams, operation))
    }

    /// The instance's latest operation, without a call to an upstream.
    pub(crate) fn known(&self, instance: &InstanceId) -> Option<Known> {
        self.lock().get(instance).and_then(Entry::known)
    }

    /// The operation in progress on the instance, as far as it is known without a call to an upstream.
    pub(crate) fn in_progress(&self, instance: &InstanceId) -> Option<Known> {
        self.known(instance).filter(Known::is_in_progress)
    }

    pub(crate) fn all_known(&self) -> HashMap<InstanceId, Known> {
        let entries = self.lock();
        let known = entries
            .iter()
            .filter_map(|(instance, entry)| Some((instance.clone(), entry.known()?)));
        known.collect()
    }

    pub(crate) fn watch(&self, instance: &InstanceId) -> Option<watch::Receiver<Snapshot>> {
        let entries = self.lock();
        Some(entries.get(instance)?.snapshot.clone())
    }

    /// Runs something beside the reconcilers, as long as they run.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stopping = self.stopping.clone();
        self.runtime.spawn(async move {
            stopping.run_until_cancelled(work).await;
        });
    }

    pub(crate) fn occupied(&self) -> Vec<(InstanceId, Occupancy)> {
        let entries = self.lock();
        let occupied = entries.iter().map(|(instance, entry)| {
            let record = &entry.operation.record;
            let state = entry.snapshot.borrow().operation_state();
            let occupancy = Occupancy {
                plan: Some(record.plan.clone()).filter(PlanId::is_known),
                kind: OccupancyKind::of(record.operation, state),
                since: Some(entry.since),
            };
            (instance.clone(), occupancy)
        });
        occupied.collect()
    }

    pub(crate) fn forget(&self, instance: &InstanceId) {
        let mut entries = self.lock();
        if let Some(entry) = entries.remove(instance) {
            entry.cancelled.cancel();
        }
    }

    /// A reconciler lives long, and needs no secret for a rollback.
    fn entry(
        &self,
        phase: Phase,
        mut operation: Operation,
        snapshot: watch::Receiver<Snapshot>,
    ) -> Entry {
        operation.client = operation.client.map(InstanceClient::without_secret);
        Entry {
            operation: Arc::new(operation),
            snapshot,
            phase,
            since: Instant::now(),
            cancelled: self.stopping.child_token(),
        }
    }

    /// The latest operation on an instance is another one now.
    fn insert(&self, entries: &mut Entries, entry: Entry) {
        if entries.len() > PRUNE_ABOVE {
            entries.retain(|_, entry| match entry.phase {
                Phase::Left(at) => at.elapsed() < self.timings.recorded,
                Phase::Submitting(_) | Phase::Driven => true,
            });
        }
        let instance = entry.operation.instance.clone();
        if let Some(replaced) = entries.insert(instance, entry) {
            replaced.stop();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the end of a stopped reconciler: its last request has been sent then, or never is.
async fn ended(mut reconciler: watch::Receiver<Snapshot>) {
    while reconciler.changed().await.is_ok() {}
}

/// Picks up every operation that an earlier process left in progress. Returns their number.
pub(crate) async fn resume(engine: &BoshEngine, call: &Call) -> Result<usize, Error> {
    let open = |instance, stored: StoredRecord| {
        let is_open = stored.record.outcome.is_none();
        is_open.then_some((instance, stored))
    };
    let found: Vec<(InstanceId, StoredRecord)> = match engine
        .upstreams
        .records
        .own_with(call, open)
        .await
    {
        Err(error) if is_not_allowed(&error) => {
            tracing::warn!(
                code = %Code::Resume,
                error = %Chain(&error),
                "could not read the operations of an earlier process; they resume at the next poll"
            );
            Vec::new()
        }
        found => found.map_err(Error::director("list the operation records"))?,
    };
    let mut resumed = 0;
    for (instance, stored) in found {
        // The operation was begun or taken over by this process since the listing.
        let instance = Instance::new(engine, call, &instance);
        if instance.known().is_none() && !instance.never_began(&stored.record) {
            instance.take_over(stored);
            resumed += 1;
        }
    }
    engine.is_resumed.store(true, Ordering::Release);
    Ok(resumed)
}

/// Runs an operation to its end. A reconciler that panics is replaced by another: the operation continues at the
/// Director, and needs a reconciler.
async fn drive(
    upstreams: Arc<Upstreams>,
    mut operation: Operation,
    snapshot: watch::Sender<Snapshot>,
) {
    let (request, instance) = (operation.record.request.clone(), operation.instance.clone());
    let pause = upstreams.timings.longest_retry;
    let reconciler = || {
        // A published outcome is final.
        let is_in_progress = snapshot.borrow().is_in_progress();
        let reconciler = is_in_progress.then(|| {
            let reconciler =
                Reconciler::new(upstreams.clone(), operation.clone(), snapshot.clone());
            Box::pin(reconciler.run())
        });
        operation.begun = Begun::Elsewhere;
        reconciler
    };
    let log_panic = |panic: &str| {
        tracing::error!(
            code = %Code::Internal,
            request.id = %request,
            instance.id = %instance,
            panic = %redact(panic),
            "the reconciler of an operation has panicked, another one takes its place"
        );
    };
    Box::pin(begin_until_one_ends(reconciler, pause, log_panic)).await;
}

/// Begins the work again, after a pause, as long as it panics.
async fn begin_until_one_ends<Work>(
    mut begin: impl FnMut() -> Option<Work>,
    pause: Duration,
    log_panic: impl Fn(&str),
) where
    Work: Future<Output = ()>,
{
    while let Some(work) = begin() {
        // The next one begins from the Director's state, not from what this one has left.
        let Err(panic) = AssertUnwindSafe(work).catch_unwind().await else {
            return;
        };
        log_panic(panic_text(panic.as_ref()));
        wait::pause(pause).await;
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::VecDeque;

    use jiff::Timestamp;

    use super::*;
    use crate::reconciler::operation::SnapshotState;
    use crate::records::operation_record;
    use crate::records::operation_record::Outcome;
    use odb_api_types::kind::OperationKind;

    fn instance() -> InstanceId {
        InstanceId::try_from("one".to_owned()).unwrap()
    }

    /// It is known that the instance was moved to the plan.
    fn reconcilers_after_a_move(plan: &str) -> Reconcilers {
        let reconcilers = Reconcilers::new(
            &Timings::default(),
            Handle::current(),
            CancellationToken::new(),
        );
        let ended = Snapshot {
            state: SnapshotState::Ended {
                outcome: Outcome::Succeeded {
                    description: "moved".to_owned(),
                },
                at: Timestamp::now(),
            },
            ..operation(plan).first_snapshot()
        };
        let (_, snapshot) = watch::channel(ended);
        let entry = reconcilers.entry(Phase::Left(Instant::now()), operation(plan), snapshot);
        reconcilers.lock().insert(instance(), entry);
        reconcilers
    }

    fn operation(plan: &str) -> Operation {
        let mut record = operation_record::example(OperationKind::Update);
        record.plan = plan.to_owned().into();
        Operation::new(&instance(), record, None)
    }

    fn reported(reconcilers: &Reconcilers) -> Vec<(String, OccupancyKind)> {
        let occupied = reconcilers.occupied().into_iter();
        occupied
            .map(|(_, occupancy)| {
                let plan = occupancy.plan.map(|plan| plan.to_string());
                (plan.unwrap_or_default(), occupancy.kind)
            })
            .collect()
    }

    #[tokio::test]
    async fn a_move_that_has_succeeded_is_known_also_after_a_submit_that_failed() {
        let reconcilers = reconcilers_after_a_move("large");
        let before = reported(&reconcilers);
        assert_eq!(before, [("large".to_owned(), OccupancyKind::Settled)]);

        for _ in 0..2 {
            reconcilers.register(operation("small"));
            let during = reported(&reconcilers);
            assert_eq!(during, [("small".to_owned(), OccupancyKind::Changing)]);
            reconcilers.unregister(&instance());
            assert_eq!(reported(&reconcilers), before);
        }
    }

    #[tokio::test]
    async fn an_operation_that_was_announced_first_leaves_nothing_when_it_is_withdrawn() {
        let reconcilers = Reconcilers::new(
            &Timings::default(),
            Handle::current(),
            CancellationToken::new(),
        );
        reconcilers.register(operation("small"));
        reconcilers.unregister(&instance());
        assert_eq!(reported(&reconcilers), []);
    }

    #[tokio::test]
    async fn work_that_panics_is_begun_again_until_one_comes_to_its_end() {
        let mut outcomes = VecDeque::from([Some("no such index"), Some("still not"), None, None]);
        let errors = RefCell::new(Vec::new());

        begin_until_one_ends(
            || {
                let outcome = outcomes.pop_front().flatten();
                Some(async move { assert!(outcome.is_none(), "{}", outcome.unwrap_or_default()) })
            },
            Duration::ZERO,
            |panic| errors.borrow_mut().push(panic.to_owned()),
        )
        .await;

        assert_eq!(outcomes.len(), 1, "the third has come to its end");
        assert_eq!(errors.into_inner(), ["no such index", "still not"]);
    }
}
