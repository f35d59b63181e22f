//! Ends the children of a process that is killed and cannot end them itself.
//!
//! The watchdog is a separate process, which a program starts once. It reads a pipe whose writing end only the program
//! has, and on which the program registers the process group of each call. When the pipe closes, the program has ended,
//! and every registered group is killed.
//!
//! `PR_SET_PDEATHSIG` costs more and does less: it must be set between `fork` and `exec`, which rules out `posix_spawn`
//! and costs each call a millisecond of processor time; it reaches only the first process of a group; and it follows
//! the thread that started the child, not the process.

use std::{
    collections::BTreeSet,
    io::{self, BufRead, PipeWriter, Write},
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::{
    fs::{OFlags, fcntl_setfl},
    process::{Pid, Signal, kill_process_group},
};

use crate::adopted::{Event, report};

/// The watchdog of this process, if it has one.
static WATCHDOG: OnceLock<Watchdog> = OnceLock::new();

/// Our end of the pipe.
#[derive(Debug)]
struct Watchdog {
    pipe: PipeWriter,
    has_failed: AtomicBool,
}

/// Starts the watchdog: this very program, with `arguments` that make it call [`watch`]. For the beginning of a
/// process, before [`adopt_orphans`](crate::adopt_orphans) takes new children for supervised ones.
pub fn start_watchdog(arguments: &[&str]) -> io::Result<()> {
    // Called a second time it changes nothing: the watchdog without a pipe ends.
    let _ = WATCHDOG.set(Watchdog {
        pipe: spawn(arguments)?,
        has_failed: AtomicBool::new(false),
    });
    Ok(())
}

fn spawn(arguments: &[&str]) -> io::Result<PipeWriter> {
    let (reader, writer) = io::pipe()?;
    // A watchdog that has been stopped must not stop the program.
    fcntl_setfl(&writer, OFlags::NONBLOCK)?;
    let watchdog = Command::new(std::env::current_exe()?)
        .args(arguments)
        .env_clear()
        .current_dir("/")
        // Ctrl-C is for the program, which ends in good order.
        .process_group(0)
        .stdin(reader)
        // A reader of the program's output must see its end.
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // It is not waited for: it outlives this process.
    drop(watchdog);
    Ok(writer)
}

/// A call has begun.
pub(crate) fn register(group: Pid) {
    send('+', group);
}

/// A call has ended, and nothing is left of its group.
pub(crate) fn unregister(group: Pid) {
    send('-', group);
}

fn send(change: char, group: Pid) {
    let Some(watchdog) = WATCHDOG.get() else {
        return;
    };
    // Short enough to be written at once or not at all beside other writers.
    let line = format!("{change}{}\n", group.as_raw_nonzero());
    if let Err(error) = (&watchdog.pipe).write_all(line.as_bytes())
        && !watchdog.has_failed.swap(true, Ordering::Relaxed)
    {
        report(Event::NoWatchdog(error));
    }
}

/// The watchdog's work: reads the running groups until the program has ended, and kills the rest.
pub fn watch(program: impl BufRead) {
    let mut running = BTreeSet::new();
    for line in program.lines() {
        let Ok(line) = line else { break };
        let mut characters = line.chars();
        let change = characters.next();
        let group = characters.as_str().parse().ok();
        let group = group.filter(|group| *group > 0).and_then(Pid::from_raw);
        match (change, group) {
            (Some('+'), Some(group)) => running.insert(group.as_raw_nonzero()),
            (Some('-'), Some(group)) => running.remove(&group.as_raw_nonzero()),
            _ => continue,
        };
    }
    for group in running {
        if let Some(group) = Pid::from_raw(group.get()) {
            // It may have ended with the program.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{io::BufReader, os::unix::process::ExitStatusExt, process::Child};

    use super::*;

    /// A process group whose leader has a child.
    fn group() -> (Child, String) {
        let mut leader = Command::new("sh")
            .args(["-c", "sleep 1000 & echo $!; wait"])
            .process_group(0)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut child = String::new();
        let output = leader.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut child).unwrap();
        (leader, child.trim().to_owned())
    }

    fn is_alive(process: &str) -> bool {
        std::fs::read_to_string(format!("/proc/{process}/stat"))
            .is_ok_and(|stat| !stat.contains(") Z "))
    }

    #[test]
    fn the_groups_that_run_when_the_program_is_gone_are_killed_and_no_other() {
        let (mut running, its_child) = group();
        let (mut ended, other_child) = group();
        let (reader, mut writer) = io::pipe().unwrap();
        writeln!(writer, "+{}\n+{}", running.id(), ended.id()).unwrap();
        writeln!(writer, "-{}\nnonsense\n+0\n+-1\n+", ended.id()).unwrap();
        drop(writer);

        watch(BufReader::new(reader));

        assert_eq!(running.wait().unwrap().signal(), Some(9));
        while is_alive(&its_child) {
            std::thread::yield_now();
        }
        assert!(is_alive(&other_child) && ended.try_wait().unwrap().is_none());
        let group = Pid::from_child(&ended);
        kill_process_group(group, Signal::KILL).unwrap();
        ended.wait().unwrap();
    }
}
