//! Keeps one process of a VM running, as monit does: starts it again when it ends by itself, later each time.
//!
//! When a process that was started is ready: its port is open, and its check passes.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::{
    net::TcpStream,
    runtime::Handle,
    sync::{oneshot, watch},
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use super::{
    LaunchError, VmCid,
    plan::{ProcessKey, ProcessPlan},
    process::{KilledOnDrop, Process, end_processes},
    program::Launcher,
    table::VmTable,
};

/// The pause before a process is started again. It doubles each time, and begins anew once the process ran for a while.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
const RAN_FOR_A_WHILE: Duration = Duration::from_secs(30);
/// A log that has grown beyond this is begun anew when its process is started again.
const LONGEST_LOG: u64 = 4 * 1024 * 1024;

/// How a process does. The names are monit's, which clients of a Director see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProcessState {
    /// It was started and is not ready yet.
    Starting,
    Running,
    /// It ended by itself, or does not get ready.
    Failing,
    /// It was stopped, or never started.
    Stopped,
}

#[derive(Clone, Debug)]
pub(super) struct Observed {
    pub(super) state: ProcessState,
    pub(super) pid: Option<i32>,
    pub(super) since: Instant,
}

pub(super) struct Ward {
    pub(super) vm: VmCid,
    pub(super) key: ProcessKey,
    pub(super) plan: ProcessPlan,
    pub(super) address: Ipv4Addr,
    pub(super) launcher: Launcher,
    pub(super) log: PathBuf,
    pub(super) table: Arc<VmTable>,
}

/// What happens to the process when it should no longer run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// It is asked to end, and killed when it does not.
    Stop,
    Kill,
    /// It lives on by itself, for a later sandbox to find.
    LetGo,
}

/// Keeps a process running until it is stopped. The process is killed when this value is dropped.
pub(super) struct Supervisor {
    orders: oneshot::Sender<Order>,
    observed: watch::Receiver<Observed>,
    task: JoinHandle<()>,
}

/// A process could not be started.
#[derive(Debug, thiserror::Error)]
pub(super) enum WardError {
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error(transparent)]
    Start(#[from] io::Error),
}

impl Supervisor {
    pub(super) async fn start(ward: Ward, runtime: &Handle) -> Result<Self, WardError> {
        let process = ward.start(runtime).await?;
        Ok(Self::over(ward, Some(process), runtime))
    }

    /// Keeps a process running that an earlier sandbox started. When it has ended meanwhile it is started again.
    pub(super) fn resume(ward: Ward, process: Option<Process>, runtime: &Handle) -> Self {
        Self::over(ward, process, runtime)
    }

    /// The observed state now.
    pub(super) fn observed(&self) -> Observed {
        self.observed.borrow().clone()
    }

    /// Watches the observed state, independent of the owner of this value.
    pub(super) fn watch(&self) -> watch::Receiver<Observed> {
        self.observed.clone()
    }

    /// Carries out an order, and returns when that is done.
    pub(super) async fn end(self, order: Order) {
        // A task that is gone has nothing left to order about.
        let _ = self.orders.send(order);
        if let Err(error) = self.task.await {
            tracing::error!(%error, "a supervisor broke");
        }
    }

    fn over(ward: Ward, process: Option<Process>, runtime: &Handle) -> Self {
        let (orders, received) = oneshot::channel();
        let (reported, observed) = watch::channel(Observed {
            state: ProcessState::Starting,
            pid: process.as_ref().map(|process| process.identity().pid),
            since: Instant::now(),
        });
        let runtime_of_task = runtime.clone();
        let task = runtime.spawn(async move {
            ward.keep_running(process, received, &reported, &runtime_of_task)
                .await;
        });
        Self {
            orders,
            observed,
            task,
        }
    }
}

/// Returns whether a process became ready when it was started.
pub(super) async fn became_ready(mut observed: watch::Receiver<Observed>) -> bool {
    let settled = observed
        .wait_for(|seen| seen.state != ProcessState::Starting)
        .await;
    settled.is_ok_and(|seen| seen.state == ProcessState::Running)
}

impl Ward {
    async fn start(&self, runtime: &Handle) -> Result<Process, WardError> {
        let command = self
            .launcher
            .process_command(&self.plan.command, &self.log)?;
        let log = self.log_file().await?;
        // The process is watched by the runtime that outlives the call.
        let _inside = runtime.enter();
        let process = Process::start(command, log)?;
        self.table
            .record_process(&self.vm, &self.key, process.identity().clone());
        Ok(process)
    }

