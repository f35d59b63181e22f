//! Errands: run one, read how it went.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{ContextId, DeploymentName, Director, ErrandName, SubmitError, TaskId};
use crate::{
    http::{Call, Method},
    service_error::Result,
};

/// Which instances an errand runs on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InstanceSelector {
    pub group: String,
    /// An instance's UUID or index, or `first`; all of the group if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

#[derive(Clone, PartialEq, Eq)]
pub struct ErrandResult {
    pub group: String,
    /// Its UUID.
    pub instance: String,
    pub errand: String,
    /// The exit code; above 128 the errand was ended by a signal.
    pub exit_code: i64,
    /// Its standard output. It may hold secrets.
    pub stdout: String,
    /// Its standard error. It may hold secrets.
    pub stderr: String,
}

impl ErrandResult {
    /// Whether the errand ended well on this instance.
    pub fn succeeded(&self) -> bool {
        self.exit_code == 0
    }
}

impl Director {
    /// Runs an errand, on all its instances if `instances` is empty.
    ///
    /// An errand or a selector that matches nothing is not refused here: the task fails.
    /// Not repeated: after [`SubmitError::LostAnswer`] look for tasks of `context`.
    #[tracing::instrument(name = "director.run_errand", skip_all, fields(%deployment, %errand, %context))]
    pub async fn run_errand(
        &self,
        call: &Call,
        deployment: &DeploymentName,
        errand: &ErrandName,
        instances: &[InstanceSelector],
        context: &ContextId,
    ) -> Result<TaskId, SubmitError> {
        let path = [
            "deployments",
            deployment.as_str(),
            "errands",
            errand.as_str(),
            "runs",
        ];
        let run = serde_json::json!({
            "keep-alive": false,
            "when-changed": false,
            "instances": instances,
        });
        let body = Some(("application/json", run.to_string().into_bytes()));
        self.submit(
            call,
            Method::POST,
            self.0.address(&path, &[]),
            context,
            body,
        )
        .await
    }

    /// The result of an errand's task, by instance.
    ///
    /// The task of a failed errand ends as [`Done`](super::TaskState::Done), so the caller must read the result. An
    /// empty result means that there was nothing to run, which is a success.
    #[tracing::instrument(name = "director.errand_results", skip_all, fields(bosh.task.id = task.number()))]
    pub async fn errand_results(&self, call: &Call, task: TaskId) -> Result<Vec<ErrandResult>> {
        let results: Vec<WireResult> = self.result_lines(call, task).await?;
        Ok(results.into_iter().map(ErrandResult::from).collect())
    }
}

impl fmt::Debug for ErrandResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrandResult")
            .field("group", &self.group)
            .field("instance", &self.instance)
            .field("errand", &self.errand)
            .field("exit_code", &self.exit_code)
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct WireResult {
    instance: WireInstance,
    errand_name: String,
    exit_code: i64,
    #[serde(default)]
    stdout: String,
    #[serde(default)]
    stderr: String,
}

#[derive(Deserialize)]
struct WireInstance {
    group: String,
    id: String,
}

impl From<WireResult> for ErrandResult {
    fn from(wire: WireResult) -> Self {
        Self {
            group: wire.instance.group,
            instance: wire.instance.id,
            errand: wire.errand_name,
            exit_code: wire.exit_code,
            stdout: wire.stdout,
            stderr: wire.stderr,
        }
    }
}
