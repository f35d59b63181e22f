//! Processes that children leave behind outside their process group: daemons with a session of their own.
//!
//! This process becomes the reaper of its descendants, so that an orphan becomes its child and can be found. Which call
//! started it is not visible from the outside, but no process outlives its call: an orphan is killed as soon as no call
//! runs any more that was running when the orphan began.
//!
//! Not every child is a supervised one. A script that starts this program by `exec` may have started others before,
//! such as the `tee` of `exec > >(tee -a log)`: children from before the first call are left alone.

use std::{
    collections::{HashMap, HashSet},
    io,
    process::{Child, Command},
    sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags},
    process::{
        Pid, PidfdFlags, Signal, WaitOptions, getpgrp, getpid, kill_process, kill_process_group,
        pidfd_open, set_child_subreaper, test_kill_process_group, waitpid,
    },
};

use crate::{
    marked::poll_for,
    proc_fs::{Status, Ticks, children},
    watchdog,
};

/// How long the orphans of a call are hunted.
const LIMIT: Duration = Duration::from_secs(5);

/// The longest pause between two searches.
const PAUSE: Duration = Duration::from_millis(50);

/// Warnings about the supervision of children, for the operator of this process.
#[derive(Debug)]
pub enum Event {
    /// Orphans outside of their group will not be found.
    CannotAdopt(io::Error),
    /// The watchdog has ended: if this process is killed, its children survive.
    NoWatchdog(io::Error),
    /// How many processes outside of their group were left, and have been killed.
    Killed(usize),
    /// How many could not be killed in time.
    Survived(usize),
}

static REPORT: OnceLock<fn(Event)> = OnceLock::new();

/// The running calls. Children belong to the process, and so does this.
static CALLS: LazyLock<Mutex<Calls>> = LazyLock::new(|| {
    let calls = Calls {
        leaders: HashMap::new(),
        inherited: children().into_iter().collect(),
    };
    if let Err(error) = set_child_subreaper(Some(getpid())) {
        report(Event::CannotAdopt(error.into()));
    }
    Mutex::new(calls)
});

/// The children that are no orphans.
#[derive(Debug)]
struct Calls {
    /// The leaders of the calls that run, with the moments at which they began.
    leaders: HashMap<Pid, Ticks>,
    /// Children from before the first call. Their ids are theirs until we have reaped them.
    inherited: HashSet<Pid>,
}

/// A call that runs. When it is dropped, its orphans are ended in the background.
#[derive(Debug)]
pub(crate) struct Registration(Pid);

impl Registration {
    /// Starts a leader. While it starts, no search takes it for an orphan.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<(Child, Self)> {
        let mut calls = calls();
        let child = command.spawn()?;
        let id = Pid::from_child(&child);
        let began = Status::of(id).map_or(0, |status| status.began);
        calls.leaders.insert(id, began);
        watchdog::register(id);
        Ok((child, Self(id)))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let group = self.0;
        watchdog::unregister(group);
        calls().leaders.remove(&group);
        // Without a thread for it, the search after the next call finds them.
        let _ = thread::Builder::new()
            .name("orphans".to_owned())
            .spawn(move || end_orphans(|| test_kill_process_group(group).is_ok()));
    }
}

/// Supervises new children of this process, and reports events of their orphans to this function. For the start of
/// the process.
pub fn adopt_orphans(to: fn(Event)) {
    let _ = REPORT.set(to);
    LazyLock::force(&CALLS);
}

/// Ends all orphans, whichever call left them. For the end of the process.
pub fn end_all_orphans() {
    calls().leaders.clear();
    end_orphans(|| false);
}

pub(crate) fn report(event: Event) {
    if let Some(report) = REPORT.get() {
        report(event);
    }
}

/// Kills and reaps orphans until there are none, and no process any more that may leave others.
fn end_orphans(others_may_follow: impl Fn() -> bool) {
    let end = Instant::now() + LIMIT;
    let mut killed = HashSet::new();
    loop {
        // In this order: a process that has ended has left its children before.
        let may_follow = others_may_follow();
        let orphans = kill_orphans();
        killed.extend(orphans.iter().copied());
        if orphans.is_empty() && !may_follow {
            break;
        }
        if Instant::now() > end {
            report(Event::Survived(orphans.len()));
            break;
        }
        pause(orphans.last().copied());
    }
    if !killed.is_empty() {
        report(Event::Killed(killed.len()));
    }
}

/// Kills the orphans that no running call can have started, with their groups, and reaps dead ones. Returns those that
/// were alive.
fn kill_orphans() -> Vec<Pid> {
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
        let Some(child) = Status::of(id).filter(|child| !calls.may_have_begun(child)) else {
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
    /// Whether a running call may have started this process.
    fn may_have_begun(&self, child: &Status) -> bool {
        let is_in_its_group = child
            .group
            .is_some_and(|group| self.leaders.contains_key(&group));
        is_in_its_group || self.leaders.values().any(|began| *began <= child.began)
    }
}

/// Waits until a process is dead, a short while at most.
fn pause(process: Option<Pid>) {
    let handle = process.and_then(|process| pidfd_open(process, PidfdFlags::empty()).ok());
    // Interrupted or not, the next search shows.
    let _ = match &handle {
        Some(handle) => poll_for(&mut [PollFd::new(handle, PollFlags::IN)], PAUSE),
        None => poll_for(&mut [], PAUSE),
    };
}

fn calls() -> MutexGuard<'static, Calls> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}
