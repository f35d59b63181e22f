//! Sets the CPI up, and takes over from an earlier sandbox: its VMs, its disks, and the processes that still run.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, RwLock},
};

use tokio::{runtime::Handle, sync::Notify};

use super::{
    AddressPool, AgentTimeouts, Cpi, Inner, JobCatalog, JobUserError, NotToBeLent, Processes,
    ResidualProcessError, VmCid, disks_folder,
    process::{Process, end_processes, remove_entries},
    program::{JobUser, Programs},
    table::{Condition, DiskTable, VmRow, VmTable, Wanted},
    vms_folder,
};
use crate::store::{Store, StoreError};

#[derive(Clone, Debug)]
pub struct CpiSettings {
    pub catalog: JobCatalog,
    pub folder: PathBuf,
    pub addresses: AddressPool,
    /// Whether VMs have processes.
    pub processes: Processes,
    /// As whom processes run, which takes root; or else as the calling user.
    pub job_user: Option<String>,
    /// How long dead agents are waited for.
    pub agent_timeouts: AgentTimeouts,
}

/// The CPI cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum CpiError {
    #[error("could not use the folder `{folder}`")]
    Folder {
        folder: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("could not read which VMs there are")]
    Store(#[from] StoreError),
    #[error("could not clean up after an earlier sandbox")]
    Residues(#[from] ResidualProcessError),
    #[error(
        "could not give VM `{vm}` its address back; start with the same net, with or without processes as before"
    )]
    Address {
        vm: VmCid,
        #[source]
        source: NotToBeLent,
    },
    #[error("processes cannot run as the job user")]
    User(#[from] JobUserError),
}

/// Ends all processes that a sandbox left running in this state folder, and removes its VMs and disks. Blocks until
/// that is done. No sandbox may be using the folder.
pub fn remove_state(folder: &Path) -> Result<(), ResidualProcessError> {
    // A folder that is not there is shown by no process.
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    end_processes(&vms_folder(&folder), |_| false)?;
    for part in [vms_folder(&folder), disks_folder(&folder)] {
        remove_entries(&part, |_| false)?;
    }
    Ok(())
}

/// Makes the folders. Returns the state folder as `/proc` shows it, without links in its path.
fn prepare(folder: &Path, user: Option<JobUser>) -> Result<PathBuf, CpiError> {
    let unusable = |source| CpiError::Folder {
        folder: folder.to_owned(),
        source,
    };
    for part in [vms_folder(folder), disks_folder(folder)] {
        std::fs::create_dir_all(&part).map_err(unusable)?;
    }
    let folder = folder.canonicalize().map_err(unusable)?;
    if let Some(user) = user {
        user.check_way_to(&folder)?;
    }
    Ok(folder)
}

impl Cpi {
    /// A CPI that keeps its VMs and disks in `store`. Processes of an earlier sandbox on known VMs are adopted, or
    /// started again when they have ended; all other processes and folders of it are removed. The runtime of the caller
    /// supervises the processes.
    pub fn new(settings: CpiSettings, store: &Store) -> Result<Self, CpiError> {
        let user = settings.job_user.map(JobUser::find).transpose()?;
        let folder = match settings.processes {
            Processes::Real => prepare(&settings.folder, user)?,
            Processes::None => settings.folder,
        };
        let cpi = Self {
            inner: Arc::new(Inner {
                catalog: RwLock::new(settings.catalog),
                folder,
                addresses: settings.addresses,
                processes: settings.processes,
                programs: Arc::new(Programs::new(user)),
                timeouts: Mutex::new(settings.agent_timeouts),
                runtime: Handle::current(),
                vms: Arc::new(VmTable::open(store)?),
                disks: DiskTable::open(store)?,
                supervised: Mutex::default(),
                revived: Notify::new(),
            }),
        };
        cpi.take_over()?;
        Ok(cpi)
    }

    /// Gives the VMs of an earlier sandbox their addresses back, and looks after their processes again.
    fn take_over(&self) -> Result<(), CpiError> {
        let rows: Vec<(VmCid, VmRow)> = self.inner.vms.read(|rows| {
            let rows = rows.iter();
            rows.map(|(vm, row)| (vm.clone(), row.clone())).collect()
        });
        for (vm, row) in &rows {
            let lease = self.inner.addresses.lend_exactly(row.address);
            let lease = lease.map_err(|source| CpiError::Address {
                vm: vm.clone(),
                source,
            })?;
            self.inner
                .vms
                .change(vm, |row| row.lease = Some(Arc::new(lease)));
        }
        self.end_foreign_processes(&rows)?;
        for (vm, row) in &rows {
            if self.runs(row) {
                self.resume_processes(vm, row);
            }
        }
        Ok(())
    }

    /// Ends and removes what belongs to no VM, no disk, or to nothing that is to run.
    fn end_foreign_processes(&self, rows: &[(VmCid, VmRow)]) -> Result<(), ResidualProcessError> {
        let mut known: BTreeSet<PathBuf> = BTreeSet::new();
        for (vm, row) in rows.iter().filter(|(_, row)| self.runs(row)) {
            for job in &row.jobs {
                let processes = job.processes.iter();
                let alive = processes.filter(|process| {
                    let identity = row.identity(&job.key(process));
                    // Found and let go: it is taken over later.
                    identity
                        .and_then(Process::known)
                        .map(Process::let_go)
                        .is_some()
                });
                let logs = alive.map(|process| self.log_file(vm, &job.name, process.name.as_ref()));
                known.extend(logs);
            }
        }
        let folder = &self.inner.folder;
        end_processes(&vms_folder(folder), |owner| known.contains(owner))?;
        remove_entries(&vms_folder(folder), |name| {
            self.inner.vms.read(|rows| rows.contains_key(name))
        })?;
        remove_entries(&disks_folder(folder), |name| {
            self.inner.disks.read(|rows| rows.contains_key(name))
        })
    }

    fn runs(&self, row: &VmRow) -> bool {
        self.inner.processes == Processes::Real
            && row.wanted == Wanted::Running
            && row.condition != Condition::Lost
    }
}
