//! The instances of a deployment, as their agents report them.

use std::{collections::BTreeSet, time::Duration};

use serde::Deserialize;

use super::{
    DeploymentName, Director, TaskId,
    error::{code, is_missing},
};
use crate::{http::Call, service_error::ServiceError};

/// The part of a call's time that is reserved for cancelling the task that queries the agents.
const TO_CANCEL: Duration = Duration::from_secs(2);

/// An instance of a deployment and its state (`spec/contracts/director-api.md`, "Reading deployments").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceState {
    /// Its instance group.
    pub group: String,
    /// Its number in the group.
    pub index: Option<u64>,
    /// Its UUID; Directors of before 2016 have none.
    pub id: Option<String>,
    /// It should have a VM. One that runs errands gets one when it is needed.
    pub expects_vm: bool,
    /// The desired state: `started`, `stopped` or `detached`.
    pub desired: Option<String>,
    /// The agent's report on its jobs, such as `running` or `failing`, or `unresponsive agent`. Absent without a VM.
    pub reported: Option<String>,
    /// The processes that its agent watches.
    pub processes: Vec<ProcessState>,
}

/// A process of an instance.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ProcessState {
    /// Its name.
    pub name: String,
    /// How it is, such as `running` or `failing`.
    pub state: String,
}

impl Director {
    /// The states of the instances of a deployment, sorted by group and index; `None` if the deployment does not exist.
    /// Safe to repeat.
    ///
    /// A task asks the agents. It takes a worker but no lock; it is cancelled if it does not end in time.
    #[tracing::instrument(name = "director.instance_states", skip_all, fields(deployment = %deployment))]
    pub async fn instance_states(
        &self,
        call: &Call,
        deployment: &DeploymentName,
    ) -> Result<Option<Vec<InstanceState>>, ServiceError> {
        let segments = ["deployments", deployment.as_str(), "instances"];
        let listed: Vec<Listed> = match self.read(call, &segments, &[]).await {
            Ok(listed) => listed,
            Err(error) if is_missing(&error, code::NO_SUCH_DEPLOYMENT) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let task = self
            .start_reading(call, self.address(&segments, &[("format", "full")]))
            .await?;
        let reported = self.reported_by_agents(call, task).await?;
        let without_vm: BTreeSet<_> = listed
            .iter()
            .filter(|instance| instance.expects_vm == Some(false))
            .map(|instance| (instance.job.clone(), instance.index, instance.id.clone()))
            .collect();
        let mut states: Vec<InstanceState> = reported
            .into_iter()
            .map(|reported| {
                let key = (
                    reported.job_name.clone(),
                    reported.index,
                    reported.id.clone(),
                );
                InstanceState {
                    expects_vm: !without_vm.contains(&key),
                    group: reported.job_name.unwrap_or_default(),
                    index: reported.index,
                    id: reported.id,
                    desired: reported.state,
                    reported: reported.job_state,
                    processes: reported.processes.unwrap_or_default(),
                }
            })
            .collect();
        states.sort_by(|a, b| (&a.group, a.index, &a.id).cmp(&(&b.group, b.index, &b.id)));
        Ok(Some(states))
    }

    async fn reported_by_agents(
        &self,
        call: &Call,
        task: TaskId,
    ) -> Result<Vec<AgentReport>, ServiceError> {
        let left = call.deadline.remaining();
        let in_time = Call {
            deadline: call.deadline.within(left.saturating_sub(TO_CANCEL)),
            ..call.clone()
        };
        if let Err(error) = self.wait_for(&in_time, task).await {
            if error.is_timeout()
                && let Err(error) = self.cancel(call, task).await
            {
                // The Director's text is not masked here.
                let code = error.code();
                tracing::debug!(
                    director.code = code,
                    "the task that queries the agents continues; its answer is not needed"
                );
            }
            return Err(error);
        }
        self.result_lines(call, task).await
    }
}

/// From the Director's database.
#[derive(Deserialize)]
struct Listed {
    job: Option<String>,
    index: Option<u64>,
    id: Option<String>,
    expects_vm: Option<bool>,
}

#[derive(Deserialize)]
struct AgentReport {
    job_name: Option<String>,
    index: Option<u64>,
    id: Option<String>,
    job_state: Option<String>,
    state: Option<String>,
    processes: Option<Vec<ProcessState>>,
}
