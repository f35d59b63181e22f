//! One call of the adapter as a supervised child process.

use std::{
    ffi::OsString,
    io,
    path::Path,
    process::{Command, ExitStatus},
    time::Duration,
};

use odb_adapter_sdk::protocol::Subcommand;
use odb_clients::http::trace::Traceparent;
use odb_core::metrics::metrics;
use odb_process::{
    Capture, ChildProcess, Event, Lines, Orphans, Outcome, ProcessError, Stream, adopt_orphans,
};
use odb_redaction::{Chain, Redaction};
use tokio::time::Instant;

use super::AdapterError;

/// The most that is read of one call's stderr; more is an error in the adapter.
const MAX_STDERR: usize = 64 * 1024 * 1024;

/// The longest line of stderr that reaches the log in one piece.
const MAX_LINE: usize = 4 * 1024;

/// The variable for an adapter's parent in a trace (`spec/contracts/adapter-protocol.md` §1.1).
const TRACEPARENT: &str = "TRACEPARENT";

/// How long processes that the adapter has started may hold on to its output.
const LINGER: Duration = Duration::from_secs(1);

/// The limits of one call, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ceilings {
    pub(super) answer: usize,
    /// How much of its stderr reaches the log; the rest is read and thrown away.
    pub(super) log: usize,
}

pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    /// The last line of stderr that is not blank, redacted; none if stderr was longer than the logged part.
    pub(super) last_words: Option<String>,
}

/// A call before it is made, in the form that the adapter supports.
pub(super) struct Request {
    pub(super) call: Subcommand,
    pub(super) arguments: Vec<String>,
    /// The input on stdin; empty if `None`.
    pub(super) stdin: Option<Vec<u8>>,
    /// Its span in a trace, which the adapter may continue.
    pub(super) parent: Option<Traceparent>,
}

/// Runs `program` with the input, reads its output, and ends it by `deadline`. If the future is dropped, it kills the
/// child.
pub(super) async fn run(
    program: &Path,
    request: Request,
    environment: &[(OsString, OsString)],
    ceilings: Ceilings,
    deadline: Instant,
) -> Result<Ended, AdapterError> {
    let call = request.call;
    let start = Start {
        call,
        program: program.display().to_string(),
        longest_argument: request
            .arguments
            .iter()
            .map(String::len)
            .max()
            .unwrap_or_default(),
    };
    let mut command = Command::new(program);
    command
        .arg(call.name())
        .args(&request.arguments)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .current_dir("/");
    if let Some(parent) = request.parent {
        command.env(TRACEPARENT, parent.to_string());
    }
    let (cancel, _caller) = match io::pipe() {
        Ok(pipe) => pipe,
        Err(source) => return Err(start.failed(source)),
    };
    let child = ChildProcess::new(command, deadline.into_std())
        .with_input(request.stdin)
        .with_linger(LINGER)
        .with_orphans(Orphans::Adopted)
        .with_cancel(cancel);
    let span = tracing::Span::current();
    let attending = move || span.in_scope(|| attend(child, ceilings, start));
    let running = tokio::task::spawn_blocking(attending).await;
    running.unwrap_or_else(|error| {
        let source = error.into();
        Err(AdapterError::Read { call, source })
    })
}

/// What an error of the start names.
struct Start {
    call: Subcommand,
    program: String,
    longest_argument: usize,
}

impl Start {
    fn failed(self, source: io::Error) -> AdapterError {
        let call = self.call;
        if source.kind() == io::ErrorKind::ArgumentListTooLong {
            let longest = self.longest_argument;
            return AdapterError::ArgumentsTooLong { call, longest };
        }
        AdapterError::Start {
            program: self.program,
            call,
            source,
        }
    }
}

fn attend(child: ChildProcess, ceilings: Ceilings, start: Start) -> Result<Ended, AdapterError> {
    let call = start.call;
    let mut answer = Capture::at_most(ceilings.answer);
    let mut log = StderrLog::new(ceilings.log);
    let mut lines = Lines::new(MAX_LINE, MAX_STDERR, |line: &[u8]| log.take(line));
    let ended = match child.run(&mut answer, &mut lines) {
        Ok(ended) => ended,
        Err(ProcessError::Start(source)) => return Err(start.failed(source)),
        Err(ProcessError::Follow(source)) => return Err(AdapterError::Read { call, source }),
    };
    match ended.outcome {
        Outcome::Exited(status) => Ok(Ended {
            status,
            stdout: answer.bytes,
            last_words: log.last_words,
        }),
        Outcome::TimedOut | Outcome::TooMuchMemory | Outcome::Cancelled => {
            Err(AdapterError::Hung { call })
        }
        Outcome::TooMuchOutput(stream) => Err(AdapterError::TooMuchOutput {
            call,
            stream,
            limit: match stream {
                Stream::Stdout => ceilings.answer,
                Stream::Stderr => MAX_STDERR,
            },
        }),
    }
}

struct StderrLog {
    limit: usize,
    logged: usize,
    redaction: Redaction,
    last_words: Option<String>,
}

impl StderrLog {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            logged: 0,
            redaction: Redaction::default(),
            last_words: None,
        }
    }

    fn take(&mut self, line: &[u8]) {
        if line.is_empty() || self.logged > self.limit {
            return;
        }
        self.logged += line.len();
        if self.logged > self.limit {
            tracing::warn!(
                "the service adapter writes more stderr than the limit; the rest is dropped"
            );
            self.last_words = None;
            return;
        }
        let text = String::from_utf8_lossy(line);
        let text = self.redaction.line(&text);
        tracing::info!(adapter.stderr = %text, "the service adapter wrote");
        if !text.trim().is_empty() {
            self.last_words = Some(text.trim().to_owned());
        }
    }
}

/// Starts the watchdog: this program with these arguments. For the beginning of the process, before
/// [`watch_for_orphans`].
pub fn start_watchdog(arguments: &[&str]) {
    if let Err(error) = odb_process::start_watchdog(arguments) {
        report(Event::NoWatchdog(error));
    }
}

/// From this call on, new children of this process belong to adapters. For the start of the process.
pub fn watch_for_orphans() {
    adopt_orphans(report);
}

fn report(event: Event) {
    match event {
        Event::CannotAdopt(error) => tracing::warn!(
            error = %Chain(&error),
            "processes that adapters start outside their group will not be found"
        ),
        Event::NoWatchdog(error) => tracing::warn!(
            error = %Chain(&error),
            "no watchdog: if the broker is killed, running adapters continue to their end"
        ),
        Event::Survived(processes) => tracing::warn!(
            processes,
            "processes that the service adapter has left behind could not be ended"
        ),
        Event::Killed(processes) => {
            tracing::warn!(
                processes,
                "the service adapter left processes behind outside its group; they were killed"
            );
            metrics().killed_orphans(processes);
        }
    }
}
