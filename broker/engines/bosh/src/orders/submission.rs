//! The moment at which a prepared operation becomes the Director's: operation record, secrets, configs, submission
//! exactly once (`docs/contributing/architecture.md`, "Exactly once"), reconciler.
//!
//! Abandoned writes are operation records whose write was given up or could not be rolled back, and UAA clients that were
//! made for nothing. They belong to operations that were never submitted, and may arrive long after the request was
//! answered. Each is awaited and removed.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use odb_adapter_sdk::protocol::LifecycleErrand;
use odb_api_types::{
    code::Code,
    ids::{InstanceId, RequestId},
    kind::OperationKind,
};
use odb_clients::{
    ServiceError,
    director::{
        ConfigId, ContextId, DeploymentName, Director, ErrandName, Force, InstanceSelector,
        SubmitError, TaskId,
    },
    http::{Call, Deadline, StatusCode, trace},
};
use odb_config::Timings;
use odb_core::{
    engine::{Order, Started},
    metrics::{Queue, metrics},
};
use odb_redaction::Chain;
use tokio::time::{Instant, timeout_at};

use crate::{
    BoshEngine, Upstreams, configs,
    error::{Error, is_not_allowed},
    instance::{deployment, of_context},
    orders::{Generated, Prepared, call_of_preparation, undo_client},
    reconciler::{
        cleanup::CleanupError,
        operation::{Begun, Operation},
    },
    records::operation_record::{FoundRecord, OperationRecord, RecordError, StoredRecord},
    wait::{Absence, Backoff, pause},
};

/// How often an operation record is written whose id is taken by an unneeded one.
const ATTEMPTS: usize = 3;

/// Writes operation record, secrets and configs, submits the work and starts the reconciler. If it fails before the
/// submission, everything written is rolled back. `before` is the previous operation record, which is then the latest
/// again.
pub(crate) async fn submit_order(
    engine: &BoshEngine,
    order: &Order,
    prepared: Prepared,
    before: Option<&StoredRecord>,
) -> Result<Started, Error> {
    let Prepared { record, client, .. } = &prepared;
    let stored = match write_down(engine, order, record, before).await {
        Ok(stored) => stored,
        Err(error) => {
            Box::pin(undo_client(engine, order, client.as_ref())).await;
            return Err(error);
        }
    };
    let mut operation = Operation {
        begun: Begun::Here,
        trace: trace::current(),
        client: client.clone(),
        ..Operation::new(&order.instance, record.clone(), stored)
    };
    engine.reconcilers.register(operation.clone());
    let context = &record.context;
    match Box::pin(write_and_submit(engine, order, &prepared)).await {
        Ok(task) => {
            tracing::info!(bosh.task.id = task.number(), %context, "submitted to the Director");
            operation.first_task = Some(task);
        }
        // The request may be under way: the reconciler continues to search for its task. If it does not appear, nothing
        // has changed, and the last operation reports that.
        Err(Error::Submit(error @ SubmitError::LostAnswer { .. })) => {
            tracing::warn!(
                code = %Code::Director,
                error = %Chain(&error),
                %context,
                "submitted, and not known yet whether it has arrived"
            );
        }
        Err(error) => {
            engine.reconcilers.unregister(&order.instance);
            // Side by side: the platform does not wait much longer.
            Box::pin(async {
                tokio::join!(
                    roll_back(engine, operation, &error),
                    undo_client(engine, order, client.as_ref())
                )
            })
            .await;
            return Err(error);
        }
    }
    let started = operation.answer(operation.first_task);
    operation.started = Some(started.clone());
    engine.reconcilers.start(&engine.upstreams, operation);
    Ok(started)
}

/// Writes the operation record, as long as there is time for all the rest.
async fn write_down(
    engine: &BoshEngine,
    order: &Order,
    record: &OperationRecord,
    before: Option<&StoredRecord>,
) -> Result<Option<ConfigId>, Error> {
    check_reserve(engine, order)?;
    let call = call_of_preparation(engine, order);
    match store_record(engine, &call, order, record, before).await {
        Err(Error::Record(RecordError::Overtaken)) => Err(Error::Busy),
        recorded => recorded,
    }
}

fn check_reserve(engine: &BoshEngine, order: &Order) -> Result<(), Error> {
    if order.deadline.remaining() < engine.upstreams.timings.submission_reserve {
        return Err(Error::OutOfTime);
    }
    Ok(())
}

