//! The state of an operation, from its reconciler, otherwise from its record, otherwise from the token.

use std::time::Duration;

use jiff::Timestamp;
use odb_api_types::{
    ids::{InstanceId, PlanId, RequestId},
    kind::OperationKind,
    management::OperationState,
};
use odb_clients::director::{ContextId, Deployment, Task, TaskState};
use odb_core::{
    engine::{LastOperation, OperationView, RequestDigest, RequestIdentity},
    user_message::UserMessage,
};
use serde_json::Value;

use crate::{
    BoshEngine,
    error::Error,
    instance::{Instance, deployment, of_context, takes_the_lock, task_reference},
    reconciler::{
        Known,
        history::{self, Footprint},
        narrative,
        next_step::{Progress, TaskKind, stages},
        operation::{Operation, SnapshotState, UNKNOWN_TASK},
    },
    records::{
        operation_record::{ClientRole, OperationRecord},
        token::OperationToken,
        view,
    },
};

/// The specification's unit of waiting is the second.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// The state of the operation that the platform polls. Without a matching token, the latest one on the instance.
///
/// With a running reconciler no upstream is called; otherwise the operation record decides, and without one the
/// Director's tasks.
pub(crate) async fn last_operation(
    instance: Instance<'_>,
    token: Option<&OperationToken>,
    request: &RequestId,
) -> Result<LastOperation, Error> {
    let token = token.filter(|token| token.names(instance.id) != Some(false));
    let latest = latest(instance, token, request).await?;
    match token {
        Some(token) => as_asked(instance, token, latest).await,
        None => Ok(latest),
    }
}

/// The success of another operation does not count as that of the polled one: a platform deletes its instance after a
/// successful deletion, and stores successful changes.
async fn as_asked(
    instance: Instance<'_>,
    token: &OperationToken,
    latest: LastOperation,
) -> Result<LastOperation, Error> {
    let LastOperation::Known(OperationView { kind, .. }, _) = &latest else {
        return Ok(latest);
    };
    if !has_succeeded(&latest) || kind.is_some_and(OperationKind::deletes) {
        return Ok(latest);
    }
    if token.kind.deletes() {
        return Ok(failed(narrative::failed(
            token.kind,
            narrative::STILL_THERE,
        )));
    }
    let is_another = kind.is_some_and(|kind| kind != token.kind);
    if let Some(context) = &token.context
        && is_another
        && token.names(instance.id) == Some(true)
        && tasks_of(instance, context).await?.iter().any(has_failed)
    {
        return Ok(failed(narrative::failed(token.kind, narrative::FOLLOWED)));
    }
    Ok(latest)
}

async fn tasks_of(instance: Instance<'_>, context: &ContextId) -> Result<Vec<Task>, Error> {
    let tasks = instance
        .director()
        .tasks(instance.call, &of_context(context))
        .await;
    tasks.map_err(Error::director("list the operation's tasks"))
}

async fn latest(
    instance: Instance<'_>,
    token: Option<&OperationToken>,
    request: &RequestId,
) -> Result<LastOperation, Error> {
    if let Some(known) = instance.known() {
        return Ok(match token.filter(|token| was_cut_short(&known, token)) {
            Some(token) => failed(narrative::failed(token.kind, narrative::CUT_SHORT)),
            None => seen(instance.engine, &known),
        });
    }
    let Some(stored) = instance.stored().await? else {
        return match token {
            Some(token) => match adopt(instance, token, request).await? {
                Some(last) => Ok(last),
                None => guess_after(instance, token, request).await,
            },
            None => guess(instance).await,
        };
    };
    // A Go broker writes no operation records: its operation is newer than our record.
    if let Some(token) = token.filter(|token| {
        token.is_foreign() && token.context.as_ref() != Some(&stored.record.context)
    }) && let Some(last) = adopt(instance, token, request).await?
    {
        return Ok(last);
    }
    Ok(if stored.record.outcome.is_some() {
        let ended = view(&Operation::of_stored(instance.id, stored), None);
        LastOperation::Known(ended, SHORTEST_PAUSE)
    } else {
        seen(instance.engine, &instance.take_over(stored))
    })
}

