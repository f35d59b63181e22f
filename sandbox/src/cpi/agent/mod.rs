//! Agents: the only access to the processes of a VM. A call to a dead agent ends in [`Unresponsive`] at its timeout
//! (`spec/contracts/director-api.md`, "Deploying": 45 s, and 15 s for a look at the state).
//!
//! | module | contents |
//! | --- | --- |
//! | `jobs` | writes the files of jobs, starts and stops their processes, runs their scripts and errands |
//! | `state` | reports the state of VM and processes |

mod jobs;
mod state;

use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

pub use self::{
    jobs::{ErrandError, ScriptError, StartError},
    state::{
        AgentState, CpuShare, DiskUse, Disks, JobState, MemoryUse, ProcessCpu, ProcessMemory,
        ProcessView, Uptime, Vitals,
    },
};
use super::{Cpi, Vm, table::Condition};

#[derive(Clone, Copy)]
pub struct Agent<'a> {
    cpi: &'a Cpi,
    vm: &'a Vm,
}

/// How long a dead agent is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentTimeouts {
    pub call: Duration,
    /// By a call that wants to know how the VM does.
    pub state: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("agent `{agent_id}` did not answer `{method}` after {} seconds", after.as_secs())]
pub struct Unresponsive {
    pub method: &'static str,
    pub agent_id: Uuid,
    /// How long it was waited for.
    pub after: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum CallError<E: std::error::Error + 'static> {
    #[error(transparent)]
    Unresponsive(#[from] Unresponsive),
    #[error(transparent)]
    Failed(E),
}

impl Default for AgentTimeouts {
    fn default() -> Self {
        Self {
            call: Duration::from_secs(45),
            state: Duration::from_secs(15),
        }
    }
}

impl Cpi {
    pub fn agent<'a>(&'a self, vm: &'a Vm) -> Agent<'a> {
        Agent { cpi: self, vm }
    }
}

impl Agent<'_> {
    /// Whether the agent answers.
    pub async fn ping(&self) -> Result<(), Unresponsive> {
        self.reach("ping", self.cpi.agent_timeouts().call).await
    }

    /// Returns once the agent answers. One that is dead may be revived while it is waited for.
    async fn reach(&self, method: &'static str, after: Duration) -> Result<(), Unresponsive> {
        let deadline = Instant::now() + after;
        loop {
            let revived = self.cpi.inner.revived.notified();
            if self.answers() {
                return Ok(());
            }
            if timeout_at(deadline, revived).await.is_err() {
                return Err(Unresponsive {
                    method,
                    agent_id: self.vm.agent_id,
                    after,
                });
            }
        }
    }

    async fn call(&self, method: &'static str) -> Result<(), Unresponsive> {
        self.reach(method, self.cpi.agent_timeouts().call).await
    }

    fn answers(&self) -> bool {
        let condition = |row: &super::table::VmRow| row.condition == Condition::Well;
        self.cpi
            .inner
            .vms
            .read(|rows| rows.get(&self.vm.cid).is_some_and(condition))
    }
}
