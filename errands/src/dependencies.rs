//! What the process provides to an errand.

use std::{
    future::Future,
    io::{self, Write},
};

use tokio_util::sync::CancellationToken;

use crate::{Console, command_line::Form};

/// The resources that the process gives to an errand.
#[derive(Clone, Debug)]
pub struct Dependencies {
    /// The messages on stderr.
    pub console: Console,
    /// How the program was called.
    pub form: Form,
    /// Cancelled by a signal. An errand that would leave something half-done listens to it and ends in good order.
    pub stopping: CancellationToken,
}

/// A signal has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stopped by a signal before its end")]
pub struct Stopped;

impl Dependencies {
    /// Puts them together.
    pub fn new(console: Console, form: Form, stopping: CancellationToken) -> Self {
        Self {
            console,
            form,
            stopping,
        }
    }

    /// Does something that may be broken off at any time.
    ///
    /// # Errors
    ///
    /// A signal came first.
    pub async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Result<T, Stopped> {
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = self.stopping.cancelled() => Err(Stopped),
        }
    }

    /// Writes output for programs to stdout, unchanged.
    ///
    /// # Errors
    ///
    /// It could not be written. A reader that has closed the pipe is not an error.
    pub fn print(&self, text: &str) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        let written = stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush());
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }
}
