//! What can befall VMs from outside: agents that die, VMs that are lost, and both coming back.

use super::{
    Cpi, Processes, VmCid,
    supervisor::Order,
    table::{Condition, Wanted},
};

/// There is no VM of this id.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no VM `{0}`")]
pub struct NoSuchVm(pub VmCid);

impl Cpi {
    /// Kills the agent of a VM: it no longer answers. What runs on the VM goes on.
    pub fn kill_agent(&self, vm: &VmCid) -> Result<(), NoSuchVm> {
        self.befall(vm, Condition::AgentDead)
    }

    /// Loses a VM: everything on it is killed, nobody answers, and it is as if it were not there. Its disk stays.
    pub async fn kill_vm(&self, vm: &VmCid) -> Result<(), NoSuchVm> {
        self.befall(vm, Condition::Lost)?;
        self.end_processes(vm, Order::Kill).await;
        if self.inner.processes == Processes::Real
            && let Err(error) = self.end_residual_processes(vm).await
        {
            tracing::warn!(%vm, %error, "something outlives its VM");
        }
        Ok(())
    }

    /// Brings a VM back whose agent died or that was lost. What was running on it is started again.
    pub fn revive(&self, vm: &VmCid) -> Result<(), NoSuchVm> {
        let before = self.inner.vms.find(vm);
        let before = before.ok_or_else(|| NoSuchVm(vm.clone()))?;
        self.befall(vm, Condition::Well)?;
        if before.condition == Condition::Lost
            && before.wanted == Wanted::Running
            && self.inner.processes == Processes::Real
        {
            self.resume_processes(vm, &before);
        }
        self.inner.revived.notify_waiters();
        Ok(())
    }

    fn befall(&self, vm: &VmCid, condition: Condition) -> Result<(), NoSuchVm> {
        let changed = self.inner.vms.change(vm, |row| row.condition = condition);
        changed.ok_or_else(|| NoSuchVm(vm.clone()))
    }
}
