use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use odb_adapter_sdk::protocol::ExitCode;
use odb_process::{Capture, ChildProcess, Orphans, Outcome, ProcessError, is_inherited};

use super::{End, Ended, ProcessCall, Program};

/// The longest answer that the broker takes unless its configuration says otherwise, in bytes.
const LONGEST_STDOUT: usize = 8 * 1024 * 1024;

/// A practically unlimited deadline.
const LONGEST_DEADLINE: Duration = Duration::from_hours(24);

/// How much of stderr is kept, in bytes.
const KEPT_STDERR: usize = 1024 * 1024;

/// How long processes that the adapter started may run after it ends.
const LINGER: Duration = Duration::from_millis(500);

/// Names each call in the environment of everything that it starts.
const MARK: &str = "ODB_ADAPTER_CALL";

/// An adapter that can be called repeatedly, each time in a separate process.
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

    /// Runs the adapter once, as a broker does: in `/`, as the leader of its own process group.
    pub fn run(&self, call: &ProcessCall) -> Result<Ended, StartError> {
        let given = self.program.environment.iter().chain(&self.environment);
        let mut command = Command::new(&self.program.executable);
        command
            .args(call.argv())
            .env_clear()
            .envs(env::vars_os().filter(|(name, _)| is_inherited(name)))
            .envs(given.map(|(name, value)| (name, value)))
            .current_dir("/");
        let began = Instant::now();
        let mut stdout = Capture::at_most(LONGEST_STDOUT);
        let mut stderr = Capture::first(KEPT_STDERR);
        // The author's own tests may run beside this one and have children, too.
        let ended = ChildProcess::new(command, began + self.deadline)
            .with_input(call.input().map(<[u8]>::to_vec))
            .with_linger(LINGER)
            .with_orphans(Orphans::Marked(MARK))
            .run(&mut stdout, &mut stderr);
        let (end, duration, left_behind, left_input_unread) = match ended {
            Ok(ended) => (
                end(ended.outcome),
                ended.duration,
                ended.left_behind,
                ended.left_input_unread,
            ),
            Err(ProcessError::Start(source)) => {
                let executable = self.program.executable.clone();
                return Err(StartError { executable, source });
            }
            // How it ended is lost, and that is no success.
            Err(ProcessError::Follow(_)) => {
                (End::Exited(ExitCode::Other(-1)), began.elapsed(), 0, false)
            }
        };
        Ok(Ended {
            end,
            stdout: stdout.bytes,
            stderr: stderr.bytes,
            duration,
            left_behind,
            left_input_unread,
        })
    }
}

fn end(outcome: Outcome) -> End {
    match outcome {
        Outcome::Exited(status) => match (status.code(), status.signal()) {
            (Some(code), _) => End::Exited(ExitCode::from(code)),
            (None, signal) => End::Signalled(signal.unwrap_or_default()),
        },
        Outcome::TooMuchOutput(_) => End::TooMuchOutput,
        Outcome::TimedOut | Outcome::Cancelled => End::OutOfTime,
    }
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
