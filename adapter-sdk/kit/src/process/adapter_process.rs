use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use std::{env, thread};

use odb_adapter_sdk::protocol::ExitCode;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::output::{Heard, Output};
use super::strays::{MARK, Strays, ends_by};
use super::{End, Ended, ProcessCall, Program};

/// The longest answer that the broker takes unless its configuration says otherwise, in bytes.
const LONGEST_STDOUT: usize = 8 * 1024 * 1024;

/// Longer than anybody waits, and short enough to reckon with.
const LONGEST_DEADLINE: Duration = Duration::from_hours(24);

/// How much of stderr is kept, in bytes.
const KEPT_STDERR: usize = 1024 * 1024;

/// How long the pipes of a process that has ended may stay open.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the broker hands on of its own environment, beside what its configuration names.
const HANDED_ON: [&str; 13] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
];

static CALLS: AtomicU64 = AtomicU64::new(0);

/// An adapter that can be called again and again, each time in a process of its own.
#[derive(Debug, Clone)]
pub struct AdapterProcess {
    program: Program,
    environment: Vec<(OsString, OsString)>,
    deadline: Duration,
}

/// Why a process could not be started.
#[derive(Debug, thiserror::Error)]
#[error("could not start `{}`", executable.display())]
pub struct StartError {
    executable: PathBuf,
    #[source]
    source: io::Error,
}

impl AdapterProcess {
    /// The adapter, with ten seconds for each call.
    pub fn new(program: Program) -> Self {
        Self {
            program,
            environment: Vec::new(),
            deadline: Duration::from_secs(10),
        }
    }

    /// The same with another time for each call, at most a day.
    #[must_use]
    pub fn with_deadline(self, deadline: Duration) -> Self {
        Self {
            deadline: deadline.min(LONGEST_DEADLINE),
            ..self
        }
    }

    /// The same with a variable in its environment, beside those that a broker hands on anyway:
    /// `PATH`, `HOME`, `TMPDIR`, locale and proxies.
    #[must_use]
    pub fn with_variable(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// The time for each call.
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// The adapter's executable.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Runs the adapter once, as a broker does: in `/`, as leader of a process group of its own.
    pub fn run(&self, call: &ProcessCall) -> Result<Ended, StartError> {
        let mark = format!(
            "{}-{}",
            std::process::id(),
            CALLS.fetch_add(1, Ordering::Relaxed)
        );
        let began = Instant::now();
        let child = self.start(call, &mark).map_err(|source| StartError {
            executable: self.program.executable.clone(),
            source,
        })?;
        Ok(attend(child, call, &mark, began, self.deadline))
    }

    fn start(&self, call: &ProcessCall, mark: &str) -> io::Result<Child> {
        let stdin = match call.input() {
            Some(_) => Stdio::piped(),
            None => Stdio::null(),
        };
        let handed_on = HANDED_ON
            .into_iter()
            .filter_map(|name| Some((name, env::var_os(name)?)));
        let given = self.program.environment.iter().chain(&self.environment);
        Command::new(&self.program.executable)
            .args(call.argv())
            .env_clear()
            .envs(handed_on)
            .envs(given.map(|(name, value)| (name, value)))
            .env(MARK, mark)
            .current_dir("/")
            .process_group(0)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    }
}

fn attend(
    mut child: Child,
    call: &ProcessCall,
    mark: &str,
    began: Instant,
    deadline: Duration,
) -> Ended {
    let leader = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let leader = leader.expect("Linux gives processes positive ids that fit into 32 bits");
    let strays = Strays { leader, mark };
    let fed = child.stdin.take().zip(call.input()).map(feed);
    let stdout = child.stdout.take().expect("stdout is piped");
    let stderr = child.stderr.take().expect("stderr is piped");
    // Not reaped yet, the leader keeps its id; the handle is its own for good.
    let handle = pidfd_open(leader, PidfdFlags::empty());
    let stop = move || {
        if let Ok(handle) = handle {
            // It may have ended by now.
            let _ = pidfd_send_signal(handle, Signal::KILL);
        }
    };
    let stdout = Output::of(stdout, LONGEST_STDOUT, stop);
    let stderr = Output::of(stderr, KEPT_STDERR, || {});

    let is_in_time = ends_by(leader, began + deadline);
    let duration = began.elapsed();
    // Not reaped yet, the leader keeps its id, which is that of its group.
    let has_ended_itself = is_in_time && !stdout.is_cut();
    let left_behind = if has_ended_itself { strays.end() } else { 0 };
    strays.kill();
    let status = child.wait();

    let stdout = stdout.at_end(PATIENCE);
    let stderr = stderr.at_end(PATIENCE);
    Ended {
        end: end(is_in_time, &stdout, status.ok()),
        stdout: stdout.bytes,
        stderr: stderr.bytes,
        duration,
        left_behind,
        left_input_unread: fed.is_some_and(|fed| fed.recv_timeout(PATIENCE) == Ok(Fed::Refused)),
    }
}

fn end(is_in_time: bool, stdout: &Heard, status: Option<ExitStatus>) -> End {
    if stdout.is_cut {
        return End::TooMuchOutput;
    }
    match status {
        _ if !is_in_time => End::OutOfTime,
        Some(status) => match (status.code(), status.signal()) {
            (Some(code), _) => End::Exited(ExitCode::from(code)),
            (None, signal) => End::Signalled(signal.unwrap_or_default()),
        },
        // Somebody else has reaped our child: how it ended is lost, and that is no success.
        None => End::Exited(ExitCode::Other(-1)),
    }
}

/// What became of the input.
#[derive(Debug, PartialEq, Eq)]
enum Fed {
    Whole,
    Refused,
}

/// Writes the input in a thread of its own: an adapter may answer before it has read everything.
fn feed((mut stdin, input): (ChildStdin, &[u8])) -> Receiver<Fed> {
    let (report, fed) = channel();
    let input = input.to_owned();
    thread::spawn(move || {
        let fed = match stdin.write_all(&input) {
            Ok(()) => Fed::Whole,
            Err(_) => Fed::Refused,
        };
        drop(stdin);
        // Nobody may be waiting any more.
        let _ = report.send(fed);
    });
    fed
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_call_without_an_end_to_its_time_ends_when_the_process_does() {
        let program = Program::at(Path::new("/bin/true")).unwrap();
        let process = AdapterProcess::new(program).with_deadline(Duration::MAX);
        let ended = process.run(&ProcessCall::of(Vec::new())).unwrap();
        assert!(ended.is_success(), "{ended:?}");
    }
}
