//! Processes that adapters leave behind outside their process group: daemons with a session of their own.
//!
//! The broker is made the reaper of its descendants, so that an orphan becomes its child and can be found. Whose it was
//! cannot be told from the outside, but no adapter outlives its request: a stray is killed as soon as no call runs any more
//! that was running when the stray began.
//!
//! Not every child is an adapter's. A script that starts the broker by `exec` may have started others before, such as the
//! `tee` of `exec > >(tee -a log)`: what is there before the first call is left alone.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
    path::Path,
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{
        Pid, PidfdFlags, Signal, WaitOptions, getpgrp, getpid, kill_process, kill_process_group,
        pidfd_open, set_child_subreaper, test_kill_process_group, waitpid,
    },
};
use tokio::{process::Child, runtime::Handle};

use super::watchdog;
use crate::telemetry::{Chain, metrics};

/// How long it is tried to end what a call has left behind.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest pause between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Moments in clock ticks since the machine started, as Linux counts them.
type Ticks = u64;

/// The calls that run. Children are the process's, and so is this.
static CALLS: LazyLock<Mutex<Calls>> = LazyLock::new(|| {
    let calls = Calls {
        leaders: HashMap::new(),
        inherited: children().into_iter().collect(),
    };
    // Whoever has no such right finds fewer strays.
    if let Err(error) = set_child_subreaper(Some(getpid())) {
        tracing::warn!(
            error = %Chain(&io::Error::from(error)),
            "processes that adapters start outside their group will not be found"
        );
    }
    Mutex::new(calls)
});

/// Who is no stray.
#[derive(Debug)]
struct Calls {
    /// The leaders of the calls that run, with the moments at which they began.
    leaders: HashMap<Pid, Ticks>,
    /// Children that this process had before it called anybody. Nobody else has their ids until we have reaped them.
    inherited: HashSet<Pid>,
}

/// A call that runs. Dropped, it does not run any more, and what it left is ended.
#[derive(Debug)]
pub(super) struct Leader(Pid);

/// What Linux tells of a process.
#[derive(Clone, Copy, Debug)]
struct Seen {
    id: Pid,
    parent: Option<Pid>,
    group: Option<Pid>,
    began: Ticks,
}

impl Leader {
    /// Starts a leader. While it starts nobody takes it for a stray.
    pub(super) fn spawn(
        spawn: impl FnOnce() -> io::Result<Child>,
    ) -> io::Result<(Child, Option<Self>)> {
        let mut calls = calls();
        let child = spawn()?;
        let id = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        let leader = id.map(|id| {
            let began = look_at(id).map_or(0, |seen| seen.began);
            calls.leaders.insert(id, began);
            watchdog::register(id);
            Self(id)
        });
        Ok((child, leader))
    }

    /// Its process id, which is that of its group.
    pub(super) fn id(&self) -> Pid {
        self.0
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        let group = self.0;
        watchdog::unregister(group);
        calls().leaders.remove(&group);
        // Without a runtime the process is ending, and ends all of them.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn_blocking(move || end_strays(group));
        }
    }
}

/// From now on new children of this process are those of adapters. For the beginning of the process.
pub fn watch_for_strays() {
    LazyLock::force(&CALLS);
}

/// Ends everything that adapters have left behind, whichever call it was of. For the end of the process.
pub fn end_all_strays() {
    calls().leaders.clear();
    until_none_is_left(|| false);
}

/// Ends what a call has left behind and no other call can have begun.
fn end_strays(group: Pid) {
    until_none_is_left(|| test_kill_process_group(group).is_ok());
}

/// Kills and reaps strays until there are none, and nobody any more who may leave others.
fn until_none_is_left(others_may_follow: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    let mut killed = HashSet::new();
    loop {
        // In this order: whoever is gone has left its children before.
        let may_follow = others_may_follow();
        let strays = kill_strays();
        killed.extend(strays.iter().copied());
        if strays.is_empty() && !may_follow {
            break;
        }
        if Instant::now() > end {
            tracing::warn!(
                processes = strays.len(),
                "processes that the service adapter has left behind could not be ended"
            );
            break;
        }
        pause(strays.last().copied());
    }
    if !killed.is_empty() {
        tracing::warn!(
            processes = killed.len(),
            "the service adapter left processes behind outside its group; they were killed"
        );
        metrics().adapter.killed_strays(killed.len());
    }
}

