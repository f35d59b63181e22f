//! Outages of VMs: agents that die, VMs that are lost, and the return of both.

use super::{
    Cpi, Processes, VmCid,
    supervisor::Order,
    table::{Condition, Wanted},
};

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no VM `{0}`")]
pub struct NoSuchVm(pub VmCid);

impl Cpi {
    /// Kills the agent of a VM: it no longer answers. The processes on the VM keep running.
    pub fn kill_agent(&self, vm: &VmCid) -> Result<(), NoSuchVm> {
        self.befall(vm, Condition::AgentDead)
    }

    /// Loses a VM: all its processes are killed, its agent does not answer, and it appears to be gone. Its disk stays.
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

    /// Revives a VM whose agent died or that was lost. Its processes are started again.
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
