//! How an agent handles the jobs of its VM.

use std::{io, path::Path};

use tokio::{fs, io::AsyncWriteExt};

use super::{Agent, CallError, Unresponsive};
use crate::cpi::{
    Cpi, ErrandOutput, JobName, LaunchError, Processes, Program, RenderedJob, Script, VmCid,
    VmError,
    finite::{self, RunError},
    plan::JobPlan,
    process::Process,
    supervisor::{Order, Supervisor, Ward, WardError, became_ready},
    table::{VmRow, Wanted},
    vm::{failed_to, removed},
};

/// Jobs on a VM do not run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("job '{job}' cannot be started")]
    Launch {
        job: JobName,
        #[source]
        source: LaunchError,
    },
    #[error("job '{job}' cannot be started")]
    Start {
        job: JobName,
        #[source]
        source: io::Error,
    },
    #[error("jobs do not run: {}", names(.jobs))]
    NotRunning { jobs: Vec<JobName> },
}

/// Scripts of jobs did not do what they should. The texts are an agent's.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("the {script} script of job '{job}' cannot be run")]
    Launch {
        script: Script,
        job: JobName,
        #[source]
        source: LaunchError,
    },
    #[error("{} of {} {script} scripts failed. Failed Jobs: {}.{}", failed.len(), failed.len() + passed.len(), names(failed), successes(passed))]
    Failed {
        script: Script,
        failed: Vec<JobName>,
        /// The jobs whose scripts did not.
        passed: Vec<JobName>,
    },
}

/// An errand could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ErrandError {
    #[error("job '{0}' is not an errand")]
    NotAnErrand(JobName),
    #[error("the errand cannot be run")]
    Launch(#[source] LaunchError),
    #[error("the errand could not be run")]
    Run(#[source] io::Error),
}

impl Agent<'_> {
    /// Makes these the jobs of the VM: writes their files, and removes those of all others. Nothing may be running.
    pub async fn apply(&self, jobs: &[RenderedJob]) -> Result<(), CallError<VmError>> {
        self.call("apply").await?;
        if self.cpi.inner.processes == Processes::Real {
            let written = self.cpi.write_jobs(&self.vm.cid, jobs).await;
            written.map_err(CallError::Failed)?;
        }
        self.cpi.inner.vms.change(&self.vm.cid, |row| {
            let jobs = jobs.iter();
            row.jobs = match self.cpi.inner.processes {
                Processes::Real => jobs.map(|job| job.plan.clone()).collect(),
                Processes::None => jobs.map(|job| job.plan.outline()).collect(),
            };
        });
        Ok(())
    }

    /// Runs one kind of script of all jobs that have it, side by side.
    pub async fn run_script(&self, script: Script) -> Result<(), CallError<ScriptError>> {
        self.call(match script {
            Script::Drain => "drain",
            Script::PreStart | Script::PostStart | Script::PreStop | Script::PostStop => {
                "run_script"
            }
        })
        .await?;
        let Some(row) = self.with_processes() else {
            return Ok(());
        };
        let jobs = row.jobs.iter();
        let runs = jobs.filter_map(|job| {
            let program = job.scripts.get(&script)?;
            Some(self.cpi.run_script(&self.vm.cid, job, script, program))
        });
        let outcomes = futures_util::future::join_all(runs).await;
        let outcomes = outcomes.into_iter().collect::<Result<Vec<_>, _>>();
        let (passed, failed): (Vec<_>, Vec<_>) = outcomes
            .map_err(CallError::Failed)?
            .into_iter()
            .partition(|(_, passed)| *passed);
        if failed.is_empty() {
            return Ok(());
        }
        let names = |jobs: Vec<(JobName, bool)>| jobs.into_iter().map(|(job, _)| job).collect();
        Err(CallError::Failed(ScriptError::Failed {
            script,
            failed: names(failed),
            passed: names(passed),
        }))
    }

    /// Starts the processes of all jobs, keeps them running from now on, and waits until they are ready.
    pub async fn start(&self) -> Result<(), CallError<StartError>> {
        self.call("start").await?;
        self.want(Wanted::Running);
        let Some(row) = self.with_processes() else {
            return Ok(());
        };
        let started = self.cpi.start_processes(&self.vm.cid, &row).await;
        let watched = started.map_err(CallError::Failed)?;
        let mut failed: Vec<JobName> = Vec::new();
        for (job, observed) in watched {
            if !became_ready(observed).await && !failed.contains(&job) {
                failed.push(job);
            }
        }
        if failed.is_empty() {
            Ok(())
        } else {
            Err(CallError::Failed(StartError::NotRunning { jobs: failed }))
        }
    }

    /// Stops the processes of all jobs and waits until they are gone.
    pub async fn stop(&self) -> Result<(), Unresponsive> {
        self.call("stop").await?;
        self.want(Wanted::Stopped);
        self.cpi.end_processes(&self.vm.cid, Order::Stop).await;
        Ok(())
    }

    /// Runs an errand that was applied to the VM. One that takes longer than its catalog entry allows is killed; so is
    /// everything that it started when this future is dropped.
    pub async fn run_errand(
        &self,
        job: &RenderedJob,
    ) -> Result<ErrandOutput, CallError<ErrandError>> {
        self.call("run_errand").await?;
        let errand =
            job.plan.errand.as_ref().ok_or_else(|| {
                CallError::Failed(ErrandError::NotAnErrand(job.plan.name.clone()))
            })?;
        if self.cpi.inner.processes == Processes::None {
            return Ok(ErrandOutput::default());
        }
        let launcher = self.cpi.launcher(&self.vm.cid, &job.plan);
        let run = finite::run(&launcher, errand).await;
        run.map_err(|error| {
            CallError::Failed(match error {
                RunError::Launch(source) => ErrandError::Launch(source),
                RunError::Run(source) => ErrandError::Run(source),
            })
        })
    }

    fn want(&self, wanted: Wanted) {
        let vms = &self.cpi.inner.vms;
        vms.change(&self.vm.cid, |row| row.wanted = wanted);
    }

    /// The jobs of the VM, unless VMs have no processes.
    fn with_processes(&self) -> Option<VmRow> {
        match self.cpi.inner.processes {
            Processes::Real => self.cpi.inner.vms.find(&self.vm.cid),
            Processes::None => None,
        }
    }
}

