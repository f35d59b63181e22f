//! One long-lived process of a job: started here, or by an earlier sandbox and known again.

use std::{fs, io, os::fd::OwnedFd, process::Stdio, time::Duration};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open},
};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{Interest, unix::AsyncFd},
    process::{Child, Command},
    time::timeout,
};

/// How long the kernel may take to end a process that was killed.
pub(super) const KILLED_WITHIN: Duration = Duration::from_secs(10);

/// A process that leads a group of its own. It is killed when this value is gone, unless it was let go.
pub(super) struct Process {
    identity: ProcessIdentity,
    group: Group,
    /// Readable once the process has ended. It refers to this process, even if its id is reused later.
    handle: AsyncFd<OwnedFd>,
    /// `None` for a process that an earlier sandbox started: it is no child and cannot be reaped.
    child: Option<Child>,
    /// Whether it may outlive this value.
    let_go: bool,
}

/// How a process is known again by a later sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProcessIdentity {
    pub(super) pid: i32,
    /// In clock ticks since boot (`starttime` of proc(5)), so that a reused pid is no match.
    start_time: u64,
    /// Which boot that is.
    boot: String,
}

#[derive(Clone, Copy)]
struct Group(Pid);

/// A process group whose members are killed when this value is dropped. That must happen before the leader's id can be
/// reused.
pub(super) struct KilledOnDrop(Group);

impl Process {
    /// Starts a command that leads its own process group. Its output goes to `log`.
    pub(super) fn start(mut command: Command, log: fs::File) -> io::Result<Self> {
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let child = command.spawn()?;
        let group = Group::of(&child)?;
        // Not before it is waited for can its id belong to another, and no request waits yet.
        let known = ProcessIdentity::of(group.0).and_then(|identity| {
            let handle = pidfd_open(group.0, PidfdFlags::empty())?;
            Ok((identity, watched(handle)?))
        });
        let (identity, handle) = known.inspect_err(|_| group.signal(Signal::KILL))?;
        Ok(Self {
            identity,
            group,
            handle,
            child: Some(child),
            let_go: false,
        })
    }

    /// The process that was started as this one, if it still runs.
    pub(super) fn known(identity: &ProcessIdentity) -> Option<Self> {
        let pid = Pid::from_raw(identity.pid)?;
        // Opened first, compared afterwards: the handle stays with this very process.
        let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        if ProcessIdentity::of(pid).ok()? != *identity || has_ended(&handle, Duration::ZERO) {
            return None;
        }
        Some(Self {
            identity: identity.clone(),
            group: Group(pid),
            handle: watched(handle).ok()?,
            child: None,
            let_go: false,
        })
    }

    /// How it is known again.
    pub(super) fn identity(&self) -> &ProcessIdentity {
        &self.identity
    }

    /// Whether an earlier sandbox started it.
    pub(super) fn was_taken_over(&self) -> bool {
        self.child.is_none()
    }

    /// Returns once the process has ended, reaped if it was our child. Its own children are killed with it.
    pub(super) async fn ended(&mut self) {
        // This fails only when the runtime shuts down, and then no code runs after it.
        let _ = self.handle.readable().await;
        if let Some(child) = &mut self.child {
            // The id is still valid, because the process has not been reaped.
            self.group.signal(Signal::KILL);
            if let Err(error) = child.wait().await {
                tracing::error!(%error, "could not wait for a process");
            }
            self.child = None;
        }
        self.let_go = true;
    }

    /// Asks the process to end, kills it when it does not, and waits until it is gone.
    pub(super) async fn stop(mut self, signal: Signal, within: Duration) {
        self.signal(signal);
        if timeout(within, self.ended()).await.is_err() {
            tracing::warn!(
                pid = self.identity.pid,
                "a process did not end when asked to and is killed"
            );
            self.kill().await;
        }
    }

    /// Kills the process and waits until it is gone.
    pub(super) async fn kill(mut self) {
        self.signal(Signal::KILL);
        if timeout(KILLED_WITHIN, self.ended()).await.is_err() {
            tracing::error!(pid = self.identity.pid, "a killed process is still there");
        }
    }

    pub(super) fn let_go(mut self) {
        self.let_go = true;
    }

    /// Signals the group, unless its leader is gone: then its id may be another's.
    fn signal(&self, signal: Signal) {
        let is_own = self.child.is_some();
        if is_own || !has_ended(self.handle.get_ref(), Duration::ZERO) {
            self.group.signal(signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.let_go {
            self.signal(Signal::KILL);
        }
    }
}

impl ProcessIdentity {
    /// Of the process that has this id now.
    pub(super) fn of(pid: Pid) -> io::Result<Self> {
        let pid = pid.as_raw_nonzero().get();
        Ok(Self {
            pid,
            start_time: start_time(pid)?,
            boot: fs::read_to_string("/proc/sys/kernel/random/boot_id")?
                .trim()
                .to_owned(),
        })
    }
}

#[expect(
    deprecated,
    reason = "what replaces it is unsafe for the sake of types that change their descriptor; this one does not"
)]
fn watched(handle: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(handle, Interest::READABLE)
}

/// Whether the process behind a handle ends within this time. Blocks for as long.
pub(super) fn has_ended(handle: &OwnedFd, within: Duration) -> bool {
    let limit = Timespec::try_from(within).ok();
    let ended = poll(&mut [PollFd::new(handle, PollFlags::IN)], limit.as_ref());
    matches!(ended, Ok(1..))
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
        // An empty group gives ESRCH, which is ignored.
        let _ = kill_process_group(self.0, signal);
    }
}

impl KilledOnDrop {
    pub(super) fn of(child: &Child) -> io::Result<Self> {
        Group::of(child).map(Self)
    }
}

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        self.0.signal(Signal::KILL);
    }
}

/// When a process was started, in clock ticks since boot.
fn start_time(pid: i32) -> io::Result<u64> {
    const FIELDS_AFTER_NAME: usize = 19;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The second field, the name in brackets, may itself hold spaces and brackets.
    stat.rsplit_once(')')
        .and_then(|(_, fields)| fields.split_whitespace().nth(FIELDS_AFTER_NAME))
        .and_then(|ticks| ticks.parse().ok())
        .ok_or_else(|| io::Error::other("/proc has no start time of the process"))
}
