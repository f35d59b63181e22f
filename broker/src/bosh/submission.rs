//! Hands work to the Director exactly once (`docs/architecture.md`, "Exactly once").

use std::{future::Future, time::Duration};

use odb_platform::{
    director::{ContextId, Director, SubmitError, TaskId},
    http::Call,
};
use tokio::time::{Instant, sleep};

use super::of_context;
use crate::telemetry::Chain;

/// Between two looks for a task whose submission went unanswered.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// How often the same work is sent when each answer is lost and no task is found.
const ATTEMPTS: u32 = 2;

/// What looking for a task has shown.
enum Look {
    /// There it is.
    Arrived(TaskId),
    /// The Director has been seen without it for long enough: it did not arrive.
    NotThere,
    /// The Director did not tell, or not for long enough.
    Unclear,
}

/// Sends work under a context id, within the time of the call. When the answer is lost, the tasks of that context tell
/// whether it arrived; only after the Director has told for `patience` that it did not is it sent again.
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
    F: Fn(Call) -> Answer,
    Answer: Future<Output = Result<TaskId, SubmitError>>,
{
    let mut attempt = 1;
    loop {
        let left = call.deadline.remaining();
        let sending = Call {
            // Some of the time is for looking.
            deadline: call
                .deadline
                .within(left.saturating_sub(patience).max(left / 3)),
            ..call.clone()
        };
        let lost = match send(sending).await {
            Ok(task) => return Ok(task),
            Err(error @ SubmitError::LostAnswer { .. }) => error,
            Err(error) => return Err(error),
        };
        tracing::warn!(%context, "the Director's answer to a submission was lost, looking for its task");
        match look(director, call, context, known, patience).await {
            Look::Arrived(task) => {
                tracing::info!(%context, %task, "the submission had arrived");
                return Ok(task);
            }
            Look::NotThere if attempt < ATTEMPTS && !call.deadline.has_passed() => attempt += 1,
            Look::NotThere | Look::Unclear => return Err(lost),
        }
    }
}

async fn look(
    director: &Director,
    call: &Call,
    context: &ContextId,
    known: Option<TaskId>,
    patience: Duration,
) -> Look {
    let began = Instant::now();
    let mut seen_without_since = None;
    loop {
        let each = Call {
            deadline: call.deadline.within(patience),
            ..call.clone()
        };
        match director.tasks(&each, &of_context(context)).await {
            Ok(tasks) => {
                let newest = tasks.last().map(|task| task.id);
                if let Some(task) = newest.filter(|_| newest > known) {
                    return Look::Arrived(task);
                }
                let since = *seen_without_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= patience {
                    return Look::NotThere;
                }
            }
            // What it was asked before may be waiting there, too.
            Err(error) => {
                tracing::debug!(error = %Chain(&error), "could not look for the task");
                seen_without_since = None;
            }
        }
        let is_mute = seen_without_since.is_none() && began.elapsed() >= patience;
        if is_mute || call.deadline.remaining() < LOOK_AGAIN {
            return Look::Unclear;
        }
        sleep(LOOK_AGAIN).await;
    }
}
