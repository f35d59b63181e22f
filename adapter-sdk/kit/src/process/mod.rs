//! One call of an adapter's executable. The call always ends, is bounded in time and output, and leaves no process
//! behind. `program` finds the executable of a path.

mod program;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fmt};

use odb_adapter_sdk::protocol::{ExitCode, Subcommand};
use odb_process::{Capture, ChildProcess, Orphans, Outcome, ProcessError, is_inherited};

pub use program::Program;

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
pub(crate) struct AdapterProcess {
    pub(crate) program: Program,
    /// Variables beside those that a broker hands on: `PATH`, `HOME`, `TMPDIR`, locale and proxies.
    pub(crate) environment: BTreeMap<String, OsString>,
    /// The time for each call.
    pub(crate) deadline: Duration,
}

/// The arguments and the stdin of one process. Both may hold secrets.
#[derive(Clone)]
pub(crate) struct ProcessCall {
    pub(crate) arguments: Vec<String>,
    /// `None` in the argv form.
    pub(crate) stdin: Option<Vec<u8>>,
}

/// The end of a call, with its output, which may hold secrets.
pub(crate) struct Ended {
    pub(crate) end: End,
    pub(crate) stdout: Vec<u8>,
    /// Up to the limit; the rest is dropped.
    pub(crate) stderr: Vec<u8>,
    pub(crate) duration: Duration,
    /// Processes that it left behind, which have been killed.
    pub(crate) left_behind: usize,
    /// Whether it closed its stdin before it had been given everything.
    pub(crate) left_input_unread: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Exited(ExitCode),
    Signalled(i32),
    OutOfTime,
    TooMuchOutput,
}

impl ProcessCall {
    /// The stdin form, with a document that need not keep to the protocol (`spec/contracts/adapter-protocol.md`, "stdin
    /// form").
    pub(crate) fn document(subcommand: Subcommand, document: impl Into<Vec<u8>>) -> Self {
        Self {
            arguments: vec![subcommand.name().to_owned()],
            stdin: Some(document.into()),
        }
    }

    /// The argv form of old brokers: stdin is empty (`spec/contracts/adapter-protocol.md`, "argv form").
    pub(crate) fn arguments(
        subcommand: Subcommand,
        arguments: impl IntoIterator<Item = String>,
    ) -> Self {
        let mut all = vec![subcommand.name().to_owned()];
        all.extend(arguments);
        Self {
            arguments: all,
            stdin: None,
        }
    }
}

impl AdapterProcess {
    /// Runs the adapter once, as a broker does: in `/`, as the leader of its own process group.
    pub(crate) fn run(&self, call: &ProcessCall) -> anyhow::Result<Ended> {
        let program = &self.program;
        let mut command = Command::new(program.executable());
        command
            .args(&call.arguments)
            .env_clear()
            .envs(env::vars_os().filter(|(name, _)| is_inherited(name)))
            .envs(program.folder_variable())
            .envs(&self.environment)
            .current_dir("/");
        let began = Instant::now();
        let mut stdout = Capture::at_most(LONGEST_STDOUT);
        let mut stderr = Capture::first(KEPT_STDERR);
        // The author's own tests may run beside this one and have children, too.
        let outcome = ChildProcess::new(command, began + self.deadline.min(LONGEST_DEADLINE))
            .with_input(call.stdin.clone())
            .with_linger(LINGER)
            .with_orphans(Orphans::Marked(MARK))
            .run(&mut stdout, &mut stderr);
        let mut ended = Ended {
            // How it ended is lost if it cannot be followed, and that is no success.
            end: End::Exited(ExitCode::Other(-1)),
            stdout: stdout.bytes,
            stderr: stderr.bytes,
            duration: began.elapsed(),
            left_behind: 0,
            left_input_unread: false,
        };
        match outcome {
            Ok(outcome) => {
                ended.end = end(outcome.outcome);
                ended.duration = outcome.duration;
                ended.left_behind = outcome.left_behind;
                ended.left_input_unread = outcome.left_input_unread;
            }
            Err(ProcessError::Start(error)) => {
                let failure = format!("could not start `{}`", program.executable().display());
                return Err(anyhow::Error::new(error).context(failure));
            }
            Err(ProcessError::Follow(_)) => {}
        }
        Ok(ended)
    }
}

impl Ended {
    pub(crate) fn is_success(&self) -> bool {
        self.end == End::Exited(ExitCode::Success)
    }

    pub(crate) fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub(crate) fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

fn end(outcome: Outcome) -> End {
    match outcome {
        Outcome::Exited(status) => match (status.code(), status.signal()) {
            (Some(code), _) => End::Exited(ExitCode::from(code)),
            (None, signal) => End::Signalled(signal.unwrap_or_default()),
        },
        Outcome::TooMuchOutput(_) => End::TooMuchOutput,
        Outcome::TimedOut | Outcome::TooMuchMemory | Outcome::Cancelled => End::OutOfTime,
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "ended with exit code {}", code.code()),
            Self::Signalled(signal) => write!(f, "was ended by signal {signal}"),
            Self::OutOfTime => f.write_str("did not end in time and was killed"),
            Self::TooMuchOutput => f.write_str("printed more than an answer may have"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_call_without_an_end_to_its_time_ends_when_the_process_does() {
        let process = AdapterProcess {
            program: Program::at(Path::new("/bin/true")).unwrap(),
            environment: BTreeMap::new(),
            deadline: Duration::MAX,
        };
        let call = ProcessCall {
            arguments: Vec::new(),
            stdin: None,
        };
        assert!(process.run(&call).unwrap().is_success());
    }
}