type Watched = Vec<(
    JobName,
    tokio::sync::watch::Receiver<crate::cpi::supervisor::Observed>,
)>;

impl Cpi {
    /// Starts the processes of a VM that are not kept running yet.
    async fn start_processes(&self, vm: &VmCid, row: &VmRow) -> Result<Watched, StartError> {
        let mut watched = Vec::new();
        for job in &row.jobs {
            for ward in self.wards(vm, row, job) {
                let key = ward.key.clone();
                let known = self.supervised(|all| Some(all.get(vm)?.get(&key)?.watch()));
                if let Some(observed) = known {
                    watched.push((job.name.clone(), observed));
                    continue;
                }
                let started = Supervisor::start(ward, &self.inner.runtime).await;
                let supervisor = started.map_err(|error| match error {
                    WardError::Launch(source) => StartError::Launch {
                        job: job.name.clone(),
                        source,
                    },
                    WardError::Start(source) => StartError::Start {
                        job: job.name.clone(),
                        source,
                    },
                })?;
                watched.push((job.name.clone(), supervisor.watch()));
                self.keep(vm, key, supervisor);
            }
        }
        Ok(watched)
    }

    /// Takes over the processes of a VM from an earlier sandbox, and starts those again that have ended.
    pub(in crate::cpi) fn resume_processes(&self, vm: &VmCid, row: &VmRow) {
        for job in &row.jobs {
            for ward in self.wards(vm, row, job) {
                let process = row.identity(&ward.key).and_then(Process::known);
                let key = ward.key.clone();
                let supervisor = Supervisor::resume(ward, process, &self.inner.runtime);
                self.keep(vm, key, supervisor);
            }
        }
    }

    /// Carries out an order about every process of a VM, and returns when that is done.
    pub(in crate::cpi) async fn end_processes(&self, vm: &VmCid, order: Order) {
        let all = self.supervised(|all| all.remove(vm)).unwrap_or_default();
        let ends = all.into_values().map(|supervisor| supervisor.end(order));
        futures_util::future::join_all(ends).await;
    }

    fn wards(&self, vm: &VmCid, row: &VmRow, job: &JobPlan) -> Vec<Ward> {
        let processes = job.processes.iter();
        processes
            .map(|process| Ward {
                vm: vm.clone(),
                key: job.key(process),
                plan: process.clone(),
                address: row.address,
                launcher: self.launcher(vm, job),
                log: self.log_file(vm, &job.name, process.name.as_ref()),
                table: std::sync::Arc::clone(&self.inner.vms),
            })
            .collect()
    }

    /// Runs one script, and returns whether it succeeded. Its output goes to a log of its own.
    async fn run_script(
        &self,
        vm: &VmCid,
        job: &JobPlan,
        script: Script,
        program: &Program,
    ) -> Result<(JobName, bool), ScriptError> {
        let name = job.name.clone();
        let output = match finite::run(&self.launcher(vm, job), program).await {
            Ok(output) => output,
            Err(RunError::Launch(source)) => {
                let job = name;
                return Err(ScriptError::Launch {
                    script,
                    job,
                    source,
                });
            }
            Err(RunError::Run(error)) => {
                tracing::warn!(%vm, job = %name, %script, %error, "a script could not be run");
                return Ok((name, false));
            }
        };
        let log = self.log_file(vm, &name, &script.to_string());
        if let Err(error) = write_log(&log, &output).await {
            tracing::warn!(%vm, job = %name, %script, %error, "the log of a script could not be written");
        }
        if output.exit_code != 0 {
            tracing::warn!(%vm, job = %name, %script, exit_code = output.exit_code, "a script failed");
        }
        Ok((name, output.exit_code == 0))
    }

    async fn write_jobs(&self, vm: &VmCid, jobs: &[RenderedJob]) -> Result<(), VmError> {
        let data = self.data_folder(vm);
        if !fs::try_exists(&data).await.unwrap_or_default() {
            self.create_folder(&data).await?;
        }
        let all = self.jobs_folder(vm);
        removed(all.clone()).await?;
        self.create_folder(&all).await?;
        for job in jobs {
            let folder = all.join(job.plan.name.as_ref());
            self.create_folder(&folder).await?;
            for file in &job.files {
                let path = folder.join(&file.name);
                write(&path, file.mode, file.content.as_bytes())
                    .await
                    .map_err(failed_to("write", &path))?;
                self.give_to_user(&path)?;
            }
        }
        Ok(())
    }
}

async fn write(path: &Path, mode: u32, content: &[u8]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
        .await?;
    file.write_all(content).await?;
    file.flush().await
}

async fn write_log(path: &Path, output: &ErrandOutput) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).await?;
    }
    let text = format!("{}{}", output.stdout, output.stderr);
    fs::write(path, text).await
}

fn names(jobs: &[JobName]) -> String {
    jobs.iter()
        .map(JobName::as_ref)
        .collect::<Vec<_>>()
        .join(", ")
}

fn successes(jobs: &[JobName]) -> String {
    match jobs {
        [] => String::new(),
        jobs => format!(" Successful Jobs: {}.", names(jobs)),
    }
}