    async fn keep_running(
        &self,
        mut process: Option<Process>,
        mut orders: oneshot::Receiver<Order>,
        reported: &watch::Sender<Observed>,
        runtime: &Handle,
    ) {
        let mut pause = FIRST_PAUSE;
        loop {
            let begun = Instant::now();
            if let Some(running) = process.take() {
                if !self.watch(running, &mut orders, reported).await {
                    return;
                }
                tracing::warn!(vm = %self.vm, process = %self.plan.name, "a process ended by itself and is started again");
            }
            reported.send_modify(|seen| {
                seen.state = ProcessState::Failing;
                seen.pid = None;
            });
            if begun.elapsed() > RAN_FOR_A_WHILE {
                pause = FIRST_PAUSE;
            }
            tokio::select! {
                biased;
                order = &mut orders => {
                    if order != Ok(Order::LetGo) {
                        self.table.forget_process(&self.vm, &self.key);
                    }
                    return;
                }
                () = sleep(pause) => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
            match self.start(runtime).await {
                Ok(started) => process = Some(started),
                Err(error) => {
                    tracing::warn!(vm = %self.vm, process = %self.plan.name, %error, "a process cannot be started again");
                }
            }
        }
    }

    /// Watches the process until it ends by itself, which is `true`, or an order about it is carried out.
    async fn watch(
        &self,
        mut process: Process,
        orders: &mut oneshot::Receiver<Order>,
        reported: &watch::Sender<Observed>,
    ) -> bool {
        reported.send_modify(|seen| {
            seen.pid = Some(process.identity().pid);
            seen.since = Instant::now();
        });
        let was_taken_over = process.was_taken_over();
        let order = tokio::select! {
            biased;
            order = orders => order.unwrap_or(Order::Kill),
            () = process.ended() => {
                self.end_what_it_started(was_taken_over).await;
                return true;
            }
            () = self.report_readiness(reported) => Order::Kill,
        };
        match order {
            Order::Stop => {
                let signal = self.plan.stop_signal.signal();
                process.stop(signal, self.plan.stop_within).await;
            }
            Order::Kill => process.kill().await,
            Order::LetGo => {
                process.let_go();
                return false;
            }
        }
        self.end_what_it_started(was_taken_over).await;
        self.table.forget_process(&self.vm, &self.key);
        reported.send_modify(|seen| {
            seen.state = ProcessState::Stopped;
            seen.pid = None;
        });
        false
    }

    /// Ends what the process has started. Descendants of an adopted process must be searched for.
    async fn end_what_it_started(&self, was_taken_over: bool) {
        if !was_taken_over {
            return;
        }
        let log = self.log.clone();
        let ended = tokio::task::spawn_blocking(move || end_processes(&log, |_| false)).await;
        if let Ok(Err(error)) = ended {
            tracing::warn!(vm = %self.vm, process = %self.plan.name, %error, "a process left something running");
        }
    }

    /// Reports when the process is ready, or that it is late. Does not return.
    async fn report_readiness(&self, reported: &watch::Sender<Observed>) {
        let report = |state| reported.send_modify(|seen| seen.state = state);
        let readiness = Readiness {
            listens_on: (self.address, self.plan.port).into(),
            check: self.plan.ready_check.clone(),
            launcher: self.launcher.clone(),
        };
        if timeout(self.plan.ready_within, readiness.reached())
            .await
            .is_err()
        {
            tracing::warn!(vm = %self.vm, process = %self.plan.name, "a process is not ready in time");
            report(ProcessState::Failing);
            readiness.reached_late().await;
        }
        report(ProcessState::Running);
        std::future::pending::<()>().await;
    }

    async fn log_file(&self) -> io::Result<std::fs::File> {
        if let Some(folder) = self.log.parent() {
            tokio::fs::create_dir_all(folder).await?;
        }
        let file = tokio::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.log)
            .await?;
        if file.metadata().await?.len() > LONGEST_LOG {
            file.set_len(0).await?;
        }
        Ok(file.into_std().await)
    }
}

const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(10);
const BETWEEN_LATE_ATTEMPTS: Duration = Duration::from_secs(1);
const ATTEMPT: Duration = Duration::from_secs(5);

/// How it is found out whether a process is ready.
pub(super) struct Readiness {
    pub(super) listens_on: SocketAddr,
    /// A program that exits with 0 once the process does its work.
    pub(super) check: Option<Vec<String>>,
    pub(super) launcher: Launcher,
}

impl Readiness {
    /// Returns once the process is ready.
    pub(super) async fn reached(&self) {
        self.attempted_every(BETWEEN_ATTEMPTS).await;
    }

    /// As [`Self::reached`], for a process that should have been ready long ago.
    pub(super) async fn reached_late(&self) {
        self.attempted_every(BETWEEN_LATE_ATTEMPTS).await;
    }

    async fn attempted_every(&self, pause: Duration) {
        while !self.listens().await {
            sleep(pause).await;
        }
        while !self.check_passes().await {
            sleep(pause).await;
        }
    }

    async fn listens(&self) -> bool {
        matches!(
            timeout(ATTEMPT, TcpStream::connect(self.listens_on)).await,
            Ok(Ok(_))
        )
    }

    /// Runs the check once. One that cannot be run does not pass.
    async fn check_passes(&self) -> bool {
        let Some(command_line) = &self.check else {
            return true;
        };
        let Ok(mut command) = self.launcher.command(command_line) else {
            return false;
        };
        let spawned = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        let Ok(mut child) = spawned else {
            return false;
        };
        let _group = KilledOnDrop::of(&child);
        matches!(timeout(ATTEMPT, child.wait()).await, Ok(Ok(status)) if status.success())
    }
}
