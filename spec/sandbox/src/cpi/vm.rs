//! VMs: reserved, created, given jobs, deleted.

use std::{
    io,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::Timestamp;
use tokio::{fs, io::AsyncWriteExt};
use uuid::Uuid;

use super::{
    Cpi, DiskCid, JobName, Lease, MissingProgram, NoAddressLeft, Process, Processes, RenderedJob,
    VmCid,
    leftovers::RECORD_SUFFIX,
    process::RunningProcess,
    readiness::{Check, NotReady, Startup},
    render::JobFolder,
};

const PRIVATE_FOLDER: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;

/// A VM, or the plan of one. Its address is its own as long as a clone of this value lives.
#[derive(Clone, Debug)]
pub struct Vm {
    /// Its id, the name of its folder.
    pub cid: VmCid,
    /// The id of what would be its agent.
    pub agent_id: Uuid,
    /// When it was reserved.
    pub created_at: Timestamp,
    lease: Arc<Lease>,
}

/// A VM or what belongs to it cannot be made, changed or removed.
#[derive(Debug, thiserror::Error)]
pub enum VmError {
    /// There is no address for it.
    #[error("no address for another VM")]
    Address(#[from] NoAddressLeft),
    /// A file or folder is in the way.
    #[error("could not {action} `{path}`")]
    File {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
}

/// Jobs on a VM do not run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A job's program is not installed.
    #[error("job '{job}' cannot be started")]
    Missing {
        /// Which job.
        job: JobName,
        /// Which program.
        #[source]
        source: MissingProgram,
    },
    /// A job's process could not be started.
    #[error("job '{job}' cannot be started")]
    Start {
        /// Which job.
        job: JobName,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A job's process ended, or did not open its port in time.
    #[error("jobs do not run: {}", names(.jobs))]
    NotRunning {
        /// Which jobs.
        jobs: Vec<JobName>,
    },
}

impl Vm {
    /// The address on which its jobs listen.
    pub fn address(&self) -> Ipv4Addr {
        self.lease.address()
    }
}

impl Cpi {
    /// Reserves an address and an id. There is nothing to undo: dropping the value gives the address back.
    pub fn reserve_vm(&self) -> Result<Vm, VmError> {
        Ok(Vm {
            cid: format!("vm-{}", Uuid::new_v4()).into(),
            agent_id: Uuid::new_v4(),
            created_at: Timestamp::now(),
            lease: Arc::new(self.inner.addresses.lend()?),
        })
    }

    /// Creates a VM that was reserved.
    pub async fn create_vm(&self, vm: &Vm) -> Result<(), VmError> {
        self.create_folder(&self.vm_folder(&vm.cid)).await
    }

    /// Stops what runs on a VM and removes its folder. Deleting what is not there is no error.
    pub async fn delete_vm(&self, vm: &VmCid) -> Result<(), VmError> {
        self.stop(vm).await;
        removed(self.vm_folder(vm)).await
    }

    /// Writes the files of these jobs, and removes those of all others. Makes the data folder.
    pub async fn place(
        &self,
        vm: &Vm,
        disk: Option<&DiskCid>,
        jobs: &[RenderedJob],
    ) -> Result<(), VmError> {
        self.create_folder(&self.data_folder(&vm.cid, disk)).await?;
        let all = self.jobs_folder(&vm.cid);
        removed(all.clone()).await?;
        self.create_folder(&all).await?;
        for job in jobs {
            let folder = all.join(job.name.as_ref());
            self.create_folder(&folder).await?;
            for file in &job.files {
                self.write(&folder.join(&file.name), file.content.as_bytes())
                    .await?;
            }
        }
        Ok(())
    }

    /// Starts the processes of jobs that were placed, and waits until they are ready. Errands are left alone.
    pub async fn start(&self, vm: &Vm, jobs: &[RenderedJob]) -> Result<(), StartError> {
        if self.inner.processes == Processes::None {
            return Ok(());
        }
        let mut startups = Vec::new();
        for job in jobs {
            if let Some(process) = job.process() {
                startups.push((&job.name, self.start_process(vm, job, process).await?));
            }
        }
        let mut failed = Vec::new();
        for (job, startup) in startups {
            if let Err(reason) = startup.ready().await {
                tracing::warn!(vm = %vm.cid, %job, ended = (reason == NotReady::Ended), "a process is not ready");
                failed.push(job.clone());
            }
        }
        if failed.is_empty() {
            Ok(())
        } else {
            Err(StartError::NotRunning { jobs: failed })
        }
    }

    /// Stops and reaps every process of a VM.
    pub async fn stop(&self, vm: &VmCid) {
        let processes = self
            .running(|running| running.remove(vm))
            .unwrap_or_default();
        futures_util::future::join_all(processes.into_iter().map(RunningProcess::stop)).await;
    }

    /// The folder of one job, as templates see it.
    pub fn job_facts(&self, vm: &VmCid, job: &JobName) -> JobFolder {
        JobFolder {
            folder: self.job_folder(vm, job).display().to_string(),
        }
    }

    /// The folder for data: the disk's when there is one, else one that goes with the VM.
    pub fn data_folder(&self, vm: &VmCid, disk: Option<&DiskCid>) -> PathBuf {
        disk.map_or_else(
            || self.vm_folder(vm).join("data"),
            |disk| self.disk_folder(disk),
        )
    }

    pub(super) fn job_folder(&self, vm: &VmCid, job: &JobName) -> PathBuf {
        self.jobs_folder(vm).join(job.as_ref())
    }

    async fn start_process(
        &self,
        vm: &Vm,
        job: &RenderedJob,
        process: &Process,
    ) -> Result<Startup, StartError> {
        let folder = self.job_folder(&vm.cid, &job.name);
        let command = self
            .inner
            .search_path
            .command(&job.command, &folder, self.inner.user)
            .map_err(|source| StartError::Missing {
                job: job.name.clone(),
                source,
            })?;
        let log = folder.join(format!("{}.log", job.name));
        let record = self
            .vm_folder(&vm.cid)
            .join(format!("{}{RECORD_SUFFIX}", job.name));
        let started =
            RunningProcess::start(job.name.clone(), command, &log, record, process.stop_within)
                .await
                .map_err(|source| StartError::Start {
                    job: job.name.clone(),
                    source,
                })?;
        let startup = Startup {
            end: started.end(),
            listens_on: (vm.address(), process.port).into(),
            check: job.ready_check.clone().map(|command_line| Check {
                command_line,
                folder,
                search_path: self.inner.search_path.clone(),
                user: self.inner.user,
            }),
            within: process.ready_within,
        };
        self.running(|running| running.entry(vm.cid.clone()).or_default().push(started));
        Ok(startup)
    }

    async fn create_folder(&self, path: &Path) -> Result<(), VmError> {
        let created = fs::DirBuilder::new()
            .mode(PRIVATE_FOLDER)
            .recursive(true)
            .create(path)
            .await;
        created.map_err(failed_to("create", path))?;
        self.give_to_user(path)
    }

    async fn write(&self, path: &Path, content: &[u8]) -> Result<(), VmError> {
        let write = async {
            let mut file = fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(PRIVATE_FILE)
                .open(path)
                .await?;
            file.write_all(content).await?;
            file.flush().await
        };
        write.await.map_err(failed_to("write", path))?;
        self.give_to_user(path)
    }

    fn give_to_user(&self, path: &Path) -> Result<(), VmError> {
        self.inner
            .user
            .map_or(Ok(()), |user| user.own(path))
            .map_err(failed_to("give away", path))
    }

    fn vm_folder(&self, vm: &VmCid) -> PathBuf {
        super::vms(&self.inner.folder).join(vm.as_ref())
    }

    fn jobs_folder(&self, vm: &VmCid) -> PathBuf {
        self.vm_folder(vm).join("jobs")
    }

    fn disk_folder(&self, disk: &DiskCid) -> PathBuf {
        super::disks(&self.inner.folder).join(disk.as_ref())
    }
}

async fn removed(folder: PathBuf) -> Result<(), VmError> {
    match fs::remove_dir_all(&folder).await {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(failed_to("remove", &folder)(source))
        }
        _ => Ok(()),
    }
}

fn failed_to(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> VmError {
    let path = path.to_owned();
    move |source| VmError::File {
        action,
        path,
        source,
    }
}

fn names(jobs: &[JobName]) -> String {
    jobs.iter()
        .map(JobName::as_ref)
        .collect::<Vec<_>>()
        .join(", ")
}
