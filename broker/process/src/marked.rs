use std::{
    fs,
    process::Command,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open},
};

use crate::proc_fs::{Status, processes};

/// The processes of one call: those in the group of its leader, and those that have its mark in their environment, in
/// any group. For a process with other children than these.
#[derive(Debug)]
pub(crate) struct EnvironmentTag {
    variable: &'static str,
    value: String,
}

impl EnvironmentTag {
    /// A mark that no other call has.
    pub(crate) fn new(variable: &'static str) -> Self {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let call = CALLS.fetch_add(1, Ordering::Relaxed);
        Self {
            variable,
            value: format!("{}-{call}", std::process::id()),
        }
    }

    pub(crate) fn put_on(&self, command: &mut Command) {
        command.env(self.variable, &self.value);
    }

    /// How many processes of the call beside its leader are not about to end by themselves.
    pub(crate) fn left_after(&self, leader: Pid, until: Instant) -> usize {
        let alive = self.alive(leader).into_iter();
        alive.filter(|process| !ends_by(*process, until)).count()
    }

    /// Kills all processes of the call but its leader.
    pub(crate) fn kill(&self, leader: Pid) {
        for process in self.alive(leader) {
            let _ = kill_process(process, Signal::KILL);
        }
    }

    fn alive(&self, leader: Pid) -> Vec<Pid> {
        let others = processes().filter(|process| process.id != leader && !process.is_dead);
        let own = others.filter(|other| other.group == Some(leader) || self.is_on(other));
        own.map(|process| process.id).collect()
    }

    fn is_on(&self, process: &Status) -> bool {
        let wanted = format!("{}={}", self.variable, self.value);
        let environment = fs::read(format!("/proc/{}/environ", process.id.as_raw_nonzero()));
        environment.is_ok_and(|environment| {
            let mut variables = environment.split(|byte| *byte == 0);
            variables.any(|variable| variable == wanted.as_bytes())
        })
    }
}

fn ends_by(process: Pid, until: Instant) -> bool {
    // A process without a descriptor has ended.
    let Ok(handle) = pidfd_open(process, PidfdFlags::empty()) else {
        return true;
    };
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match poll_for(&mut [PollFd::new(&handle, PollFlags::IN)], left) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Waits for one of these, and no longer than that.
pub(crate) fn poll_for(awaited: &mut [PollFd<'_>], at_most: Duration) -> Result<usize, Errno> {
    // A time that does not fit is none: no request waits so long.
    let timeout = Timespec::try_from(at_most).ok();
    poll(awaited, timeout.as_ref())
}
