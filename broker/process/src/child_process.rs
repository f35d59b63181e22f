use std::{
    io::{self, PipeReader},
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags},
    fs::{OFlags, fcntl_setfl},
    io::Errno,
    process::{
        Pid, PidfdFlags, Resource, Rlimit, Signal, WaitId, WaitIdOptions, kill_process_group,
        pidfd_open, prlimit, waitid,
    },
};

use crate::{
    Sink, Stream, TooMuch,
    adopted::Registration,
    marked::{EnvironmentTag, poll_for},
    proc_fs::resident_bytes,
};

/// How much is read at once.
const PIECE: usize = 64 * 1024;

/// The most pieces that are read of a stream after the end of its child: as much as a pipe can hold.
const PIECES_LEFT: usize = 16;

/// How often a child is polled if the kernel has no process descriptors.
const WITHOUT_DESCRIPTOR: Duration = Duration::from_millis(10);

/// How the processes are found that a child started and that have left its process group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orphans {
    /// They are not.
    Ignored,
    /// This process adopts them. All children that it has from its first call on must be supervised ones. The watchdog
    /// knows of the child.
    Adopted,
    /// By this variable in their environment. For processes with other children, and slower.
    Marked(&'static str),
}

/// How often the memory of a limited child is read.
const MEMORY_READ: Duration = Duration::from_millis(25);

/// What a child may use. Sizes are bytes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Memory that it has reserved. Programs in Go reserve some gigabytes.
    pub address_space: u64,
    /// Memory that it uses. Beyond it, the child is killed.
    pub resident: u64,
    /// Processor time, in seconds.
    pub processor_seconds: u64,
}

/// A child process before its start.
#[derive(Debug)]
pub struct ChildProcess {
    command: Command,
    deadline: Instant,
    input: Option<Vec<u8>>,
    linger: Duration,
    orphans: Orphans,
    cancel: Option<PipeReader>,
    limits: Option<Limits>,
}

/// How a child ended.
#[derive(Debug)]
pub struct Ended {
    /// By itself or not.
    pub outcome: Outcome,
    /// From its start to its end.
    pub duration: Duration,
    /// The marked processes that outlived a child that ended by itself, and were killed.
    pub left_behind: usize,
    /// Whether it ended or closed its stdin before it had read all of its input.
    pub left_input_unread: bool,
}

/// Why a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// By itself.
    Exited(ExitStatus),
    /// Killed at its deadline.
    TimedOut,
    /// Killed because of its output on this stream.
    TooMuchOutput(Stream),
    /// Killed because of the memory that it used.
    TooMuchMemory,
    /// Killed because its caller went away.
    Cancelled,
}

