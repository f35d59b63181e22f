//! One long-lived process of a job: started here, or by an earlier sandbox and known again.
//!
//! Finds the processes that belong to a VM, and ends them: those that a job has left behind, and
//! those of an earlier sandbox. They are identified by a variable in their environment, which some programs overwrite
//! (Redis and PostgreSQL among them, to show a title), or by the log of a VM that is their standard output or error.

use std::{
    ffi::OsStr,
    fs, io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal},
};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{Interest, unix::AsyncFd},
    process::{Child, Command},
    time::timeout,
};
use uuid::Uuid;

use super::program::OWNER_VARIABLE;

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

/// A process may start another while it is being looked for; who does so this often is given up on.
const ROUNDS: usize = 10;
/// How `/proc` shows an open file that is no more.
const DELETED: &[u8] = b" (deleted)";

/// Something of an earlier sandbox could not be ended or removed.
#[derive(Debug, thiserror::Error)]
pub enum ResidualProcessError {
    #[error("process `{pid}` of `{owner}` does not end")]
    StillThere { pid: i32, owner: PathBuf },
    #[error("could not kill process `{pid}` of `{owner}`")]
    Kill {
        pid: i32,
        owner: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("could not clear `{path}`")]
    Folder {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Kills every process that belongs to something at or below `folder`, but for the owners that are spared. Blocks until
/// they are gone.
pub(super) fn end_processes(
    folder: &Path,
    spared: impl Fn(&Path) -> bool,
) -> Result<(), ResidualProcessError> {
    for _ in 0..ROUNDS {
        let found = belonging_to(folder, &spared)?;
        if found.is_empty() {
            return Ok(());
        }
        for (pid, owner, handle) in found {
            // A process that ends by itself meanwhile counts as killed.
            if !has_ended(&handle, Duration::ZERO)
                && let Err(error) = pidfd_send_signal(&handle, Signal::KILL)
                && error != rustix::io::Errno::SRCH
            {
                let source = error.into();
                return Err(ResidualProcessError::Kill { pid, owner, source });
            }
            if !has_ended(&handle, KILLED_WITHIN) {
                return Err(ResidualProcessError::StillThere { pid, owner });
            }
        }
    }
    Ok(())
}

/// Removes what is in this folder, but for the names that are spared.
pub(super) fn remove_entries(
    folder: &Path,
    spared: impl Fn(&str) -> bool,
) -> Result<(), ResidualProcessError> {
    for path in entries(folder)? {
        let name = path.file_name().map(OsStr::to_string_lossy);
        if name.is_none_or(|name| !is_own(&name) || spared(&name)) {
            continue;
        }
        tracing::warn!(path = %path.display(), "removing what belongs to nothing");
        let removed = if path.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        removed.map_err(|source| ResidualProcessError::Folder { path, source })?;
    }
    Ok(())
}

/// Whether the CPI has given this name to a VM or a disk. Other entries have another owner.
fn is_own(name: &str) -> bool {
    let id = name
        .strip_prefix("vm-")
        .or_else(|| name.strip_prefix("disk-"));
    id.is_some_and(|id| Uuid::try_parse(id).is_ok())
}

fn belonging_to(
    folder: &Path,
    spared: impl Fn(&Path) -> bool,
) -> Result<Vec<(i32, PathBuf, OwnedFd)>, ResidualProcessError> {
    let processes = entries(Path::new("/proc"))?.into_iter();
    let ids = processes.filter_map(|entry| entry.file_name()?.to_str()?.parse::<i32>().ok());
    let found = ids.filter_map(|id| {
        // Opened first, looked at afterwards: the handle stays with this very process.
        let handle = pidfd_open(Pid::from_raw(id)?, PidfdFlags::empty()).ok()?;
        let owner = owners(id).find(|owner| owner.starts_with(folder))?;
        (!spared(&owner)).then_some((id, owner, handle))
    });
    Ok(found.collect())
}

/// The possible owners of a process. Processes of other users cannot be inspected and do not belong to this sandbox.
fn owners(pid: i32) -> impl Iterator<Item = PathBuf> {
    let outputs = [1, 2].into_iter();
    let outputs = outputs.filter_map(move |output| {
        let file = fs::read_link(format!("/proc/{pid}/fd/{output}")).ok()?;
        let name = file.as_os_str().as_bytes();
        let name = name.strip_suffix(DELETED).unwrap_or(name);
        Some(PathBuf::from(OsStr::from_bytes(name)))
    });
    marked_owner(pid).into_iter().chain(outputs)
}

fn marked_owner(pid: i32) -> Option<PathBuf> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    environment.split(|byte| *byte == 0).find_map(|variable| {
        let value = variable.strip_prefix(OWNER_VARIABLE.as_bytes())?;
        let owner = value.strip_prefix(b"=")?;
        Some(PathBuf::from(OsStr::from_bytes(owner)))
    })
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, ResidualProcessError> {
    let listed = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect()),
    };
    listed.map_err(|source| ResidualProcessError::Folder {
        path: folder.to_owned(),
        source,
    })
}