/// Continues an operation of a Go broker, or one without an operation record, once the Director confirms it.
async fn adopt(
    instance: Instance<'_>,
    token: &OperationToken,
    request: &RequestId,
) -> Result<Option<LastOperation>, Error> {
    let (engine, director) = (instance.engine, instance.director());
    let task = match &token.context {
        Some(context) if token.task == UNKNOWN_TASK => {
            let tasks = director.tasks(instance.call, &of_context(context)).await;
            tasks.map(|tasks| tasks.into_iter().next())
        }
        _ => director.task(instance.call, token.task).await,
    };
    let task = task.map_err(Error::director("read the operation's task"))?;
    let Some(task) = task.filter(|task| confirms(task, instance.id, token)) else {
        return Ok(None);
    };
    if let Some(context) = &token.context {
        let tasks = tasks_of(instance, context).await?;
        if tasks.first().map(|first| first.id) != Some(task.id) {
            return Ok(None);
        }
    }
    if !knows_errands(engine, token) || was_overtaken(instance, token, &task).await? {
        return Ok(None);
    }
    let mut record = OperationRecord::new(
        engine.offering.id.clone(),
        PlanId::unknown(),
        token.kind,
        request.clone(),
        RequestDigest::new(RequestIdentity(&Value::Null)),
    );
    // Without a context id the first task is the only one.
    if let Some(context) = &token.context {
        record.context = context.clone();
    }
    record.errands = token.errands();
    record.client = adopted_client(token, engine.upstreams.clients.are_defined());
    let started = task.started_at.and_then(|at| Timestamp::try_from(at).ok());
    record.began = started.or(record.began);
    let operation = Operation {
        first_task: Some(task.id),
        ..Operation::new(instance.id, record, None)
    };
    Ok(Some(seen(
        engine,
        &engine.reconcilers.take_over(&engine.upstreams, operation),
    )))
}

/// A token starts no errand but those that the operator has configured, and none without a context that joins it to
/// the operation.
fn knows_errands(engine: &BoshEngine, token: &OperationToken) -> bool {
    let plans = &engine.offering.plans;
    token.errands().iter().all(|errand| {
        let configured = plans.iter().flat_map(|plan| {
            let errands = &plan.lifecycle_errands;
            errands.post_deploy.iter().chain(&errands.pre_delete)
        });
        token.context.is_some()
            && configured
                .into_iter()
                .any(|known| known.name == errand.name)
    })
}

/// Whether a newer operation has changed the deployment, so that an old one must not continue.
async fn was_overtaken(
    instance: Instance<'_>,
    token: &OperationToken,
    first: &Task,
) -> Result<bool, Error> {
    Ok(instance.tasks(None).await?.iter().any(|task| {
        task.id > first.id
            && task.context != token.context
            && TaskKind::of(&task.description) != TaskKind::Other
    }))
}

fn seen(engine: &BoshEngine, known: &Known) -> LastOperation {
    let at_work = known.snapshot.since.elapsed();
    let ask_again = pace(at_work, engine.upstreams.timings.longest_look);
    LastOperation::Known(known.view(), ask_again)
}