async fn write_and_submit(
    engine: &BoshEngine,
    order: &Order,
    prepared: &Prepared,
) -> Result<TaskId, Error> {
    let upstreams = &*engine.upstreams;
    let name = deployment(&order.instance);
    // Nothing is submitted after this deadline, because no time for a rollback would be left.
    let call = call_of_preparation(engine, order);
    if let Work::Deploy(generated) = &prepared.work {
        upstreams.secrets.write(&call, &generated.secrets).await?;
        let configs = &generated.configs.written;
        configs::write(&upstreams.director, &call, &name, configs).await?;
    }
    let waiting = metrics().wait(Queue::Submission);
    let permit = timeout_at(call.deadline.instant(), upstreams.submissions.acquire());
    let Ok(Ok(_permit)) = permit.await else {
        return Err(Error::OutOfTime);
    };
    drop(waiting);
    check_reserve(engine, order)?;
    let (call, context) = (order.call(), &prepared.record.context);
    submit(upstreams, &call, &name, &prepared.work, context, None)
        .await
        .map_err(Error::Submit)
}

/// Writes the operation record. Without permission for configs there is none; the log lists the consequences.
pub(crate) async fn store_record(
    engine: &BoshEngine,
    call: &Call,
    order: &Order,
    record: &OperationRecord,
    before: Option<&StoredRecord>,
) -> Result<Option<ConfigId>, Error> {
    let instance = &order.instance;
    let records = &engine.upstreams.records;
    let mut before = before.map(|stored| stored.id.clone());
    for _ in 0..ATTEMPTS {
        let written = records
            .write(call, instance, record.clone(), before.as_ref())
            .await;
        match written {
            Ok(stored) => return Ok(stored.map(|stored| stored.id)),
            Err(RecordError::Write(error)) if is_not_allowed(&error) => {
                tracing::warn!(
                    code = %Code::Director,
                    error = %Chain(&error),
                    "the operation record may not be written; should the broker be stopped now, polls have to carry the operation on"
                );
                return Ok(None);
            }
            // An abandoned operation record was written in between, or was removed.
            Err(RecordError::Overtaken) => {
                before = match records.read(call, instance).await? {
                    None => None,
                    Some(found) if engine.upstreams.abandoned.includes(&found.record.context) => {
                        Some(found.id)
                    }
                    Some(_) => return Err(RecordError::Overtaken.into()),
                };
            }
            Err(error) => {
                // The record may still arrive.
                abandon(engine, instance, &record.context, &order.request);
                return Err(error.into());
            }
        }
    }
    Err(RecordError::Overtaken.into())
}

/// Rolls back an operation that was not submitted: secrets, configs and operation record are restored. What cannot be
/// rolled back at once, or may still arrive, is left to a reconciler: it finds that nothing was submitted and retries,
/// and the operation record lets a later process continue.
async fn roll_back(engine: &BoshEngine, operation: Operation, error: &Error) {
    let call = Call::until(Deadline::after(engine.upstreams.timings.rollback))
        .with_request_id(operation.record.request.as_str());
    if error.may_have_written() {
        tracing::warn!(code = %Code::CleanUp, "what was written for the operation may still arrive: it is rolled back later");
    } else if restore(engine, &call, &operation).await {
        return;
    }
    let operation = Operation {
        begun: Begun::Elsewhere,
        client: None,
        ..operation
    };
    engine.reconcilers.start(&engine.upstreams, operation);
}

async fn restore(engine: &BoshEngine, call: &Call, operation: &Operation) -> bool {
    let (instance, record) = (&operation.instance, &operation.record);
    let (director, name) = (&engine.upstreams.director, operation.deployment());
    let (secrets, configs) = tokio::join!(
        put_secrets_back(engine, call, operation),
        configs::restore(director, call, &name, &record.replaced_configs)
    );
    if let Err(error) = &configs {
        tracing::warn!(code = %Code::CleanUp, error = %Chain(error), "configs could not be rolled back yet");
    }
    if let Err(error) = &secrets {
        tracing::warn!(code = %Code::CleanUp, error = %Chain(error), "secrets could not be put back yet");
    }
    if secrets.is_err() || configs.is_err() {
        return false;
    }
    if let Some(stored) = &operation.stored
        && let Err(error) = engine.upstreams.records.roll_back(call, stored).await
    {
        tracing::warn!(code = %Code::CleanUp, error = %Chain(&error), "the operation record could not be rolled back yet");
        abandon(engine, instance, &record.context, &record.request);
    }
    true
}

async fn put_secrets_back(
    engine: &BoshEngine,
    call: &Call,
    operation: &Operation,
) -> Result<(), CleanupError> {
    let Upstreams {
        director, secrets, ..
    } = &*engine.upstreams;
    let (instance, previous) = (&operation.instance, &operation.record.previous_secrets);
    if operation.kind() == OperationKind::Create && !previous.is_empty() {
        // There is no deployment that could use one.
        return secrets.remove_all(call, director, instance).await;
    }
    Ok(secrets.put_back(call, instance, previous).await?)
}

