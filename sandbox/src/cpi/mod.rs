//! The process CPI: a "VM" is an address of its own and a folder, a job on it is made of real processes.
//!
//! ```text
//! <folder>/vms/<cid>/jobs/<job>/  rendered files
//! <folder>/vms/<cid>/log/<job>/   the output of its processes and scripts
//! <folder>/vms/<cid>/data         data: a link to the disk, or a folder that is deleted with the VM
//! <folder>/disks/<disk>/          persistent data, kept until the disk is deleted
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | [`catalog`] | reads the available jobs |
//! | [`addresses`] | assigns addresses to VMs |
//! | [`render`], [`plan`] | renders a job's files and command lines from its templates |
//! | [`vm`], [`disks`] | creates, attaches, deletes |
//! | [`agent`] | the only access to the processes of a VM: applies, starts, stops and inspects jobs |
//! | [`supervisor`], [`process`] | one long-lived process: kept running, watched, stopped, reaped |
//! | [`finite`] | one program that runs to its end: errands and scripts |
//! | [`program`] | how programs are found, and their users |
//! | [`table`] | the state that survives a restart |
//! | [`start`], [`process`] | adopts the processes of an earlier sandbox, ends those that belong to nothing |
//! | [`outage`] | agents and VMs that die |
//! | [`dns`] | names as BOSH DNS answers them |

mod addresses;
mod agent;
mod catalog;
mod disks;
mod dns;
mod finite;
mod outage;
mod plan;
mod process;
mod program;
mod render;
mod start;
mod supervisor;
mod table;
mod vm;

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use tokio::{runtime::Handle, sync::Notify};

pub(crate) use self::table::text_types;
pub use self::{
    addresses::{AddressPool, Lease, NoAddressLeft, NotToBeLent},
    agent::{
        Agent, AgentState, AgentTimeouts, CallError, CpuShare, DiskUse, Disks, ErrandError,
        JobState, MemoryUse, ProcessCpu, ProcessMemory, ProcessView, ScriptError, StartError,
        Unresponsive, Uptime, Vitals,
    },
    catalog::{
        AsRoot, CatalogError, Consumed, Job, JobCatalog, Process, Program, Property, Provided,
        Requirements, Script, StopSignal, Template,
    },
    disks::{DiskError, DiskOwner, OrphanedDisk},
    dns::{BoshName, DnsRecord, NotABoshName, dns_label},
    finite::ErrandOutput,
    outage::NoSuchVm,
    process::ResidualProcessError,
    program::JobUserError,
    program::LaunchError,
    render::{InstanceFacts, JobContext, JobFolder, RenderError, RenderedJob, render},
    start::{CpiError, CpiSettings, remove_state},
    supervisor::ProcessState,
    table::{DiskCid, JobName, ProcessName, VmCid},
    vm::{Vm, VmError},
};
use self::{
    plan::ProcessKey,
    program::Programs,
    supervisor::{Order, Supervisor},
    table::{DiskTable, VmTable},
};

/// Whether VMs have processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processes {
    /// Every job is made of real processes.
    Real,
    /// VMs are addresses that nothing listens on; errands succeed at once.
    None,
}

/// How processes are treated when the CPI is shut down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// They are stopped. Those of a state that is kept are started again at the next start.
    StopProcesses,
    LeaveProcesses,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// VMs that were created and not deleted.
    pub vms: usize,
    /// Disks, the orphaned included.
    pub disks: usize,
    pub processes: usize,
}

/// Makes VMs of addresses, folders and processes. A clone is the same CPI.
#[derive(Clone)]
pub struct Cpi {
    inner: Arc<Inner>,
}

struct Inner {
    catalog: RwLock<JobCatalog>,
    folder: PathBuf,
    addresses: AddressPool,
    processes: Processes,
    programs: Arc<Programs>,
    timeouts: Mutex<AgentTimeouts>,
    runtime: Handle,
    vms: Arc<VmTable>,
    disks: DiskTable,
    supervised: Mutex<Supervised>,
    /// Notified when an agent comes back.
    revived: Notify,
}

type Supervised = HashMap<VmCid, BTreeMap<ProcessKey, Supervisor>>;

impl Cpi {
    /// The jobs that VMs can run from now on, as far as is known now.
    pub fn catalog(&self) -> JobCatalog {
        let catalog = self.inner.catalog.read();
        catalog.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the jobs that VMs can run. Running jobs stay unchanged until they are deployed again.
    pub fn set_catalog(&self, catalog: JobCatalog) {
        let current = self.inner.catalog.write();
        *current.unwrap_or_else(PoisonError::into_inner) = catalog;
    }

    pub fn count(&self) -> Count {
        Count {
            vms: self.inner.vms.read(BTreeMap::len),
            disks: self.inner.disks.read(BTreeMap::len),
            processes: self.supervised(|all| all.values().map(BTreeMap::len).sum()),
        }
    }

    /// How long dead agents are waited for.
    pub fn agent_timeouts(&self) -> AgentTimeouts {
        *self.locked_timeouts()
    }

    /// Changes how long dead agents are waited for, by the next call.
    pub fn set_agent_timeouts(&self, timeouts: AgentTimeouts) {
        *self.locked_timeouts() = timeouts;
    }

    /// Stops supervising processes, and returns when that is done. Folders and the state of VMs stay.
    pub async fn shut_down(&self, how: Shutdown) {
        let order = match how {
            Shutdown::StopProcesses => Order::Stop,
            Shutdown::LeaveProcesses => Order::LetGo,
        };
        let all: Vec<_> = self.supervised(|all| all.drain().collect());
        let supervisors = all.into_iter().flat_map(|(_, all)| all.into_values());
        futures_util::future::join_all(supervisors.map(|supervisor| supervisor.end(order))).await;
    }

    /// Ends and deletes all VMs and all disks.
    pub async fn delete_everything(&self) -> Result<(), DiskError> {
        for vm in self.vms() {
            self.delete_vm(&vm).await.map_err(DiskError::File)?;
        }
        let disks: Vec<DiskCid> = self.inner.disks.read(|rows| rows.keys().cloned().collect());
        for disk in disks {
            self.delete_disk(&disk).await?;
        }
        Ok(())
    }

    fn keep(&self, vm: &VmCid, key: ProcessKey, supervisor: Supervisor) {
        self.supervised(|all| {
            all.entry(vm.clone()).or_default().insert(key, supervisor);
        });
    }

    fn supervised<T>(&self, use_them: impl FnOnce(&mut Supervised) -> T) -> T {
        let lock = self.inner.supervised.lock();
        use_them(&mut lock.unwrap_or_else(PoisonError::into_inner))
    }

    fn locked_timeouts(&self) -> std::sync::MutexGuard<'_, AgentTimeouts> {
        let lock = self.inner.timeouts.lock();
        lock.unwrap_or_else(PoisonError::into_inner)
    }
}

fn vms_folder(folder: &Path) -> PathBuf {
    folder.join("vms")
}

fn disks_folder(folder: &Path) -> PathBuf {
    folder.join("disks")
}