/// Without a record of the operation, and without its tasks: the Director's audit decides its outcome, otherwise the
/// current state.
async fn guess_after(
    instance: Instance<'_>,
    token: &OperationToken,
    request: &RequestId,
) -> Result<LastOperation, Error> {
    let engine = instance.engine;
    let is_own = token.names(instance.id) == Some(true);
    let kind = token.kind;
    let (deployed, newest) = look(instance).await?;
    let is_there = matches!(
        deployed,
        Deployment::Deployed(_) | Deployment::NeverDeployed
    );
    let message = UserMessage {
        service: &engine.offering.name,
        instance: instance.id,
        request,
        reference: (token.task != UNKNOWN_TASK).then(|| task_reference(token.task)),
        operation: Some(kind.to_string()),
    };
    if is_there && is_own {
        match trace_of(instance, token).await {
            Some(Progress::Failed | Progress::LockTimeout) => {
                return Ok(failed(narrative::failed(
                    kind,
                    format!("failed: {message}"),
                )));
            }
            Some(Progress::Done) if !kind.deletes() => {
                return Ok(succeeded(narrative::completed(kind)));
            }
            Some(Progress::Done | Progress::Running) | None => {}
        }
    }
    let is_known_by_later = newest.as_ref().is_some_and(|task| task.id >= token.task);
    Ok(match judge_newest(engine, &deployed, newest) {
        LastOperation::Unknown if kind.deletes() => LastOperation::Gone,
        // A platform would ask on for days for an instance that is not there.
        LastOperation::Unknown if is_own => {
            failed(narrative::failed(kind, narrative::NOTHING_THERE))
        }
        latest if has_succeeded(&latest) && kind.deletes() => {
            failed(narrative::failed(kind, narrative::STILL_THERE))
        }
        // An existing instance does not show that it was changed.
        latest
            if has_succeeded(&latest)
                && kind != OperationKind::Create
                && is_own
                && !is_known_by_later =>
        {
            failed(narrative::unknown_end(kind, &message))
        }
        latest => latest,
    })
}

/// The audit's record of the task in a token. Errands follow it without showing in the audit.
async fn trace_of(instance: Instance<'_>, token: &OperationToken) -> Option<Progress> {
    let task = [token.task.number()];
    let (director, name) = (instance.director(), instance.name());
    let traces = history::traces(director, instance.call, &name, Footprint::Tasks(&task)).await;
    let progress = traces.ok()?.tasks.first()?.outcomes.progress;
    let is_last = token.errands().is_empty() || progress != Progress::Done;
    is_last.then_some(progress)
}

/// Without a record of the operation, the deployment's newest task decides.
pub(crate) async fn guess(instance: Instance<'_>) -> Result<LastOperation, Error> {
    let (deployed, newest) = look(instance).await?;
    Ok(judge_newest(instance.engine, &deployed, newest))
}

/// The deployment of an instance, and the newest task that has held it.
async fn look(instance: Instance<'_>) -> Result<(Deployment, Option<Task>), Error> {
    let (deployed, tasks) = tokio::join!(instance.deployment(), instance.tasks(None));
    let (deployed, tasks) = (deployed?, tasks?);
    Ok((deployed, tasks.into_iter().rfind(takes_the_lock)))
}

fn judge_newest(engine: &BoshEngine, deployed: &Deployment, newest: Option<Task>) -> LastOperation {
    if matches!(deployed, Deployment::Absent | Deployment::ForeignTeam) {
        return LastOperation::Unknown;
    }
    let Some(task) = newest else {
        return if matches!(deployed, Deployment::Deployed(_)) {
            succeeded(narrative::completed(OperationKind::Create))
        } else {
            failed("The latest operation has failed: nothing was deployed".to_owned())
        };
    };
    match &task.state {
        TaskState::Done => succeeded("The latest operation has completed".to_owned()),
        TaskState::Error | TaskState::Cancelled | TaskState::Timeout => failed(format!(
            "The latest operation has failed. Please ask your operator for help and quote task-id: {}",
            task.id
        )),
        TaskState::Queued
        | TaskState::Processing
        | TaskState::Cancelling
        | TaskState::Unknown(_) => LastOperation::Known(
            OperationView::new(
                None,
                OperationState::InProgress,
                "The latest operation is in progress".to_owned(),
            ),
            engine.upstreams.timings.longest_look,
        ),
    }
}

