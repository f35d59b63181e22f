//! From a call to a task in the queue.

use actix_web::{HttpRequest, HttpResponse};

use super::{Refusal, answer, caller::Caller};
use crate::director::{
    Director,
    deployments::Deployment,
    ids::{ContextId, DeploymentName, TeamName},
    tasks::{NewTask, Queued, TaskKind, Work},
};

const CONTEXT_ID: &str = "X-Bosh-Context-Id";
const CONTEXT_ID_LIMIT: usize = 64;

/// What a call asks to be worked on.
pub(super) struct Submission {
    pub(super) kind: TaskKind,
    pub(super) description: String,
    pub(super) deployment: DeploymentName,
    pub(super) teams: Vec<TeamName>,
    pub(super) context_id: ContextId,
    pub(super) work: Work,
}

/// Queues a task, and answers with where it is.
pub(super) fn submit(
    director: &Director,
    request: &HttpRequest,
    caller: Caller,
    submission: Submission,
) -> Result<HttpResponse, Refusal> {
    let task = director.inner.tasks.create(NewTask {
        kind: submission.kind,
        description: submission.description,
        user: caller.user,
        deployment: submission.deployment.clone(),
        context_id: submission.context_id,
        teams: submission.teams,
    });
    director.inner.queue.add(Queued {
        task,
        deployment: submission.deployment,
        work: submission.work,
    })?;
    Ok(answer::task_begun(request, task))
}

/// What the caller calls this request by.
pub(super) fn context_id(request: &HttpRequest) -> Result<ContextId, Refusal> {
    let header = request.headers().get(CONTEXT_ID);
    let text = header
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if text.chars().count() > CONTEXT_ID_LIMIT {
        return Err(Refusal::ContextIdTooLong);
    }
    Ok(text.to_owned().into())
}

/// The deployment in a path. Whether it exists comes before whether the caller may know.
pub(super) fn deployment(
    director: &Director,
    name: String,
) -> Result<(DeploymentName, Deployment), Refusal> {
    let name = DeploymentName::from(name);
    match director.inner.deployments.find(name.as_ref()) {
        Some(row) => Ok((name, row)),
        None => Err(Refusal::NoSuchDeployment(name)),
    }
}