/// Why it is not known how a child ended.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// It was not started.
    #[error("could not start the process")]
    Start(#[source] io::Error),
    /// It was killed.
    #[error("could not follow the process")]
    Follow(#[source] io::Error),
}

impl ChildProcess {
    /// The command, which is killed when the deadline passes. Its streams and its process group are set here.
    pub fn new(command: Command, deadline: Instant) -> Self {
        Self {
            command,
            deadline,
            input: None,
            linger: Duration::ZERO,
            orphans: Orphans::Ignored,
            cancel: None,
            limits: None,
        }
    }

    /// The same with this on its stdin, which else is empty.
    #[must_use]
    pub fn with_input(self, input: Option<Vec<u8>>) -> Self {
        Self { input, ..self }
    }

    /// The same that gives the processes the child has started this time to end after it, and to print.
    #[must_use]
    pub fn with_linger(self, linger: Duration) -> Self {
        Self { linger, ..self }
    }

    /// The same with detection of orphans.
    #[must_use]
    pub fn with_orphans(self, orphans: Orphans) -> Self {
        Self { orphans, ..self }
    }

    /// The same that is killed as soon as the writing end of this pipe is closed.
    #[must_use]
    pub fn with_cancel(self, cancel: PipeReader) -> Self {
        let cancel = Some(cancel);
        Self { cancel, ..self }
    }

    /// The same with limits on what it uses.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        let limits = Some(limits);
        Self { limits, ..self }
    }

    /// Runs the child to its end. Then the rest of its process group is killed.
    pub fn run<'s>(
        mut self,
        stdout: &'s mut dyn Sink,
        stderr: &'s mut dyn Sink,
    ) -> Result<Ended, ProcessError> {
        let began = Instant::now();
        let mut group = self.spawn().map_err(ProcessError::Start)?;
        let mut pipes = Pipes::of(&mut group.child, self.input.take(), self.cancel.take())
            .map_err(ProcessError::Follow)?;
        let mut sinks: Sinks<'s> = [stdout, stderr];
        let end = group
            .attend(&mut pipes, &mut sinks, self.deadline, self.linger)
            .map_err(ProcessError::Follow)?;
        let duration = end.at - began;
        let left_behind = match (&group.mark, &end.reason) {
            (Some(mark), Reason::Exited) => mark.left_after(group.leader(), end.at + self.linger),
            _ => 0,
        };
        let status = group.end().map_err(ProcessError::Follow)?;
        let too_much = pipes.drain(&mut sinks);
        let outcome = match (end.reason, too_much) {
            (Reason::Exited, Ok(())) => Outcome::Exited(status),
            (Reason::TooMuchOutput(stream), _) | (Reason::Exited, Err(stream)) => {
                Outcome::TooMuchOutput(stream)
            }
            (Reason::TimedOut, _) => Outcome::TimedOut,
            (Reason::TooMuchMemory, _) => Outcome::TooMuchMemory,
            (Reason::Cancelled, _) => Outcome::Cancelled,
        };
        Ok(Ended {
            outcome,
            duration,
            left_behind,
            left_input_unread: !pipes.input.is_empty(),
        })
    }

    fn spawn(&mut self) -> io::Result<Group> {
        let stdin = match self.input {
            Some(_) => Stdio::piped(),
            None => Stdio::null(),
        };
        let command = self
            .command
            .process_group(0)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut mark = None;
        let (child, registration) = match self.orphans {
            Orphans::Ignored => (command.spawn()?, None),
            Orphans::Adopted => {
                let (child, registration) = Registration::spawn(command)?;
                (child, Some(registration))
            }
            Orphans::Marked(variable) => {
                mark.insert(EnvironmentTag::new(variable)).put_on(command);
                (command.spawn()?, None)
            }
        };
        let group = Group {
            child,
            is_reaped: false,
            mark,
            resident: self.limits.map(|limits| limits.resident),
            _registration: registration,
        };
        if let Some(limits) = self.limits {
            group.limit(limits)?;
        }
        Ok(group)
    }
}

/// A running child and its descendants. None of them outlives this value.
struct Group {
    child: Child,
    /// Its id, which is that of its group, may soon belong to another process.
    is_reaped: bool,
    mark: Option<EnvironmentTag>,
    /// How much memory it may use.
    resident: Option<u64>,
    _registration: Option<Registration>,
}

/// Those of stdout and stderr.
type Sinks<'s> = [&'s mut dyn Sink; 2];

struct End {
    reason: Reason,
    at: Instant,
}

enum Reason {
    Exited,
    TimedOut,
    TooMuchOutput(Stream),
    TooMuchMemory,
    Cancelled,
}

