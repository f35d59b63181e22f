//! Why a call of the adapter gave no answer.

use std::{io, path::Path};

use odb_adapter_sdk::protocol::{ExitCode, Subcommand};
use odb_core::shown;
use odb_process::Stream;
use odb_redaction::Redaction;

use super::process::{Ended, Unfinished};

/// Why a call of the adapter gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum AdapterError {
    /// It could not be started.
    #[error("could not start the service adapter `{program}` for `{call}`")]
    Start {
        /// The executable.
        program: String,
        /// The subcommand.
        call: Subcommand,
        /// The underlying error.
        #[source]
        source: io::Error,
    },
    /// The operating system does not pass on arguments of that length.
    #[error(
        "could not pass the arguments of `{call}` to the service adapter: the longest has {longest} bytes, and the operating \
         system takes 128 KiB in one; set `broker.use_stdin` to `true`, which takes an adapter that reads its stdin"
    )]
    ArgumentsTooLong {
        /// The subcommand.
        call: Subcommand,
        /// The length of the longest argument in bytes.
        longest: usize,
    },
    /// The call exceeded its time.
    #[error("the service adapter did not answer `{call}` in time and was stopped")]
    Hung {
        /// The subcommand.
        call: Subcommand,
    },
    /// Other calls prevented its start in time.
    #[error(
        "could not run the service adapter's `{call}` in time: the limit of concurrent calls was reached"
    )]
    NoLocation {
        /// The subcommand.
        call: Subcommand,
    },
    /// It printed without end.
    #[error(
        "the service adapter printed more than {} MiB on {stream} for `{call}` and was killed",
        limit / 1024 / 1024
    )]
    TooMuchOutput {
        /// The subcommand.
        call: Subcommand,
        /// On which of its streams.
        stream: Stream,
        /// The limit in bytes.
        limit: usize,
    },
    /// Its output could not be read.
    #[error("could not read the answer of the service adapter to `{call}`")]
    Read {
        /// The subcommand.
        call: Subcommand,
        /// The underlying error.
        #[source]
        source: io::Error,
    },
    /// It ended with a failure.
    #[error("the service adapter ended `{call}` with {status}")]
    Failed {
        /// The subcommand.
        call: Subcommand,
        /// The meaning of the exit status.
        code: ExitCode,
        /// The exit status as the operating system has it.
        status: String,
        /// Its stdout: the message for the platform user.
        for_user: Option<String>,
        /// The end of stderr, where most programs print the cause. Only for operators.
        #[source]
        last_words: Option<LastWords>,
    },
    /// The adapter succeeded, but its answer is invalid. The answer may hold secrets and is not shown.
    #[error("the service adapter's answer to `{call}` is not what the protocol asks for: {error}")]
    Answer {
        /// The subcommand.
        call: Subcommand,
        /// The error by line and column, without content of the answer.
        error: String,
    },
}

/// The most of a failing adapter's stdout that reaches the log, in bytes.
const LONGEST_LOGGED: usize = 2048;

fn cut(text: &str) -> &str {
    let text = text.trim();
    &text[..text.floor_char_boundary(LONGEST_LOGGED)]
}

/// The last line that a failing adapter printed on stderr, redacted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its last words on stderr were `{0}`")]
pub struct LastWords(pub String);

impl AdapterError {
    pub(super) fn failed(call: Subcommand, ended: Ended) -> Self {
        // Killed by a signal there is no code; that is a failure like any other.
        let code = ended
            .status
            .code()
            .map_or(ExitCode::Failure, ExitCode::from);
        let text = String::from_utf8_lossy(&ended.stdout);
        let for_user = shown::message(&text);
        // Where the author says nothing on stderr, this is all the operator has.
        let mut redaction = Redaction::default();
        for line in cut(&text).lines() {
            tracing::warn!(adapter.stdout = %redaction.line(line), "the failing service adapter wrote");
        }
        Self::Failed {
            call,
            code,
            status: ended.status.to_string(),
            for_user: Some(for_user).filter(|text| !text.is_empty()),
            last_words: ended.last_words.map(LastWords),
        }
    }

    pub(super) fn unfinished(
        call: Subcommand,
        program: &Path,
        longest_argument: usize,
        unfinished: Unfinished,
    ) -> Self {
        match unfinished {
            Unfinished::Start(source) if source.kind() == io::ErrorKind::ArgumentListTooLong => {
                Self::ArgumentsTooLong {
                    call,
                    longest: longest_argument,
                }
            }
            Unfinished::Start(source) => Self::Start {
                program: program.display().to_string(),
                call,
                source,
            },
            Unfinished::Hung => Self::Hung { call },
            Unfinished::TooMuchOutput { stream, limit } => Self::TooMuchOutput {
                call,
                stream,
                limit,
            },
            Unfinished::Read(source) => Self::Read { call, source },
        }
    }
}
