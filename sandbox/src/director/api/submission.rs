//! From a call to a task in the queue.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse};
use serde_json::{Map, Value};

use super::{Rejection, answer, caller::Caller};
use crate::director::{
    Director,
    deployments::Deployment,
    ids::{ContextId, DeploymentName, TeamName},
    ruby,
    tasks::{NewTask, TaskKind, Work},
};

const CONTEXT_ID: &str = "X-Bosh-Context-Id";
const CONTEXT_ID_LIMIT: usize = 64;

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
) -> Result<HttpResponse, Rejection> {
    let new = NewTask {
        kind: submission.kind,
        description: submission.description,
        user: caller.user,
        deployment: submission.deployment,
        context_id: submission.context_id,
        teams: submission.teams,
    };
    let task = director.inner.tasks.create(new, submission.work);
    director.inner.queue.add(task)?;
    Ok(answer::task_begun(
        request,
        director.inner.settings.front_end,
        task,
    ))
}

pub(super) fn context_id(request: &HttpRequest) -> Result<ContextId, Rejection> {
    let header = request.headers().get(CONTEXT_ID);
    let text = header
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if text.chars().count() > CONTEXT_ID_LIMIT {
        return Err(Rejection::ContextIdTooLong);
    }
    Ok(text.to_owned().into())
}

/// The deployment in a path, as it is now. Whether it exists comes before whether the caller may know.
pub(super) fn deployment(
    director: &Director,
    name: String,
) -> Result<(DeploymentName, Arc<Deployment>), Rejection> {
    let name = DeploymentName::from(name);
    match director.inner.deployments.find(name.as_ref()) {
        Some(row) => Ok((name, row)),
        None => Err(Rejection::NoSuchDeployment(name)),
    }
}

/// A manifest that was sent: the checks that are made before there is a task.
pub(super) struct SentManifest {
    pub(super) text: String,
    pub(super) document: Map<String, Value>,
}

impl SentManifest {
    pub(super) fn read(body: &[u8]) -> Result<Self, Rejection> {
        let text = String::from_utf8_lossy(body).into_owned();
        if text.is_empty() {
            return Err(Rejection::EmptyManifest);
        }
        match ruby::from_str(&text).map_err(Rejection::ManifestNotYaml)? {
            Value::Object(document) => Ok(Self { text, document }),
            _ => Err(Rejection::ManifestNotAHash),
        }
    }

    /// The deployment that it is for. A name that the Director's model refuses, and one that is no text, ends in an
    /// exception (cloudfoundry/bosh, `models/deployment.rb`).
    pub(super) fn name(&self) -> Result<DeploymentName, Rejection> {
        match self.document.get("name") {
            None | Some(Value::Null | Value::Bool(false)) => Err(Rejection::ManifestWithoutName),
            Some(Value::String(name)) if is_valid_id(name) => Ok(name.clone().into()),
            Some(_) => Err(Rejection::Unreadable),
        }
    }
}

/// The Director's `VALID_ID` (cloudfoundry/bosh, `lib/bosh/director/models.rb`).
fn is_valid_id(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_+.".contains(&byte);
    !name.is_empty() && name.bytes().all(is_allowed)
}

/// Whether a switch in a query is set: to exactly `true`.
pub(super) fn is_set(switch: Option<&String>) -> bool {
    switch.is_some_and(|value| value == "true")
}