impl Group {
    fn leader(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sets its limits. It has begun, but not done anything that matters yet.
    fn limit(&self, limits: Limits) -> io::Result<()> {
        for (resource, most) in [
            (Resource::As, limits.address_space),
            (Resource::Cpu, limits.processor_seconds),
            (Resource::Core, 0),
        ] {
            let limit = Rlimit {
                current: Some(most),
                maximum: Some(most),
            };
            match prlimit(Some(self.leader()), resource, limit) {
                // It has ended.
                Ok(_) | Err(Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn uses_too_much_memory(&self) -> bool {
        self.resident
            .is_some_and(|most| resident_bytes(self.leader()).is_some_and(|used| used > most))
    }

    /// Feeds the child and reads its output until it ends or is killed.
    fn attend(
        &self,
        pipes: &mut Pipes,
        sinks: &mut Sinks<'_>,
        deadline: Instant,
        linger: Duration,
    ) -> io::Result<End> {
        // Not reaped yet, the leader keeps its id.
        let descriptor = pidfd_open(self.leader(), PidfdFlags::empty()).ok();
        let mut exited = None;
        loop {
            let now = Instant::now();
            if exited.is_none() && self.has_exited()? {
                exited = Some(now);
            }
            let until = exited.map_or(deadline, |at| deadline.min(at + linger));
            pipes.write();
            let read = pipes.read(sinks);
            let (reason, at) = match (exited, read) {
                (_, Err(stream)) => (Reason::TooMuchOutput(stream), now),
                (Some(at), _) if now >= until || pipes.are_closed() => (Reason::Exited, at),
                _ if now >= until => (Reason::TimedOut, now),
                _ if pipes.is_cancelled() => (Reason::Cancelled, now),
                (None, _) if self.uses_too_much_memory() => (Reason::TooMuchMemory, now),
                _ => {
                    let left = until.saturating_duration_since(now);
                    let left = self.resident.map_or(left, |_| left.min(MEMORY_READ));
                    match (exited, &descriptor) {
                        (Some(_), _) => pipes.wait(None, left)?,
                        (None, Some(descriptor)) => pipes.wait(Some(descriptor), left)?,
                        (None, None) => pipes.wait(None, left.min(WITHOUT_DESCRIPTOR))?,
                    }
                    continue;
                }
            };
            return Ok(End { reason, at });
        }
    }

    /// Whether the leader has ended. It is not reaped.
    fn has_exited(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(self.leader()), options)?.is_some())
    }

    /// Kills the group and the marked processes, and reaps the leader.
    fn end(&mut self) -> io::Result<ExitStatus> {
        // An empty group answers ESRCH, which is fine.
        let _ = kill_process_group(self.leader(), Signal::KILL);
        if let Some(mark) = &self.mark {
            mark.kill(self.leader());
        }
        self.is_reaped = true;
        self.child.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.is_reaped {
            let _ = self.end();
        }
    }
}

/// Our ends of the child's pipes, which do not block.
struct Pipes {
    stdin: Option<OwnedFd>,
    /// The input that was not written yet.
    input: Vec<u8>,
    written: usize,
    /// Stdout and stderr, until they are closed.
    streams: [Option<OwnedFd>; 2],
    cancel: Option<PipeReader>,
    piece: Vec<u8>,
}

impl Pipes {
    fn of(
        child: &mut Child,
        input: Option<Vec<u8>>,
        cancel: Option<PipeReader>,
    ) -> io::Result<Self> {
        let pipes = Self {
            stdin: child.stdin.take().map(OwnedFd::from),
            input: input.unwrap_or_default(),
            written: 0,
            streams: [
                child.stdout.take().map(OwnedFd::from),
                child.stderr.take().map(OwnedFd::from),
            ],
            cancel,
            piece: vec![0; PIECE],
        };
        for pipe in pipes.streams.iter().chain([&pipes.stdin]).flatten() {
            fcntl_setfl(pipe, OFlags::NONBLOCK)?;
        }
        if let Some(cancel) = &pipes.cancel {
            fcntl_setfl(cancel, OFlags::NONBLOCK)?;
        }
        Ok(pipes)
    }

    fn are_closed(&self) -> bool {
        self.streams.iter().all(Option::is_none)
    }

    fn is_cancelled(&self) -> bool {
        let Some(cancel) = &self.cancel else {
            return false;
        };
        matches!(rustix::io::read(cancel, &mut [0; 1]), Ok(0))
    }

    /// Writes what fits. A child that does not read its input may close the pipe.
    fn write(&mut self) {
        let Some(stdin) = &self.stdin else { return };
        match rustix::io::write(stdin, &self.input[self.written..]) {
            Ok(length) => self.written += length,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.stdin = None,
        }
        if self.written == self.input.len() {
            self.input.clear();
            self.written = 0;
            self.stdin = None;
        }
    }

    /// Reads a piece of each stream, if there is one.
    fn read(&mut self, sinks: &mut Sinks<'_>) -> Result<bool, Stream> {
        let mut has_read = false;
        let streams = self
            .streams
            .iter_mut()
            .zip([Stream::Stdout, Stream::Stderr]);
        for ((pipe, stream), sink) in streams.zip(sinks) {
            let Some(open) = pipe else { continue };
            match rustix::io::read(open, &mut self.piece) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                Ok(length @ 1..) => {
                    has_read = true;
                    sink.take(&self.piece[..length]).map_err(|TooMuch| stream)?;
                }
                Ok(0) | Err(_) => {
                    *pipe = None;
                    sink.close();
                }
            }
        }
        Ok(has_read)
    }

    /// Reads the rest of the pipes after the child's end, without waiting for other processes that hold them.
    fn drain(&mut self, sinks: &mut Sinks<'_>) -> Result<(), Stream> {
        for _ in 0..PIECES_LEFT {
            if !self.read(sinks)? {
                break;
            }
        }
        for (pipe, sink) in self.streams.iter().zip(sinks) {
            if pipe.is_some() {
                sink.close();
            }
        }
        Ok(())
    }

    /// Waits until the child has ended, prints, reads or is cancelled.
    fn wait(&self, end: Option<&OwnedFd>, at_most: Duration) -> io::Result<()> {
        let readable = end.into_iter().chain(self.streams.iter().flatten());
        let readable = readable.map(AsFd::as_fd);
        let readable = readable.chain(self.cancel.iter().map(AsFd::as_fd));
        let mut awaited: Vec<PollFd<'_>> = readable
            .map(|pipe| PollFd::from_borrowed_fd(pipe, PollFlags::IN))
            .chain(
                self.stdin
                    .iter()
                    .map(|stdin| PollFd::new(stdin, PollFlags::OUT)),
            )
            .collect();
        match poll_for(&mut awaited, at_most) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsString, fs, path::Path, sync::mpsc, thread};

    use super::*;
    use crate::Capture;

    const LONG: Duration = Duration::from_secs(30);

    fn bash(script: &str, limit: Duration) -> ChildProcess {
        let mut command = Command::new("bash");
        command.args(["-c", script]);
        ChildProcess::new(command, Instant::now() + limit)
    }

    /// How it ended, and the first 64 KiB of its output.
    fn run(process: ChildProcess) -> (Ended, String, String) {
        let [mut stdout, mut stderr] = [(); 2].map(|()| Capture::first(64 * 1024));
        let ended = process.run(&mut stdout, &mut stderr).unwrap();
        (ended, stdout.into_text(), stderr.into_text())
    }

    fn exit_code(ended: &Ended) -> Option<i32> {
        match ended.outcome {
            Outcome::Exited(status) => status.code(),
            _ => None,
        }
    }

    /// Whether a process has ended, or only waits to be reaped.
    fn ends(pid: &str) -> bool {
        let until = Instant::now() + LONG;
        while Instant::now() < until {
            let status = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
            if status.map_or(true, |status| status.contains(") Z ")) {
                return true;
            }
            thread::yield_now();
        }
        false
    }

    const FEW: Limits = Limits {
        address_space: 1 << 40,
        resident: 64 << 20,
        processor_seconds: 1,
    };

    #[test]
    fn a_child_that_uses_more_memory_than_it_may_is_killed() {
        let greedy = bash(
            "x=$(head -c 100000000 /dev/zero | tr '\\0' a); sleep 1000",
            LONG,
        );
        let (ended, ..) = run(greedy.with_limits(FEW));
        assert_eq!(ended.outcome, Outcome::TooMuchMemory);
        let (ended, out, _) = run(bash("echo small", LONG).with_limits(FEW));
        assert!(matches!(ended.outcome, Outcome::Exited(status) if status.success()));
        assert_eq!(out, "small\n");
    }

    #[test]
    fn a_child_that_computes_longer_than_it_may_is_killed() {
        let (ended, ..) = run(bash("while :; do :; done", LONG).with_limits(FEW));
        assert!(matches!(ended.outcome, Outcome::Exited(status) if !status.success()));
    }

    #[test]
    fn both_streams_and_the_status_are_returned() {
        let (ended, stdout, stderr) = run(bash("echo out; echo err >&2; exit 3", LONG));
        assert_eq!((stdout.as_str(), stderr.as_str()), ("out\n", "err\n"));
        assert_eq!(exit_code(&ended), Some(3));
    }

    #[test]
    fn what_is_printed_beyond_the_limit_is_discarded_and_holds_nothing_up() {
        let (ended, stdout, stderr) = run(bash("yes | head -c 1000000; echo over >&2", LONG));
        assert_eq!((stdout.len(), stderr.as_str()), (64 * 1024, "over\n"));
        assert_eq!(exit_code(&ended), Some(0));
    }

    #[test]
    fn a_process_over_its_output_limit_is_killed_even_if_it_has_ended() {
        for script in ["yes", "echo 12345"] {
            let (mut stdout, mut stderr) = (Capture::at_most(4), Capture::first(0));
            let ended = bash(script, LONG).run(&mut stdout, &mut stderr).unwrap();
            assert_eq!(ended.outcome, Outcome::TooMuchOutput(Stream::Stdout));
            assert_eq!(stdout.bytes.len(), 4);
        }
    }

    #[test]
    fn a_child_that_does_not_end_is_killed_with_what_it_started() {
        let script = "sleep 1000 & echo $!; echo $$; wait";
        let (ended, pids, _) = run(bash(script, Duration::from_secs(1)));
        assert_eq!(ended.outcome, Outcome::TimedOut);
        assert_eq!(pids.lines().count(), 2);
        assert!(pids.lines().all(ends), "{pids}");
    }

    #[test]
    fn a_child_whose_own_child_keeps_the_pipes_open_ends_when_it_ends() {
        let (ended, pid, _) = run(bash("sleep 1000 & echo $!", LONG));
        assert_eq!(exit_code(&ended), Some(0));
        assert!(ends(&pid), "{pid}");
    }

    #[test]
    fn what_the_childs_own_child_prints_soon_after_its_end_is_kept() {
        let process = bash("(sleep 0.1; echo late) &", LONG).with_linger(LONG);
        let (ended, stdout, _) = run(process);
        assert_eq!((exit_code(&ended), stdout.as_str()), (Some(0), "late\n"));
    }

    #[test]
    fn a_long_input_is_read_while_a_long_output_is_printed() {
        let input = vec![b'x'; 1024 * 1024];
        let process = bash("tee >(cat >&2)", LONG).with_input(Some(input.clone()));
        let (mut stdout, mut stderr) = (Capture::at_most(input.len()), Capture::first(9));
        let ended = process.run(&mut stdout, &mut stderr).unwrap();
        assert!(!ended.left_input_unread && stdout.bytes == input);
    }

    #[test]
    fn input_that_is_not_read_is_noticed() {
        let input = vec![b'x'; 1024 * 1024];
        for script in ["exec <&-; echo out", "echo out"] {
            let (ended, stdout, _) = run(bash(script, LONG).with_input(Some(input.clone())));
            assert!(ended.left_input_unread, "{ended:?}");
            assert_eq!((exit_code(&ended), stdout.as_str()), (Some(0), "out\n"));
        }
    }

    #[test]
    fn a_child_whose_caller_goes_away_is_killed() {
        let (cancel, caller) = io::pipe().unwrap();
        let (report, running) = mpsc::channel();
        let process = bash("echo $$; sleep 1000", LONG).with_cancel(cancel);
        let ended = thread::spawn(move || {
            let mut stdout = crate::Lines::new(100, 100, |pid: &[u8]| {
                report
                    .send(String::from_utf8_lossy(pid).into_owned())
                    .unwrap();
            });
            process.run(&mut stdout, &mut Capture::first(0)).unwrap()
        });
        let pid = running.recv().unwrap();
        drop(caller);
        assert_eq!(ended.join().unwrap().outcome, Outcome::Cancelled);
        assert!(ends(&pid), "{pid}");
    }

    #[test]
    fn marked_processes_are_found_wherever_they_have_gone() {
        let script = "setsid -f sh -c 'echo $$; exec sleep 1000' | { read pid; echo $pid; }";
        let process = bash(script, LONG).with_orphans(Orphans::Marked("ODB_TEST_CALL"));
        let (ended, pid, _) = run(process);
        assert_eq!(ended.left_behind, 1, "{ended:?}");
        assert!(ends(&pid), "{pid}");
    }

    #[test]
    fn a_program_that_is_not_there_is_not_started() {
        let command = Command::new(Path::new("/does/not/exist"));
        let process = ChildProcess::new(command, Instant::now() + LONG);
        let started = process.run(&mut Capture::first(0), &mut Capture::first(0));
        assert!(
            matches!(started, Err(ProcessError::Start(_))),
            "{started:?}"
        );
    }

    #[test]
    fn children_inherit_what_programs_need_and_nothing_else() {
        let inherits = |name: &str| crate::is_inherited(&OsString::from(name));
        assert!(inherits("PATH") && inherits("https_proxy"));
        assert!(!inherits("AWS_SECRET_ACCESS_KEY"));
    }
}
