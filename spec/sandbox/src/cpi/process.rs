//! One long-lived process of a job, from start to end.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};
use tokio::{
    process::{Child, Command},
    sync::watch,
    time::timeout,
};

use super::JobName;

/// How long the kernel may take to end a process that was killed.
const KILLED_WITHIN: Duration = Duration::from_secs(10);

/// A process that was started here. A task of its own waits for its end, so that it is always reaped.
pub(super) struct RunningProcess {
    pub(super) job: JobName,
    group: Group,
    ended: watch::Receiver<Option<ExitStatus>>,
    stop_within: Duration,
    record: PathBuf,
}

/// How a process is known again by a later sandbox.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ProcessRecord {
    pub(super) pid: i32,
    /// In clock ticks since boot (`starttime` of proc(5)), so that a reused pid is no match.
    pub(super) start_time: u64,
}

/// A process group.
#[derive(Clone, Copy)]
struct Group(Pid);

/// A process group whose members are killed when this value is gone. It must be gone before the
/// leader's id can belong to anybody else.
pub(super) struct KilledOnDrop(Group);

impl RunningProcess {
    /// Starts a command that leads its own process group. Its output goes to `log`, its record to `record`.
    pub(super) async fn start(
        job: JobName,
        mut command: Command,
        log: &Path,
        record: PathBuf,
        stop_within: Duration,
    ) -> io::Result<Self> {
        let output = tokio::fs::File::create(log).await?.into_std().await;
        command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        let mut child = command.spawn()?;
        let group = Group::of(&child)?;
        ProcessRecord::of(group.0)?.write(&record).await?;
        let (told, ended) = watch::channel(None);
        tokio::spawn(async move {
            match child.wait().await {
                Ok(status) => {
                    // What it has started itself goes with it.
                    group.signal(Signal::KILL);
                    let _ = told.send(Some(status));
                }
                Err(error) => tracing::error!(%error, "could not wait for a process"),
            }
        });
        Ok(Self {
            job,
            group,
            ended,
            stop_within,
            record,
        })
    }

    /// Tells when the process has ended, independent of who owns it.
    pub(super) fn end(&self) -> watch::Receiver<Option<ExitStatus>> {
        self.ended.clone()
    }

    /// Asks the process to end, kills it when it does not, and waits until it is gone.
    pub(super) async fn stop(self) {
        self.signal(Signal::TERM);
        if timeout(self.stop_within, ended(self.ended.clone()))
            .await
            .is_err()
        {
            tracing::warn!(job = %self.job, "a process did not end when asked to and is killed");
            self.signal(Signal::KILL);
            if timeout(KILLED_WITHIN, ended(self.ended.clone()))
                .await
                .is_err()
            {
                tracing::error!(job = %self.job, "a killed process is still there");
            }
        }
        if let Err(error) = tokio::fs::remove_file(&self.record).await {
            tracing::debug!(job = %self.job, %error, "the record of a process was gone already");
        }
    }

    /// Signals the group, unless its leader has been reaped: then its id may be another's.
    fn signal(&self, signal: Signal) {
        if self.ended.borrow().is_none() {
            self.group.signal(signal);
        }
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// Returns once the process has ended.
pub(super) async fn ended(mut told: watch::Receiver<Option<ExitStatus>>) {
    // The sender goes without a status only when waiting itself failed: nothing is left to wait for.
    let _ = told.wait_for(Option::is_some).await;
}

impl Group {
    fn of(child: &Child) -> io::Result<Self> {
        child
            .id()
            .and_then(|pid| Pid::from_raw(pid.cast_signed()))
            .map(Self)
            .ok_or_else(|| io::Error::other("the process has ended already"))
    }

    fn signal(self, signal: Signal) {
        // An empty group answers ESRCH: nobody is left to hear it.
        let _ = kill_process_group(self.0, signal);
    }
}

impl KilledOnDrop {
    /// The group that a child leads.
    pub(super) fn of(child: &Child) -> io::Result<Self> {
        Group::of(child).map(Self)
    }
}

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        self.0.signal(Signal::KILL);
    }
}

impl ProcessRecord {
    fn of(pid: Pid) -> io::Result<Self> {
        let pid = pid.as_raw_nonzero().get();
        Ok(Self {
            pid,
            start_time: start_time(pid)?,
        })
    }

    async fn write(&self, path: &Path) -> io::Result<()> {
        tokio::fs::write(path, serde_json::to_vec(self)?).await
    }
}

/// When a process was started, in clock ticks since boot.
pub(super) fn start_time(pid: i32) -> io::Result<u64> {
    const FIELDS_AFTER_NAME: usize = 19;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The second field, the name in brackets, may itself hold spaces and brackets.
    stat.rsplit_once(')')
        .and_then(|(_, fields)| fields.split_whitespace().nth(FIELDS_AFTER_NAME))
        .and_then(|ticks| ticks.parse().ok())
        .ok_or_else(|| io::Error::other("/proc has no start time of the process"))
}
