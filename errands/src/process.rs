//! What an errand gets from its process: the console, standard output, signals; and its exit status.

use std::{
    future::Future,
    io::{self, Write},
    process::ExitCode,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use crate::{Console, command_line::Form};

/// The exit status of an errand (`spec/contracts/errands.md` §1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitStatus {
    /// Everything requested is done.
    Success = 0,
    /// Something is not; stderr has the reason.
    Failure = 1,
    /// Nothing has failed, but the operator has to act: there are orphans, or the broker cannot report yet.
    Special = 10,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}

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

/// A terminal and a wrapper script may both deliver one Ctrl-C: two interrupts so close to each other are one.
const SAME_KEYPRESS: Duration = Duration::from_secs(1);

/// The signals that end an errand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT, as Ctrl-C sends it.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

/// The reaction to a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Finish the current step, then end.
    Stop,
    /// End at once.
    Abort,
    /// Nothing: it repeats the signal before it.
    Ignore,
}

/// The first signal stops an errand, the second one aborts it.
#[derive(Debug, Default)]
pub struct Signals {
    first: Option<(Signal, Instant)>,
}

impl Signals {
    /// Takes note of a signal that arrives at `now`.
    pub fn receive(&mut self, signal: Signal, now: Instant) -> Reaction {
        match self.first {
            None => {
                self.first = Some((signal, now));
                Reaction::Stop
            }
            Some((Signal::Interrupt, first))
                if signal == Signal::Interrupt && now.duration_since(first) < SAME_KEYPRESS =>
            {
                Reaction::Ignore
            }
            Some(_) => Reaction::Abort,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reactions(received: &[(Signal, u64)]) -> Vec<Reaction> {
        let (mut signals, start) = (Signals::default(), Instant::now());
        let received = received.iter();
        received
            .map(|(signal, millis)| {
                signals.receive(*signal, start + Duration::from_millis(*millis))
            })
            .collect()
    }

    #[test]
    fn the_second_signal_aborts() {
        use Reaction::{Abort, Stop};
        use Signal::{Interrupt, Terminate};
        assert_eq!(
            reactions(&[(Interrupt, 0), (Interrupt, 1000)]),
            [Stop, Abort]
        );
        assert_eq!(reactions(&[(Terminate, 0), (Terminate, 1)]), [Stop, Abort]);
        assert_eq!(reactions(&[(Terminate, 0), (Interrupt, 1)]), [Stop, Abort]);
    }

    #[test]
    fn one_keypress_that_is_delivered_twice_is_one_signal() {
        use Reaction::{Abort, Ignore, Stop};
        let interrupts = [0, 0, 999, 1500].map(|millis| (Signal::Interrupt, millis));
        assert_eq!(reactions(&interrupts), [Stop, Ignore, Ignore, Abort]);
    }
}
