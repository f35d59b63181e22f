//! The instances of a deployment, as their agents report them, and the addresses of its VMs.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use backon::{BackoffBuilder, ExponentialBuilder};
use serde::Deserialize;
use tokio::time::sleep;

use super::{
    DeploymentName, Director, TaskId, TaskState,
    connection::{code, unless_missing},
};
use crate::{http::Call, service_error::Result};

/// The pauses between two polls of a task that asks agents: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The part of a call's time that is reserved for cancelling the task that queries the agents.
const TO_CANCEL: Duration = Duration::from_secs(2);

/// An instance of a deployment and its state (`spec/contracts/director-api.md`, "Reading deployments").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceState {
    pub group: String,
    /// In the group.
    pub index: Option<u64>,
    /// Its UUID; Directors of before 2016 have none.
    pub id: Option<String>,
    /// It should have a VM. One that runs errands gets one when it is needed.
    pub expects_vm: bool,
    /// The desired state: `started`, `stopped` or `detached`.
    pub desired: Option<String>,
    /// The agent's report on its jobs, such as `running` or `failing`, or `unresponsive agent`. Absent without a VM.
    pub reported: Option<String>,
    pub processes: Vec<ProcessState>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ProcessState {
    pub name: String,
    /// Such as `running` or `failing`.
    pub state: String,
}

impl Director {
    /// The states of the instances of a deployment, sorted by group and index; `None` if the deployment does not exist.
    ///
    ///
    /// A task asks the agents. It takes a worker but no lock; it is cancelled if it does not end in time.
    #[tracing::instrument(name = "director.instance_states", skip_all, fields(%deployment))]
    pub async fn instance_states(
        &self,
        call: &Call,
        deployment: &DeploymentName,
    ) -> Result<Option<Vec<InstanceState>>> {
        let segments = ["deployments", deployment.as_str(), "instances"];
        let listed = self.0.read::<Vec<Listed>>(call, &segments, &[]).await;
        let Some(listed) = unless_missing(listed, code::NO_SUCH_DEPLOYMENT)? else {
            return Ok(None);
        };
        let task = self
            .start_reading(call, self.0.address(&segments, &[("format", "full")]))
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

    /// The addresses of a deployment's VMs, by instance group and in the order of the instances' indexes.
    ///
    /// They come from the Director's database, so no task is needed and no agent has to answer. If the Director's list
    /// has no addresses, as in 2016, a task reads them. VMs that are about to replace another are left out.
    #[tracing::instrument(name = "director.vms", skip_all, fields(%deployment))]
    pub async fn vms(
        &self,
        call: &Call,
        deployment: &DeploymentName,
    ) -> Result<BTreeMap<String, Vec<String>>> {
        let segments = ["deployments", deployment.as_str(), "vms"];
        let listed: Vec<Vm> = self.0.read(call, &segments, &[]).await?;
        let are_reported = |vm: &Vm| matches!(vm.ips, Addresses::Reported(_));
        if listed.iter().all(are_reported) {
            return Ok(by_group(listed));
        }
        let task = self
            .start_reading(call, self.0.address(&segments, &[("format", "full")]))
            .await?;
        self.wait_for(call, task).await?;
        Ok(by_group(self.result_lines(call, task).await?))
    }

    /// Waits until a task has ended well.
    async fn wait_for(&self, call: &Call, task: TaskId) -> Result<()> {
        let mut pauses = ExponentialBuilder::default()
            .with_min_delay(FIRST_PAUSE)
            .with_max_delay(LONGEST_PAUSE)
            .without_max_times()
            .build();
        loop {
            let state = self.task(call, task).await?.map(|task| task.state);
            match state {
                Some(TaskState::Done) => return Ok(()),
                Some(state) if !state.is_finished() => {
                    let pause = pauses.next().unwrap_or(LONGEST_PAUSE);
                    sleep(pause.min(call.deadline.remaining())).await;
                }
                Some(_) | None => {
                    let missing = "list of VMs: the task that makes it has failed";
                    return Err(self.result(call, task).await?.lacks(missing));
                }
            }
        }
    }

    async fn reported_by_agents(&self, call: &Call, task: TaskId) -> Result<Vec<AgentReport>> {
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

/// Directors before the VM model of 2017 list the addresses of an instance with each of its VMs.
fn by_group(mut vms: Vec<Vm>) -> BTreeMap<String, Vec<String>> {
    vms.sort_by_key(|vm| vm.index);
    let mut groups = BTreeMap::<String, Vec<String>>::new();
    for vm in vms.into_iter().filter(|vm| vm.active != Some(false)) {
        let Some(group) = vm.group else { continue };
        let addresses = groups.entry(group).or_default();
        if let Addresses::Reported(reported) = vm.ips {
            for address in reported {
                if !addresses.contains(&address) {
                    addresses.push(address);
                }
            }
        }
    }
    groups
}

#[derive(Deserialize)]
struct Vm {
    /// `job` in the list, `job_name` in the answers of agents.
    #[serde(alias = "job", alias = "job_name")]
    group: Option<String>,
    index: Option<u64>,
    #[serde(default)]
    ips: Addresses,
    active: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(from = "Option<Vec<String>>")]
enum Addresses {
    /// The member is absent.
    #[default]
    NotReported,
    /// As far as there are any.
    Reported(Vec<String>),
}

impl From<Option<Vec<String>>> for Addresses {
    fn from(reported: Option<Vec<String>>) -> Self {
        Self::Reported(reported.unwrap_or_default())
    }
}
