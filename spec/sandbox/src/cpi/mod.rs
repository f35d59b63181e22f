//! The process CPI: a "VM" is an address of its own and a folder, a job on it is a real process.
//!
//! ```text
//! <folder>/vms/<cid>/jobs/<job>/        rendered files, log of the job's process
//! <folder>/vms/<cid>/data/              data of a VM without a persistent disk
//! <folder>/vms/<cid>/<job>.process.json pid and start time of the job's process
//! <folder>/disks/<disk>/                persistent data, kept until the disk is deleted
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | [`catalog`] | reads which jobs there are |
//! | [`addresses`] | lends addresses to VMs |
//! | [`render`] | makes a job's files and command line from its templates |
//! | [`vm`] | places jobs on a VM, starts and stops them, deletes it |
//! | [`process`] | one long-lived process: started in a group of its own, watched, stopped, reaped |
//! | [`readiness`] | when a process that was started is ready |
//! | [`errand`] | one program that runs to its end |
//! | [`program`], [`user`] | where programs are found and as whom they run |
//! | [`leftovers`] | ends what an earlier sandbox left running |

mod addresses;
mod catalog;
mod errand;
mod leftovers;
mod names;
mod process;
mod program;
mod readiness;
mod render;
mod user;
mod vm;

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

pub(crate) use self::names::text_types;
pub use self::{
    addresses::{AddressPool, Lease, NoAddressLeft},
    catalog::{
        CatalogError, Consumed, Errand, Job, JobCatalog, Process, Property, Provided, Run, Template,
    },
    errand::{ErrandError, ErrandOutput},
    leftovers::LeftoverError,
    names::{DiskCid, JobName, VmCid},
    program::MissingProgram,
    render::{InstanceFacts, JobContext, JobFolder, RenderError, RenderedJob, render},
    user::JobUserError,
    vm::{StartError, Vm, VmError},
};
use self::{process::RunningProcess, program::SearchPath, user::JobUser};

/// Whether VMs have processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processes {
    /// Every job is a real process.
    Real,
    /// VMs are addresses that nothing listens on; errands succeed at once.
    None,
}

/// Makes VMs of addresses, folders and processes. A clone is the same CPI.
#[derive(Clone)]
pub struct Cpi {
    inner: Arc<Inner>,
}

struct Inner {
    catalog: JobCatalog,
    folder: PathBuf,
    addresses: AddressPool,
    processes: Processes,
    user: Option<JobUser>,
    search_path: SearchPath,
    running: Mutex<HashMap<VmCid, Vec<RunningProcess>>>,
}

/// The CPI cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum CpiError {
    /// The state folder cannot be made or used.
    #[error("could not use the folder `{folder}`")]
    Folder {
        /// Which.
        folder: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// What an earlier sandbox left running could not be ended.
    #[error("could not clean up after an earlier sandbox")]
    Leftovers(#[from] LeftoverError),
    /// Processes cannot run as the user that was asked for.
    #[error("processes cannot run as the job user")]
    User(#[from] JobUserError),
}

impl Cpi {
    /// A CPI that keeps its VMs and disks in `folder`. Processes run as `job_user`, which takes
    /// root, or else as the calling user. VMs that an earlier sandbox left there are ended and deleted.
    pub fn new(
        catalog: JobCatalog,
        folder: PathBuf,
        addresses: AddressPool,
        processes: Processes,
        job_user: Option<String>,
    ) -> Result<Self, CpiError> {
        let folder = match std::path::absolute(&folder) {
            Ok(folder) => folder,
            Err(source) => return Err(CpiError::Folder { folder, source }),
        };
        let user = job_user.map(JobUser::find).transpose()?;
        leftovers::end(&folder)?;
        for part in [vms(&folder), disks(&folder)] {
            std::fs::create_dir_all(&part).map_err(|source| CpiError::Folder {
                folder: part,
                source,
            })?;
        }
        if let Some(user) = user {
            user.check_way_to(&folder)?;
        }
        Ok(Self {
            inner: Arc::new(Inner {
                catalog,
                folder,
                addresses,
                processes,
                user,
                search_path: SearchPath::inherited(),
                running: Mutex::default(),
            }),
        })
    }

    /// The jobs that VMs can run.
    pub fn catalog(&self) -> &JobCatalog {
        &self.inner.catalog
    }

    /// Stops and reaps every process. The folders stay.
    pub async fn shut_down(&self) {
        let running: Vec<_> =
            self.running(|running| running.drain().flat_map(|(_, all)| all).collect());
        futures_util::future::join_all(running.into_iter().map(RunningProcess::stop)).await;
    }

    fn running<T>(
        &self,
        use_them: impl FnOnce(&mut HashMap<VmCid, Vec<RunningProcess>>) -> T,
    ) -> T {
        use_them(
            &mut self
                .inner
                .running
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }
}

fn vms(folder: &Path) -> PathBuf {
    folder.join("vms")
}

fn disks(folder: &Path) -> PathBuf {
    folder.join("disks")
}