/// The pause between two searches for a task whose submission got no answer.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// How often the same work is sent when each answer is lost and no task is found.
const SUBMISSIONS: u32 = 2;

pub(crate) enum Work {
    Deploy(Generated),
    Recreate,
    Errand(LifecycleErrand),
    Delete(Force),
}

impl Work {
    async fn send(
        &self,
        director: &Director,
        call: Call,
        deployment: &DeploymentName,
        context: &ContextId,
    ) -> Result<TaskId, SubmitError> {
        match self {
            Self::Deploy(generated) => {
                let manifest = generated.manifest.as_str();
                director.deploy(&call, manifest, context).await
            }
            Self::Recreate => director.recreate(&call, deployment, context).await,
            Self::Errand(errand) => run(director, &call, deployment, errand, context).await,
            Self::Delete(force) => director.delete(&call, deployment, *force, context).await,
        }
    }
}

/// A look for what may have arrived at the Director.
enum Look<T> {
    /// It arrived, or nothing is left to do about it.
    Settled(T),
    /// It is not there, and may yet arrive.
    NotThere,
    /// The Director did not answer, or not for long enough.
    Unclear,
}

/// Sends work under a context id, within the time of the call. When the answer is lost, the tasks of that context show
/// whether it arrived. It is sent again only after the Director has listed no such task for `timeout`.
///
/// `known` is the newest task of the context from before.
pub(crate) async fn submit(
    upstreams: &Upstreams,
    call: &Call,
    deployment: &DeploymentName,
    work: &Work,
    context: &ContextId,
    known: Option<TaskId>,
) -> Result<TaskId, SubmitError> {
    let (director, timeout) = (&upstreams.director, upstreams.timings.lost_answer);
    let mut attempt = 1;
    loop {
        let left = call.deadline.remaining();
        let sending = Call {
            // Some of the time is for looking.
            deadline: call
                .deadline
                .within(left.saturating_sub(timeout).max(left / 3)),
            ..call.clone()
        };
        let lost = match work.send(director, sending, deployment, context).await {
            Ok(task) => return Ok(task),
            Err(error @ SubmitError::LostAnswer { .. }) => error,
            Err(error) => return Err(error),
        };
        tracing::warn!(%context, "the Director's answer to a submission was lost, searching for its task");
        match look(director, call, context, known, timeout).await {
            Look::Settled(task) => {
                tracing::info!(%context, %task, "the submission had arrived");
                return Ok(task);
            }
            Look::NotThere if attempt < SUBMISSIONS && !call.deadline.has_passed() => attempt += 1,
            Look::NotThere | Look::Unclear => return Err(lost),
        }
    }
}

async fn look(
    director: &Director,
    call: &Call,
    context: &ContextId,
    known: Option<TaskId>,
    timeout: Duration,
) -> Look<TaskId> {
    let began = Instant::now();
    let mut absence = Absence::default();
    loop {
        let each = Call {
            deadline: call.deadline.within(timeout),
            ..call.clone()
        };
        match director.tasks(&each, &of_context(context)).await {
            Ok(tasks) => {
                let newest = tasks.last().map(|task| task.id);
                if let Some(task) = newest.filter(|_| newest > known) {
                    return Look::Settled(task);
                }
                // The Director has been seen without it for long enough: it did not arrive.
                if absence.note() >= timeout {
                    return Look::NotThere;
                }
            }
            // An earlier request may be queued there, too.
            Err(error) => {
                tracing::debug!(error = %Chain(&error), "could not look for the task");
                absence.interrupt();
            }
        }
        let is_mute = !absence.is_noted() && began.elapsed() >= timeout;
        if is_mute || call.deadline.remaining() < LOOK_AGAIN {
            return Look::Unclear;
        }
        pause(LOOK_AGAIN).await;
    }
}

/// Runs an errand on its instances, or in its own group when it names none.
async fn run(
    director: &Director,
    call: &Call,
    deployment: &DeploymentName,
    errand: &LifecycleErrand,
    context: &ContextId,
) -> Result<TaskId, SubmitError> {
    let name = ErrandName::try_from(errand.name.clone()).map_err(|error| SubmitError::Refused {
        asked: format!("POST /deployments/{deployment}/errands"),
        status: StatusCode::BAD_REQUEST,
        code: None,
        description: error.to_string(),
    })?;
    // `group` or `group/index-or-id`, as the configuration has checked.
    let selector = |text: &String| {
        let (group, id) = match text.split_once('/') {
            Some((group, id)) => (group, Some(id.to_owned())),
            None => (text.as_str(), None),
        };
        let group = group.to_owned();
        InstanceSelector { group, id }
    };
    let selectors: Vec<_> = errand.instances.iter().map(selector).collect();
    director
        .run_errand(call, deployment, &name, &selectors, context)
        .await
}

