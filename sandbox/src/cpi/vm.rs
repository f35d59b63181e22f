//! VMs: reserved, created, deleted. Their agents manage the processes on them.

use std::{
    io,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::fs;
use uuid::Uuid;

use super::{
    Cpi, JobName, Lease, NoAddressLeft, NotToBeLent, Processes, ResidualProcessError, VmCid,
    plan::JobPlan, process, program::Launcher, render::JobFolder, supervisor::Order, table::VmRow,
};

const PRIVATE_FOLDER: u32 = 0o700;

/// A VM, or the plan of one. A reserved address is its own as long as a clone of this value lives, that of a VM that
/// was created until the VM is deleted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Vm {
    /// Its id, the name of its folder.
    pub cid: VmCid,
    pub agent_id: Uuid,
    pub created_at: Timestamp,
    address: Ipv4Addr,
    #[serde(skip)]
    lease: Option<Arc<Lease>>,
}

/// A VM or what belongs to it cannot be made, changed or removed.
#[derive(Debug, thiserror::Error)]
pub enum VmError {
    #[error("no address for another VM")]
    Address(#[from] NoAddressLeft),
    #[error("could not {action} `{path}`")]
    File {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("could not end what runs on VM `{vm}`")]
    Residues {
        vm: VmCid,
        #[source]
        source: ResidualProcessError,
    },
}

impl Vm {
    /// The address on which its jobs listen.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    fn new_cid() -> VmCid {
        format!("vm-{}", Uuid::new_v4()).into()
    }

    fn at(lease: Lease) -> Self {
        Self {
            cid: Self::new_cid(),
            agent_id: Uuid::new_v4(),
            created_at: Timestamp::now(),
            address: lease.address(),
            lease: Some(Arc::new(lease)),
        }
    }
}

impl Cpi {
    /// Reserves an address and an id. There is nothing to undo: dropping the value gives the address back.
    pub fn reserve_vm(&self) -> Result<Vm, VmError> {
        Ok(Vm::at(self.inner.addresses.lend()?))
    }

    /// As [`Self::reserve_vm`], with this very address.
    pub fn reserve_vm_at(&self, address: Ipv4Addr) -> Result<Vm, NotToBeLent> {
        self.inner.addresses.lend_exactly(address).map(Vm::at)
    }

    /// Reserves a VM that takes the place of another, at the same address.
    pub fn reserve_successor(&self, vm: &Vm) -> Vm {
        let lease = vm.lease.clone();
        Vm {
            cid: Vm::new_cid(),
            agent_id: Uuid::new_v4(),
            created_at: Timestamp::now(),
            address: vm.address,
            lease: lease.or_else(|| self.inner.vms.find(&vm.cid)?.lease),
        }
    }

    /// Creates a VM that was reserved. It is known before it has a folder: a worker that dies in between leaves no
    /// folder that belongs to no VM.
    pub async fn create_vm(&self, vm: &Vm) -> Result<(), VmError> {
        let row = VmRow::new(vm.agent_id, vm.created_at, vm.address, vm.lease.clone());
        self.inner.vms.insert(vm.cid.clone(), row);
        if self.inner.processes == Processes::Real
            && let Err(error) = self.create_folder(&self.vm_folder(&vm.cid)).await
        {
            self.inner.vms.remove(&vm.cid);
            return Err(error);
        }
        Ok(())
    }

    /// Stops what runs on a VM and removes it; its disk is detached and stays. Deleting what is not there is no error.
    pub async fn delete_vm(&self, vm: &VmCid) -> Result<(), VmError> {
        self.end_processes(vm, Order::Stop).await;
        if self.inner.processes == Processes::Real {
            self.end_residual_processes(vm).await?;
            removed(self.vm_folder(vm)).await?;
        }
        self.inner.vms.remove(vm);
        Ok(())
    }

    /// Whether there is this VM. One that was lost is not there.
    pub fn has_vm(&self, vm: &VmCid) -> bool {
        let found = self.inner.vms.find(vm);
        found.is_some_and(|row| row.condition != super::table::Condition::Lost)
    }

    /// The VMs that were created and not deleted.
    pub fn vms(&self) -> Vec<VmCid> {
        self.inner.vms.read(|rows| rows.keys().cloned().collect())
    }

    /// The folder of one job, as templates see it.
    pub fn job_facts(&self, vm: &VmCid, job: &JobName) -> JobFolder {
        JobFolder {
            folder: self.job_folder(vm, job).display().to_string(),
        }
    }

    /// The folder for data: that of the disk if there is one, otherwise a folder that is deleted with the VM.
    pub fn data_folder(&self, vm: &VmCid) -> PathBuf {
        self.vm_folder(vm).join("data")
    }

    /// Ends what jobs have left running that does not belong to any process that we watch.
    pub(super) async fn end_residual_processes(&self, vm: &VmCid) -> Result<(), VmError> {
        let folder = self.vm_folder(vm);
        let ended = tokio::task::spawn_blocking(move || process::end_processes(&folder, |_| false));
        let ended = ended.await.unwrap_or_else(|broken| {
            tracing::error!(error = %broken, "looking for left processes broke");
            Ok(())
        });
        ended.map_err(|source| VmError::Residues {
            vm: vm.clone(),
            source,
        })
    }

    pub(super) fn launcher(&self, vm: &VmCid, job: &JobPlan) -> Launcher {
        Launcher {
            programs: Arc::clone(&self.inner.programs),
            requirements: job.requirements.clone(),
            folder: self.job_folder(vm, &job.name),
        }
    }

    pub(super) async fn create_folder(&self, path: &Path) -> Result<(), VmError> {
        let created = fs::DirBuilder::new()
            .mode(PRIVATE_FOLDER)
            .recursive(true)
            .create(path)
            .await;
        created.map_err(failed_to("create", path))?;
        self.give_to_user(path)
    }

    pub(super) fn give_to_user(&self, path: &Path) -> Result<(), VmError> {
        let given = self.inner.programs.give_to_user(path);
        given.map_err(failed_to("give away", path))
    }

    pub(super) fn vm_folder(&self, vm: &VmCid) -> PathBuf {
        super::vms_folder(&self.inner.folder).join(vm.as_ref())
    }

    pub(super) fn jobs_folder(&self, vm: &VmCid) -> PathBuf {
        self.vm_folder(vm).join("jobs")
    }

    pub(super) fn job_folder(&self, vm: &VmCid, job: &JobName) -> PathBuf {
        self.jobs_folder(vm).join(job.as_ref())
    }

    pub(super) fn log_file(&self, vm: &VmCid, job: &JobName, what: &str) -> PathBuf {
        let folder = self.vm_folder(vm).join("log").join(job.as_ref());
        folder.join(format!("{what}.log"))
    }
}

pub(super) async fn removed(folder: PathBuf) -> Result<(), VmError> {
    match fs::remove_dir_all(&folder).await {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(failed_to("remove", &folder)(source))
        }
        _ => Ok(()),
    }
}

pub(super) fn failed_to(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> VmError + use<> {
    let path = path.to_owned();
    move |source| VmError::File {
        action,
        path,
        source,
    }
}
