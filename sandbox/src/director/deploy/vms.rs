//! The VMs and disks of instances: reserved, created, replaced, deleted, and recorded with their instance.

use std::net::Ipv4Addr;

use super::{
    error::ManifestError,
    plan::PlannedDisk,
    target::{DiskPlan, TargetInstance},
};
use crate::{
    cpi::{DiskError, DiskOwner, Vm},
    director::{
        audit::Deed,
        deployments::{Instance, PersistentDisk},
        tasks::{TaskFailure, TaskRun, chain},
    },
};

/// Whether the agent of a VM answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agent {
    Answers,
    Silent,
}

/// Reserves a VM for an instance: at the address that the manifest wants, at that of its last VM if that is free, or
/// else at any.
pub(super) fn reserve(
    run: &TaskRun,
    instance: &Instance,
    static_address: Option<Ipv4Addr>,
) -> Result<Vm, TaskFailure> {
    let cpi = &run.director.inner.cpi;
    if let Some(address) = static_address {
        return cpi.reserve_vm_at(address).map_err(|_| {
            ManifestError::StaticAddressTaken {
                address,
                instance: instance.label(),
            }
            .into()
        });
    }
    if let Some(vm) = instance
        .address
        .and_then(|address| cpi.reserve_vm_at(address).ok())
    {
        return Ok(vm);
    }
    cpi.reserve_vm().map_err(TaskFailure::create_vm)
}

pub(super) async fn create(run: &TaskRun, target: &TargetInstance) -> Result<(), TaskFailure> {
    let director = &run.director.inner;
    run.log_cpi("create_vm");
    let begun = run.record(Deed::new("create", "vm").on(target.name()));
    // Recorded before the VM exists, so that a worker that dies in between leaves no VM without an instance.
    director
        .deployments
        .update_instance(&run.deployment, target.id, |instance| {
            instance.vm = Some(target.vm.clone());
            instance.address = Some(target.vm.address());
            instance.vips.clone_from(&target.vips);
            instance.spec = Some(target.spec.clone());
            instance.machine = Some(target.machine.clone());
            instance.applied = None;
        });
    let created = director.cpi.create_vm(&target.vm).await;
    let created = created.map_err(TaskFailure::create_vm);
    run.record(
        Deed::new("create", "vm")
            .named(&target.vm.cid)
            .on(target.name())
            .after(begun)
            .ended(&created),
    );
    if created.is_err() {
        director
            .deployments
            .update_instance(&run.deployment, target.id, |instance| instance.vm = None);
    }
    created?;
    run.log_cpi("set_vm_metadata");
    Ok(())
}

pub(super) async fn delete(
    run: &TaskRun,
    target: &TargetInstance,
    vm: &Vm,
) -> Result<(), TaskFailure> {
    delete_recorded(run, vm, &target.name()).await?;
    let deployments = &run.director.inner.deployments;
    deployments.update_instance(&run.deployment, target.id, |instance| {
        instance.vm = None;
        instance.applied = None;
    });
    Ok(())
}

/// Deletes a VM, which is that of the instance `group/id`.
pub(super) async fn delete_recorded(
    run: &TaskRun,
    vm: &Vm,
    instance: &str,
) -> Result<(), TaskFailure> {
    run.log_cpi("delete_vm");
    let deed = || Deed::new("delete", "vm").named(&vm.cid).on(instance);
    let begun = run.record(deed());
    let deleted = run.director.inner.cpi.delete_vm(&vm.cid).await;
    let deleted = deleted.map_err(TaskFailure::delete_vm);
    run.record(deed().after(begun).ended(&deleted));
    deleted
}

/// Gives the VM of an instance the disk that it is to have. Data moves from the former disk to a new one.
pub(super) async fn settle_disk(run: &TaskRun, target: &TargetInstance) -> Result<(), TaskFailure> {
    let previous = target.disk.as_ref();
    let cpi = &run.director.inner.cpi;
    match &target.disk_plan {
        DiskPlan::Keep => match previous {
            Some(disk) => attach(run, target, disk).await,
            None => Ok(()),
        },
        DiskPlan::Create(wanted) => {
            let new = new_disk(run, target, wanted);
            if let Some(previous) = previous {
                let detached = cpi.detach_disk(&target.vm.cid, &previous.cid).await;
                detached.map_err(disk_failed)?;
                let moved = cpi.migrate_disk(&previous.cid, &new.cid).await;
                moved.map_err(disk_failed)?;
            }
            attach(run, target, &new).await?;
            record_disk(run, target, Some(new));
            orphan(run, target);
            Ok(())
        }
        DiskPlan::Remove => {
            if let Some(previous) = previous {
                let detached = cpi.detach_disk(&target.vm.cid, &previous.cid).await;
                detached.map_err(disk_failed)?;
            }
            record_disk(run, target, None);
            orphan(run, target);
            Ok(())
        }
    }
}

/// Marks the disk of a deleted instance as an orphan.
pub(super) fn orphan_disk(run: &TaskRun, instance: &Instance) {
    if let Some(disk) = &instance.disk {
        let owner = DiskOwner {
            az: instance.az.clone(),
            deployment_name: run.deployment.to_string(),
            instance_name: instance.name(),
        };
        run.director.inner.cpi.orphan_disk(&disk.cid, owner);
    }
}

fn new_disk(run: &TaskRun, target: &TargetInstance, wanted: &PlannedDisk) -> PersistentDisk {
    let begun = run.record(Deed::new("create", "disk").on(target.name()));
    run.log_cpi("create_disk");
    let cid = run.director.inner.cpi.create_disk(wanted.size);
    run.record(
        Deed::new("create", "disk")
            .named(&cid)
            .on(target.name())
            .after(begun),
    );
    PersistentDisk {
        cid,
        size: wanted.size,
        cloud_properties: wanted.cloud_properties.clone(),
    }
}

async fn attach(
    run: &TaskRun,
    target: &TargetInstance,
    disk: &PersistentDisk,
) -> Result<(), TaskFailure> {
    let cpi = &run.director.inner.cpi;
    run.log_cpi("attach_disk");
    let attached = cpi.attach_disk(&target.vm.cid, &disk.cid).await;
    attached.map_err(disk_failed)?;
    run.log_cpi("set_disk_metadata");
    Ok(())
}

fn record_disk(run: &TaskRun, target: &TargetInstance, disk: Option<PersistentDisk>) {
    let deployments = &run.director.inner.deployments;
    deployments.update_instance(&run.deployment, target.id, |instance| instance.disk = disk);
}

fn orphan(run: &TaskRun, target: &TargetInstance) {
    if let Some(disk) = &target.disk {
        let owner = DiskOwner {
            az: target.az.clone(),
            deployment_name: run.deployment.to_string(),
            instance_name: target.name(),
        };
        run.director.inner.cpi.orphan_disk(&disk.cid, owner);
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn disk_failed(error: DiskError) -> TaskFailure {
    TaskFailure::Unexpected(chain(&error))
}