/// How many abandoned operations are kept. A dropped one is detected again, but later.
const MOST_ABANDONED: usize = 1024;

#[derive(Debug, Default)]
pub(crate) struct Abandoned(Mutex<VecDeque<ContextId>>);

impl Abandoned {
    /// This process abandoned the operation, and nothing of it was ever submitted.
    pub(crate) fn includes(&self, context: &ContextId) -> bool {
        self.lock().contains(context)
    }

    fn add(&self, context: ContextId) {
        let mut contexts = self.lock();
        if contexts.len() == MOST_ABANDONED {
            contexts.pop_front();
        }
        contexts.push_back(context);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<ContextId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Repeats until nothing is left to do, or the record has been absent for long enough.
async fn sweep<F: Future<Output = Look<()>>>(timings: &Timings, look: impl Fn() -> F) {
    let mut backoff = Backoff::between_attempts(timings);
    let mut absence = Absence::default();
    loop {
        backoff.pause().await;
        match look().await {
            Look::Settled(()) => return,
            Look::NotThere if absence.note() >= timings.lost_answer => return,
            Look::NotThere => backoff.reset(),
            Look::Unclear => absence.interrupt(),
        }
    }
}

/// Abandons an operation whose operation record may be written, or is being written. Only this version is removed:
/// later versions of other operations stay.
pub(super) fn abandon(
    engine: &BoshEngine,
    instance: &InstanceId,
    context: &ContextId,
    request: &RequestId,
) {
    engine.upstreams.abandoned.add(context.clone());
    let (upstreams, instance) = (engine.upstreams.clone(), instance.clone());
    let (context, request) = (context.clone(), request.clone());
    engine.reconcilers.spawn(async move {
        let (timings, records) = (upstreams.timings, &upstreams.records);
        let (instance, context, request) = (&instance, &context, &request);
        let call = &|| Call::within(timings.reconciler_call).with_request_id(request.as_str());
        let look = || async move {
            let stored = match records.find(&call(), instance).await {
                Ok(Some(FoundRecord::Own(stored))) if stored.record.context == *context => stored,
                // A record of another operation or owner stays.
                Ok(_) => return Look::NotThere,
                Err(error) => {
                    tracing::debug!(error = %Chain(&error), "could not look for an operation record that was given up");
                    return unclear(&error);
                }
            };
            match records.roll_back(&call(), &stored.id).await {
                Ok(()) => {
                    tracing::info!(request.id = %request, instance.id = %instance, %context, "removed an operation record that had arrived late");
                    Look::Settled(())
                }
                Err(error) => {
                    tracing::debug!(error = %Chain(&error), "could not remove an operation record that had arrived late");
                    unclear(&error)
                }
            }
        };
        sweep(&timings, look).await;
    });
}

/// Without permission at the Director, nothing is left to do. If the operation record arrives, its reader finds that
/// nothing was submitted under it.
fn unclear(error: &ServiceError) -> Look<()> {
    if is_not_allowed(error) {
        Look::Settled(())
    } else {
        Look::Unclear
    }
}

/// Removes a client that was made for nothing, or that may arrive when its request has long been answered. One that a
/// later request has made stays; while one is in progress nothing is removed behind its back.
pub(super) fn delete_abandoned_client(engine: &BoshEngine, order: &Order, operation: &ContextId) {
    let (upstreams, instance) = (engine.upstreams.clone(), order.instance.clone());
    let (operation, request) = (operation.clone(), order.request.clone());
    let reconcilers = engine.reconcilers.clone();
    engine.reconcilers.spawn(async move {
        let timings = upstreams.timings;
        let (upstreams, reconcilers) = (&upstreams, &reconcilers);
        let (instance, operation, request) = (&instance, &operation, &request);
        let look = || async move {
            if reconcilers.in_progress(instance).is_some() {
                return Look::Unclear;
            }
            let call = Call::within(timings.reconciler_call).with_request_id(request.as_str());
            match upstreams.clients.unmake(&call, instance, operation).await {
                Ok(true) => Look::Settled(()),
                Ok(false) => Look::NotThere,
                Err(error) => {
                    tracing::debug!(request.id = %request, instance.id = %instance, error = %Chain(&error), "could not look for a UAA client that was made for nothing");
                    if error.is_transient() {
                        Look::Unclear
                    } else {
                        Look::Settled(())
                    }
                }
            }
        };
        sweep(&timings, look).await;
    });
}
