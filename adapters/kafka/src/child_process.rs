use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

/// How much is kept of each stream, in bytes. A program may say more, but that is not read by anybody.
const KEPT: usize = 64 * 1024;

/// How a program ended, and what it said.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Why nothing is known of a program's work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChildProcessError {
    #[error("could not start `{}`", program.display())]
    NotStarted {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` had not ended after {} s and was killed", program.display(), limit.as_secs())]
    Hung { program: PathBuf, limit: Duration },
    #[error("could not follow `{}`", program.display())]
    Lost {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Runs a program to its end, or kills it when `limit` has passed. Nothing that it started in its process group outlives
/// the call.
pub(crate) fn run(
    program: &Path,
    arguments: &[&str],
    limit: Duration,
) -> Result<Ended, ChildProcessError> {
    let until = Instant::now() + limit;
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|source| ChildProcessError::NotStarted {
            program: program.to_owned(),
            source,
        })?;
    let mut group = Group(child);
    let lost = |source: io::Error| ChildProcessError::Lost {
        program: program.to_owned(),
        source,
    };
    let Some([stdout, stderr]) = group.listen(until).map_err(lost)? else {
        return Err(ChildProcessError::Hung {
            program: program.to_owned(),
            limit,
        });
    };
    Ok(Ended {
        status: group.end().map_err(lost)?,
        stdout,
        stderr,
    })
}

/// A program and what it started. Dropped, all of it is killed.
struct Group(Child);

impl Group {
    /// What the program says until its end, on stdout and stderr; `None` if that has not come when the time is up.
    fn listen(&mut self, until: Instant) -> io::Result<Option<[String; 2]>> {
        let end = pidfd_open(Pid::from_child(&self.0), PidfdFlags::empty())?;
        let mut streams = [
            Stream::of(self.0.stdout.take().map(OwnedFd::from)),
            Stream::of(self.0.stderr.take().map(OwnedFd::from)),
        ];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            if await_something(&end, &mut streams, left)? == Moment::Over {
                // What was written before the end is in the pipes. Whoever holds them open is not waited for.
                while streams.iter().any(|stream| stream.is_ready) && Instant::now() < until {
                    await_something(&end, &mut streams, Duration::ZERO)?;
                }
                return Ok(Some(streams.map(Stream::into_text)));
            }
        }
    }

    /// Ends whatever is left of the group, and tells how its leader ended.
    fn end(&mut self) -> io::Result<ExitStatus> {
        // A group of which nobody is left answers ESRCH, which is what we want to hear.
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        self.0.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Once it is reaped its id may be somebody else's.
        if let Ok(None) = self.0.try_wait() {
            let _ = self.end();
        }
    }
}

#[derive(PartialEq, Eq)]
enum Moment {
    Running,
    Over,
}

/// Waits until the program ends or says something, and reads what it says.
fn await_something(
    end: &OwnedFd,
    streams: &mut [Stream; 2],
    at_most: Duration,
) -> io::Result<Moment> {
    let timeout = Timespec::try_from(at_most).map_err(io::Error::other)?;
    let mut awaited = vec![PollFd::new(end, PollFlags::IN)];
    for stream in streams.iter() {
        awaited.extend(
            stream
                .pipe
                .as_ref()
                .map(|pipe| PollFd::new(pipe, PollFlags::IN)),
        );
    }
    match poll(&mut awaited, Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut happened = awaited.iter().map(|fd| !fd.revents().is_empty());
    let is_over = happened.next().unwrap_or_default();
    let ready: Vec<bool> = happened.collect();
    drop(awaited);
    let mut ready = ready.into_iter();
    for stream in streams {
        stream.is_ready = stream.pipe.is_some() && ready.next().unwrap_or_default();
        if stream.is_ready {
            stream.read()?;
        }
    }
    Ok(if is_over {
        Moment::Over
    } else {
        Moment::Running
    })
}

/// One of the program's streams, until it is closed.
struct Stream {
    pipe: Option<OwnedFd>,
    is_ready: bool,
    kept: Vec<u8>,
}

impl Stream {
    fn of(pipe: Option<OwnedFd>) -> Self {
        Self {
            pipe,
            is_ready: false,
            kept: Vec::new(),
        }
    }

    /// Takes what is there, of which there is something.
    fn read(&mut self) -> io::Result<()> {
        let Some(pipe) = &self.pipe else {
            return Ok(());
        };
        let mut buffer = [0; 4096];
        match rustix::io::read(pipe, &mut buffer) {
            Ok(0) => self.pipe = None,
            Ok(length) => {
                let room = KEPT - self.kept.len();
                self.kept.extend_from_slice(&buffer[..length.min(room)]);
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn into_text(self) -> String {
        String::from_utf8_lossy(&self.kept).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bash(script: &str, limit: Duration) -> Result<Ended, ChildProcessError> {
        run(Path::new("bash"), &["-c", script, "bash"], limit)
    }

    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn both_streams_and_the_status_are_told() {
        let ended = bash("echo out; echo err >&2; exit 3", PATIENCE).unwrap();
        assert_eq!(
            (ended.stdout.as_str(), ended.stderr.as_str()),
            ("out\n", "err\n")
        );
        assert_eq!(ended.status.code(), Some(3));
    }

    #[test]
    fn what_is_said_beyond_the_limit_is_passed_over_and_holds_nothing_up() {
        let ended = bash("yes | head -c 1000000; echo over >&2", PATIENCE).unwrap();
        assert_eq!(ended.stdout.len(), KEPT);
        assert_eq!(ended.stderr, "over\n");
    }

    #[test]
    fn a_program_that_does_not_end_is_killed_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let pids = folder.path().join("pids");
        let script = format!(
            "sleep 1000 & echo $! >'{0}'; echo $$ >>'{0}'; wait",
            pids.display()
        );
        let error = bash(&script, Duration::from_secs(1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`bash` had not ended after 1 s and was killed"
        );
        for pid in std::fs::read_to_string(pids).unwrap().lines() {
            assert!(has_ended(pid), "{pid}");
        }
    }

    #[test]
    fn a_program_whose_child_keeps_the_pipes_open_ends_when_it_ends() {
        let ended = bash("sleep 1000 & echo $!", PATIENCE).unwrap();
        assert!(has_ended(ended.stdout.trim()), "{ended:?}");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = run(Path::new("/does/not/exist"), &[], PATIENCE).unwrap_err();
        assert_eq!(error.to_string(), "could not start `/does/not/exist`");
    }

    /// Whether a process is gone, or waits for nothing but to be reaped.
    fn has_ended(pid: &str) -> bool {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let status = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            let still_runs = status.is_ok_and(|status| !status.contains(") Z "));
            if !still_runs {
                return true;
            }
            std::thread::yield_now();
        }
        false
    }
}
