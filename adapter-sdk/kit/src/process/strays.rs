use std::fs;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};

/// How long what an adapter started may take to end after it.
const GRACE: Duration = Duration::from_millis(500);

/// Names each call in the environment of everything that it starts.
pub(super) const MARK: &str = "ODB_ADAPTER_CALL";

/// The processes of one call: those in the group of its leader, and those that carry its mark
/// wherever they have gone.
pub(super) struct Strays<'c> {
    pub(super) leader: Pid,
    pub(super) mark: &'c str,
}

impl Strays<'_> {
    /// Ends all processes of the call but the leader, and tells how many had not been about to end.
    pub(super) fn end(&self) -> usize {
        let until = Instant::now() + GRACE;
        let left: Vec<Pid> = self
            .alive()
            .into_iter()
            .filter(|process| !ends_by(*process, until))
            .collect();
        self.kill();
        left.len()
    }

    /// Kills all processes of the call.
    pub(super) fn kill(&self) {
        // An empty group answers ESRCH, which is what we want to hear.
        let _ = kill_process_group(self.leader, Signal::KILL);
        for process in self.alive() {
            let _ = kill_process(process, Signal::KILL);
        }
    }

    fn alive(&self) -> Vec<Pid> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(Pid::from_raw)
            .filter(|process| *process != self.leader && self.is_ours(*process))
            .collect()
    }

    fn is_ours(&self, process: Pid) -> bool {
        let Some((state, group)) = state_and_group(process) else {
            return false;
        };
        let leader = self.leader.as_raw_nonzero().get();
        state != "Z" && state != "X" && (group == leader || self.is_marked(process))
    }

    fn is_marked(&self, process: Pid) -> bool {
        let wanted = format!("{MARK}={}", self.mark);
        fs::read(format!("/proc/{}/environ", process.as_raw_nonzero())).is_ok_and(|environment| {
            environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == wanted.as_bytes())
        })
    }
}

/// Waits for the end of a process of ours or not, until then at most.
pub(super) fn ends_by(process: Pid, until: Instant) -> bool {
    // Whoever has no process descriptor is gone.
    let Ok(handle) = pidfd_open(process, PidfdFlags::empty()) else {
        return true;
    };
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).expect("a deadline is nearer than the end of time");
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&left)) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Fields 3 and 5 of `/proc/PID/stat` (proc(5)). The group of a process that is being reaped is -1.
fn state_and_group(process: Pid) -> Option<(String, i32)> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    // The name in brackets may hold anything, brackets included.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.to_owned();
    let group = fields.nth(1)?.parse().ok()?;
    Some((state, group))
}