/// Kills the strays that nobody else can have begun, with their groups, and reaps those that are dead. Gives those that
/// were alive.
fn kill_strays() -> Vec<Pid> {
    let mut calls = calls();
    let mut killed = Vec::new();
    for id in children() {
        if calls.leaders.contains_key(&id) {
            continue;
        }
        // A dead one needs no more than this.
        if !matches!(waitpid(Some(id), WaitOptions::NOHANG), Ok(None)) {
            calls.inherited.remove(&id);
            continue;
        }
        if calls.inherited.contains(&id) {
            continue;
        }
        let Some(child) = look_at(id).filter(|child| !calls.may_be_of_a_call(child)) else {
            continue;
        };
        if let Some(group) = child.group.filter(|group| *group != getpgrp()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = kill_process(id, Signal::KILL);
        killed.push(id);
    }
    killed
}

impl Calls {
    /// A call runs that may have begun this process.
    fn may_be_of_a_call(&self, child: &Seen) -> bool {
        let is_in_its_group = child
            .group
            .is_some_and(|group| self.leaders.contains_key(&group));
        is_in_its_group || self.leaders.values().any(|began| *began <= child.began)
    }
}

/// Waits until a process is dead, a short while at most.
fn pause(process: Option<Pid>) {
    let handle = process.and_then(|process| pidfd_open(process, PidfdFlags::empty()).ok());
    let pause = Timespec::try_from(PAUSE).expect("it is a fraction of a second");
    // Interrupted or not, the next look tells.
    let _ = match &handle {
        Some(handle) => poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&pause)),
        None => poll(&mut [], Some(&pause)),
    };
}

fn calls() -> MutexGuard<'static, Calls> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The children of this process, dead ones that have not been reaped included.
fn children() -> Vec<Pid> {
    listed_children().unwrap_or_else(children_among_all)
}

/// As the kernel lists them, by threads; none where it does not (`CONFIG_PROC_CHILDREN`). A process that ends meanwhile may
/// hide another one from the list, which the look after the next call finds.
fn listed_children() -> Option<Vec<Pid>> {
    static IS_LISTED: LazyLock<bool> =
        LazyLock::new(|| Path::new("/proc/thread-self/children").exists());
    if !*IS_LISTED {
        return None;
    }
    let mut children = Vec::new();
    for thread in fs::read_dir("/proc/self/task").ok()? {
        // A thread that has ended meanwhile has left its children to another one.
        let Ok(listed) = fs::read_to_string(thread.ok()?.path().join("children")) else {
            continue;
        };
        let ids = listed.split_whitespace().filter_map(|id| id.parse().ok());
        children.extend(ids.filter_map(Pid::from_raw));
    }
    Some(children)
}

/// As the list of all processes has them.
fn children_among_all() -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let own = getpid();
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let seen = ids.filter_map(|id| look_at(Pid::from_raw(id)?));
    let children = seen.filter(|seen| seen.parent == Some(own));
    children.map(|child| child.id).collect()
}

/// Fields 4, 5 and 22 of `/proc/PID/stat` (proc(5)).
fn look_at(id: Pid) -> Option<Seen> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", id.as_raw_nonzero())).ok()?;
    // The name in brackets may hold anything, brackets included.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // Of a process that is being reaped they are -1.
    let process = |field: usize| {
        let id: i32 = fields.get(field)?.parse().ok()?;
        if id > 0 { Pid::from_raw(id) } else { None }
    };
    Some(Seen {
        id,
        parent: process(1),
        group: process(2),
        began: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_kernels_list_of_children_is_that_of_all_processes() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        // Tests beside this one have children, too, which come and go.
        let id = Pid::from_child(&child);
        assert!(children_among_all().contains(&id));
        assert!(listed_children().is_none_or(|children| children.contains(&id)));
        assert!(children().contains(&id));

        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!children_among_all().contains(&id));
        assert!(!children().contains(&id));
    }
}
