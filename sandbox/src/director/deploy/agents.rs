//! The calls to the agents of VMs, and the errors when they do not answer or fail.

use uuid::Uuid;

use crate::{
    cpi::{
        AgentState, CallError, ErrandError, ErrandOutput, RenderedJob, Script, ScriptError,
        StartError, Unresponsive, Vm, VmError,
    },
    director::tasks::{TaskFailure, TaskRun, chain},
};

/// An agent did not do what it was asked to. The texts are a real Director's, which clients read and show.
#[derive(Debug, thiserror::Error)]
pub(in crate::director) enum AgentError {
    #[error(
        "Timed out sending '{method}' to instance: '{instance}', agent-id: '{agent}' after {seconds} seconds"
    )]
    TimedOut {
        method: &'static str,
        /// `group/id`.
        instance: String,
        agent: Uuid,
        seconds: u64,
    },
    #[error("Action Failed get_task: Task {task} result: {}", chain(.source))]
    Script { task: Uuid, source: ScriptError },
    #[error("'{instance}' is not running after update. Review logs for failed jobs: {jobs}")]
    NotRunning {
        /// `group/id (index)`.
        instance: String,
        jobs: String,
    },
    #[error("Action Failed start: {}", chain(.0))]
    Start(StartError),
    #[error("Action Failed run_errand: {}", chain(.0))]
    Errand(ErrandError),
}

pub(super) struct AgentClient<'a> {
    run: &'a TaskRun,
    vm: &'a Vm,
    /// `group/id`.
    instance: String,
}

impl AgentError {
    pub(in crate::director) fn code(&self) -> u32 {
        match self {
            Self::NotRunning { .. } => 400_007,
            Self::Script { .. } | Self::Start(_) | Self::Errand(_) => 450_001,
            Self::TimedOut { .. } => 450_002,
        }
    }
}

impl<'a> AgentClient<'a> {
    /// The agent on this VM, which is that of the instance `group/id`.
    pub(super) fn new(run: &'a TaskRun, vm: &'a Vm, instance: String) -> Self {
        Self { run, vm, instance }
    }

    pub(super) async fn answers(&self) -> Result<(), TaskFailure> {
        let ping = self.run.director.inner.cpi.agent(self.vm).ping().await;
        ping.map_err(|silent| {
            self.silent(&Unresponsive {
                method: "get_state",
                ..silent
            })
        })
    }

    pub(super) async fn state(&self) -> Result<AgentState, TaskFailure> {
        let state = self.run.director.inner.cpi.agent(self.vm).state().await;
        state.map_err(|silent| self.silent(&silent))
    }

    /// Runs a script of all jobs that have it.
    pub(super) async fn run_script(&self, script: Script) -> Result<(), TaskFailure> {
        let cpi = &self.run.director.inner.cpi;
        let ended = cpi.agent(self.vm).run_script(script).await;
        self.result(ended, |source| {
            let task = Uuid::new_v4();
            AgentError::Script { task, source }.into()
        })
    }

    /// Stops the processes of all jobs.
    pub(super) async fn stop(&self) -> Result<(), TaskFailure> {
        let stopped = self.run.director.inner.cpi.agent(self.vm).stop().await;
        stopped.map_err(|silent| self.silent(&silent))
    }

    /// Replaces the files of all jobs.
    pub(super) async fn apply(&self, jobs: &[RenderedJob]) -> Result<(), TaskFailure> {
        let cpi = &self.run.director.inner.cpi;
        let applied = cpi.agent(self.vm).apply(jobs).await;
        self.result(applied, |error: VmError| TaskFailure::create_vm(error))
    }

    /// Starts the processes of all jobs, and waits until they are ready.
    pub(super) async fn start(&self, label: &str) -> Result<(), TaskFailure> {
        let started = self.run.director.inner.cpi.agent(self.vm).start().await;
        self.result(started, |error| match error {
            StartError::NotRunning { jobs } => {
                let jobs: Vec<&str> = jobs.iter().map(AsRef::as_ref).collect();
                AgentError::NotRunning {
                    instance: label.to_owned(),
                    jobs: jobs.join(", "),
                }
                .into()
            }
            other => AgentError::Start(other).into(),
        })
    }

    /// Runs an errand to its end, or until the task is cancelled.
    pub(super) async fn run_errand(&self, job: &RenderedJob) -> Result<ErrandOutput, TaskFailure> {
        let cpi = &self.run.director.inner.cpi;
        let agent = cpi.agent(self.vm);
        let ended = self.run.unless_cancelled(agent.run_errand(job)).await?;
        self.result(ended, |error| AgentError::Errand(error).into())
    }

    fn result<T, E: std::error::Error + 'static>(
        &self,
        result: Result<T, CallError<E>>,
        failed: impl FnOnce(E) -> TaskFailure,
    ) -> Result<T, TaskFailure> {
        result.map_err(|error| match error {
            CallError::Unresponsive(silent) => self.silent(&silent),
            CallError::Failed(error) => failed(error),
        })
    }

    fn silent(&self, silent: &Unresponsive) -> TaskFailure {
        AgentError::TimedOut {
            method: silent.method,
            instance: self.instance.clone(),
            agent: silent.agent_id,
            seconds: silent.after.as_secs(),
        }
        .into()
    }
}
