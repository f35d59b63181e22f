//! A command that has a deadline.

use std::{
    io,
    process::{Command, ExitStatus, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

/// A failed command.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// It cannot be started.
    #[error("`{program}` cannot be started; {remedy}")]
    NotStarted {
        /// Its name.
        program: String,
        /// How to fix it if the program is missing.
        remedy: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The program failed; its output is on stderr.
    #[error("`{program}` has failed ({status}); see its output above")]
    Failed {
        /// Its name.
        program: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// It exceeded its deadline, and was killed.
    #[error("`{program}` has not ended within {} s", deadline.as_secs())]
    TooSlow {
        /// Its name.
        program: String,
        /// Its time limit.
        deadline: Duration,
    },
    /// Its end cannot be waited for.
    #[error("`{program}` cannot be waited for")]
    Lost {
        /// Its name.
        program: String,
        /// Why.
        source: io::Error,
    },
}

/// Runs a command to its end. It shares our stderr; its stdout is set by the caller, by default null.
pub(super) fn run(
    command: &mut Command,
    remedy: &'static str,
    deadline: Duration,
) -> Result<(), ChildError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = match command.stdin(Stdio::null()).spawn() {
        Ok(child) => child,
        Err(source) => {
            return Err(ChildError::NotStarted {
                program,
                remedy,
                source,
            });
        }
    };
    let process = Pid::from_child(&child);
    let (report, ended) = mpsc::channel();
    let waiting = thread::spawn(move || {
        // The receiver is gone after the deadline; the child is still reaped.
        let _ = report.send(child.wait());
    });
    let outcome = match ended.recv_timeout(deadline) {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(ChildError::Failed { program, status }),
        Ok(Err(source)) => Err(ChildError::Lost { program, source }),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            // It is not reaped yet, so that the number is still its own; if it has just ended, nothing happens.
            let _ = kill_process(process, Signal::KILL);
            Err(ChildError::TooSlow { program, deadline })
        }
    };
    let _ = waiting.join();
    outcome
}