/// Whether an adopted operation created the client is not recorded, but the client's metadata shows it. Without a
/// definition a Go broker creates no clients either, so the UAA is not called.
fn adopted_client(token: &OperationToken, are_defined: bool) -> ClientRole {
    if !are_defined {
        return ClientRole::None;
    }
    let makes_clients = matches!(
        token.kind,
        OperationKind::Create | OperationKind::Update | OperationKind::Upgrade
    );
    if makes_clients && token.context.is_some() {
        ClientRole::Made
    } else {
        ClientRole::Kept
    }
}

fn succeeded(description: String) -> LastOperation {
    ended(OperationState::Succeeded, description)
}

fn failed(description: String) -> LastOperation {
    ended(OperationState::Failed, description)
}

fn ended(state: OperationState, description: String) -> LastOperation {
    LastOperation::Known(OperationView::new(None, state, description), SHORTEST_PAUSE)
}

pub(crate) fn has_succeeded(latest: &LastOperation) -> bool {
    matches!(latest, LastOperation::Known(operation, _) if operation.is_success())
}

fn has_failed(task: &Task) -> bool {
    matches!(
        task.state,
        TaskState::Error | TaskState::Cancelled | TaskState::Timeout
    )
}

/// The platform asks about an operation that was none any more when the instance was deleted.
fn was_cut_short(latest: &Known, token: &OperationToken) -> bool {
    let is_gone = matches!(&latest.snapshot.state, SnapshotState::Ended { outcome, .. } if outcome.is_success());
    latest.operation.kind().deletes()
        && is_gone
        && !token.kind.deletes()
        && token
            .context
            .as_ref()
            .is_some_and(|context| *context != latest.operation.record.context)
}

/// A reconciler pauses for a third of the time since its start: a poll in between reads nothing new.
fn pace(at_work: Duration, longest: Duration) -> Duration {
    (at_work / 3).clamp(SHORTEST_PAUSE, longest.max(SHORTEST_PAUSE))
}

/// A token is accepted if its task is the Director's first task of this instance and kind: a forged token must not
/// start errands or remove anything (`spec/contracts/osb-api.md`, L-05).
fn confirms(task: &Task, instance: &InstanceId, token: &OperationToken) -> bool {
    let stages = stages(token.kind, &token.errands());
    task.deployment.as_ref() == Some(&deployment(instance))
        && was_begun_under(task.context.as_ref(), instance, token)
        && stages
            .first()
            .is_some_and(|stage| TaskKind::of(&task.description).fits(stage))
}

/// A Go broker deletes an instance without errands under a context id that its token does not have
/// (`spec/contracts/broker-behaviour.md` §3.11).
fn was_begun_under(
    context: Option<&ContextId>,
    instance: &InstanceId,
    token: &OperationToken,
) -> bool {
    match (context, &token.context) {
        (Some(context), None) if token.kind.deletes() => {
            context.as_str().strip_prefix("delete-") == Some(instance.as_str())
        }
        (context, reported) => context == reported.as_ref(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adopted_operation_has_a_client_only_where_clients_are_defined() {
        let text = r#"{"BoshTaskID":7,"OperationType":"create","BoshContextID":"c"}"#;
        let token = OperationToken::parse(text).expect("it is the Go broker's form");
        assert_eq!(adopted_client(&token, false), ClientRole::None);
        assert_eq!(adopted_client(&token, true), ClientRole::Made);
    }

    #[test]
    fn the_pause_between_two_polls_grows_from_a_second_to_the_reconcilers_longest() {
        let longest = Duration::from_secs(5);
        for (at_work, pause) in [(0, 1), (2, 1), (6, 2), (12, 4), (15, 5), (3600, 5)] {
            assert_eq!(
                pace(Duration::from_secs(at_work), longest),
                Duration::from_secs(pause),
                "{at_work}"
            );
        }
    }
}
