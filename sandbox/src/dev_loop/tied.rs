//! `odb-sandbox tied`: a program that ends with the sandbox, however that ends.

use std::{ffi::OsString, io, os::unix::process::CommandExt, process::Command};

use clap::Args;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal, setsid};

/// How the sandbox calls it.
pub(super) const COMMAND: &str = "tied";

/// A program to become.
#[derive(Debug, Args)]
pub struct TiedArgs {
    /// The sandbox's process id.
    sandbox: i32,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// The program cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum TiedError {
    /// The sandbox that started the program has ended.
    #[error("process {sandbox} has ended, and there is no reason to start anything for it")]
    Orphaned {
        /// The process id of the sandbox.
        sandbox: i32,
    },
    /// The process cannot be made its own session's, or be tied to its parent.
    #[error("could not tie the process to its parent")]
    Tie(#[source] io::Error),
    /// There is no such program.
    #[error("could not start `{}`", program.display())]
    Start {
        /// Which.
        program: OsString,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl TiedArgs {
    /// Becomes the program: in a session of its own, so that a terminal's Ctrl-C does not reach it, and with SIGTERM
    /// when the sandbox ends. Returns only if that fails.
    pub fn run(self) -> TiedError {
        let tie = |error: rustix::io::Errno| TiedError::Tie(error.into());
        if let Err(error) = setsid() {
            return tie(error);
        }
        if let Err(error) = set_parent_process_death_signal(Some(Signal::TERM)) {
            return tie(error);
        }
        // It may have ended before the signal was asked for.
        if getppid() != Pid::from_raw(self.sandbox) {
            return TiedError::Orphaned {
                sandbox: self.sandbox,
            };
        }
        let mut words = self.command.into_iter();
        let program = words.next().unwrap_or_default();
        let source = Command::new(&program).args(words).exec();
        TiedError::Start { program, source }
    }
}
