//! The VMs of a deployment.

use std::{collections::BTreeMap, time::Duration};

use backon::{BackoffBuilder, ExponentialBuilder};
use serde::Deserialize;
use tokio::time::sleep;

use super::{DeploymentName, Director, TaskId, TaskState};
use crate::{http::Call, service_error::ServiceError};

/// The pauses between two polls of a task that asks agents: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

impl Director {
    /// The addresses of a deployment's VMs, by instance group and in the order of the instances' indexes. Safe to
    /// repeat.
    ///
    /// They come from the Director's database, so no task is needed and no agent has to answer. If the Director's list
    /// has no addresses, as in 2016, a task reads them. VMs that are about to replace another are left out.
    #[tracing::instrument(name = "director.vms", skip_all, fields(deployment = %deployment))]
    pub async fn vms(
        &self,
        call: &Call,
        deployment: &DeploymentName,
    ) -> Result<BTreeMap<String, Vec<String>>, ServiceError> {
        let segments = ["deployments", deployment.as_str(), "vms"];
        let listed: Vec<Vm> = self.read(call, &segments, &[]).await?;
        let are_reported = |vm: &Vm| matches!(vm.ips, Addresses::Reported(_));
        if listed.iter().all(are_reported) {
            return Ok(by_group(listed));
        }
        let task = self
            .start_reading(call, self.address(&segments, &[("format", "full")]))
            .await?;
        self.wait_for(call, task).await?;
        Ok(by_group(self.result_lines(call, task).await?))
    }

    /// Waits until a task has ended well.
    pub(super) async fn wait_for(&self, call: &Call, task: TaskId) -> Result<(), ServiceError> {
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
