//! Hands work to the Director exactly once (`docs/contributing/architecture.md`, "Exactly once").

use std::{future::Future, time::Duration};

use odb_adapter_sdk::protocol::{LifecycleErrand, ManifestText};
use odb_clients::{
    director::{
        ContextId, DeploymentName, Director, ErrandName, Force, InstanceSelector, SubmitError,
        TaskId,
    },
    http::{Call, StatusCode},
};
use odb_redaction::Chain;
use tokio::time::{Instant, sleep};

use crate::{deployment::of_context, wait::Absence};

/// The pause between two searches for a task whose submission got no answer.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// How often the same work is sent when each answer is lost and no task is found.
const ATTEMPTS: u32 = 2;

/// The request to the Director.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// A deployment of this manifest.
    Deploy(ManifestText),
    /// New VMs.
    Recreate,
    /// A lifecycle errand.
    Errand(LifecycleErrand),
    /// The deletion of the deployment.
    Delete(Force),
}

impl Work {
    /// Sends it once.
    pub(crate) async fn send(
        &self,
        director: &Director,
        call: Call,
        deployment: &DeploymentName,
        context: &ContextId,
    ) -> Result<TaskId, SubmitError> {
        match self {
            Self::Deploy(manifest) => director.deploy(&call, manifest.as_str(), context).await,
            Self::Recreate => director.recreate(&call, deployment, context).await,
            Self::Errand(errand) => run(director, &call, deployment, errand, context).await,
            Self::Delete(force) => director.delete(&call, deployment, *force, context).await,
        }
    }
}

/// The result of searching for a task.
enum Look {
    /// There it is.
    Arrived(TaskId),
    /// The Director has been seen without it for long enough: it did not arrive.
    NotThere,
    /// The Director did not answer, or not for long enough.
    Unclear,
}

/// Sends work under a context id, within the time of the call. When the answer is lost, the tasks of that context show
/// whether it arrived. It is sent again only after the Director has listed no such task for `timeout`.
///
/// `known` is the newest task of the context from before.
pub(crate) async fn submit<F, Answer>(
    director: &Director,
    call: &Call,
    context: &ContextId,
    known: Option<TaskId>,
    timeout: Duration,
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
                .within(left.saturating_sub(timeout).max(left / 3)),
            ..call.clone()
        };
        let lost = match send(sending).await {
            Ok(task) => return Ok(task),
            Err(error @ SubmitError::LostAnswer { .. }) => error,
            Err(error) => return Err(error),
        };
        tracing::warn!(%context, "the Director's answer to a submission was lost, looking for its task");
        match look(director, call, context, known, timeout).await {
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
    timeout: Duration,
) -> Look {
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
                    return Look::Arrived(task);
                }
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
        sleep(LOOK_AGAIN).await;
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
    let selectors: Vec<InstanceSelector> =
        errand.instances.iter().map(|text| selector(text)).collect();
    director
        .run_errand(call, deployment, &name, &selectors, context)
        .await
}

/// `group` or `group/index-or-id`, as the configuration has checked.
fn selector(text: &str) -> InstanceSelector {
    match text.split_once('/') {
        Some((group, id)) => InstanceSelector {
            group: group.to_owned(),
            id: Some(id.to_owned()),
        },
        None => InstanceSelector {
            group: text.to_owned(),
            id: None,
        },
    }
}
