//! Hands work to the Director exactly once (`docs/architecture.md`, "Exactly once").

use std::{future::Future, time::Duration};

use odb_platform::{
    director::{ContextId, Director, DirectorError, SubmitError, TaskId},
    http::{Call, Deadline},
};
use tokio::time::sleep;

use super::of_context;

/// Between two looks for a task whose submission went unanswered.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// How often the same work is sent when each answer is lost and no task is found.
const ATTEMPTS: u32 = 2;

/// Sends work under a context id. When the answer is lost, the tasks of that context tell whether it arrived;
/// only after they have told for `patience` that it did not is it sent again.
///
/// `known` is the newest task of the context from before.
pub(super) async fn submit<F, Answer>(
    director: &Director,
    call: &Call,
    context: &ContextId,
    known: Option<TaskId>,
    patience: Duration,
    send: F,
) -> Result<TaskId, SubmitError>
where
    F: Fn() -> Answer,
    Answer: Future<Output = Result<TaskId, SubmitError>>,
{
    let mut attempt = 1;
    loop {
        let lost = match send().await {
            Ok(task) => return Ok(task),
            Err(error @ SubmitError::LostAnswer { .. }) => error,
            Err(error) => return Err(error),
        };
        tracing::warn!(%context, "the Director's answer to a submission was lost, looking for its task");
        // Looking has a time of its own: what may be under way is worth knowing, whatever the request has left.
        let look = Call {
            deadline: Deadline::after(patience),
            ..call.clone()
        };
        if let Some(task) = arrived(director, &look, context, known).await {
            tracing::info!(%context, %task, "the submission had arrived");
            return Ok(task);
        }
        if attempt == ATTEMPTS || call.deadline.has_passed() {
            return Err(lost);
        }
        attempt += 1;
    }
}

async fn arrived(
    director: &Director,
    look: &Call,
    context: &ContextId,
    known: Option<TaskId>,
) -> Option<TaskId> {
    loop {
        match newest(director, look, context).await {
            Ok(newest) if newest > known => return newest,
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "could not look for the task"),
        }
        if look.deadline.remaining() < LOOK_AGAIN {
            return None;
        }
        sleep(LOOK_AGAIN).await;
    }
}

async fn newest(
    director: &Director,
    look: &Call,
    context: &ContextId,
) -> Result<Option<TaskId>, DirectorError> {
    let tasks = director.tasks(look, &of_context(context)).await?;
    Ok(tasks.last().map(|task| task.id))
}
