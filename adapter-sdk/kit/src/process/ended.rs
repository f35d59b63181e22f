use std::fmt;
use std::time::Duration;

use odb_adapter_sdk::protocol::ExitCode;

/// The end of a call, with its output. The output may hold secrets; formatting does not show it.
#[derive(Clone)]
pub struct Ended {
    /// How the process ended.
    pub end: End,
    /// Its stdout, up to the limit.
    pub stdout: Vec<u8>,
    /// Its stderr, up to the limit; the rest is dropped.
    pub stderr: Vec<u8>,
    /// From the start of the process to its end.
    pub duration: Duration,
    /// Processes that it left behind, which have been killed.
    pub left_behind: usize,
    /// Whether it closed its stdin before it had been given everything.
    pub left_input_unread: bool,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The adapter exited with this code.
    Exited(ExitCode),
    /// By a signal of another process.
    Signalled(i32),
    /// The kit killed the adapter at the timeout.
    OutOfTime,
    /// With more on stdout than an answer may have.
    TooMuchOutput,
}

impl Ended {
    /// Whether the process ended with 0.
    pub fn is_success(&self) -> bool {
        self.end == End::Exited(ExitCode::Success)
    }

    /// Its stdout as text.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Its stderr as text.
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

impl fmt::Debug for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ended")
            .field("end", &self.end)
            .field("duration", &self.duration)
            .finish_non_exhaustive()
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
