//! What an errand gets from its process: the console, standard output, signals; and its exit status.

use std::{
    future::Future,
    io::{self, Write},
    process::ExitCode,
    time::{Duration, Instant},
};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::{CommandLine, Console, command_line::Form};

/// The exit status of an errand (`spec/contracts/errands.md` §1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitStatus {
    /// Everything requested is done.
    Success = 0,
    /// Something is not; stderr has the reason.
    Failure = 1,
    /// The command line is wrong; nothing was done.
    Usage = 2,
    /// Nothing has failed, but the operator has to act: there are orphans, or the broker cannot report yet.
    Special = 10,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}

/// The resources that the process gives to an errand.
#[derive(Debug)]
pub struct Dependencies {
    /// Where messages go.
    pub console: Console,
    pub(crate) form: Form,
    /// Cancelled by a signal. An errand that would leave something half-done listens to it and ends in good order.
    pub stopping: CancellationToken,
}

/// A signal has stopped the work.
#[derive(Debug, thiserror::Error)]
#[error("stopped by a signal before its end")]
pub struct Stopped;

impl Dependencies {
    /// Those of a program that writes its messages to `console`.
    pub fn new(console: Console) -> Self {
        Self {
            console,
            form: Form::Own,
            stopping: CancellationToken::new(),
        }
    }

    /// Does something that may be broken off at any time.
    pub async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Result<T, Stopped> {
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = self.stopping.cancelled() => Err(Stopped),
        }
    }

    /// Writes output for programs to stdout, unchanged. A reader that has closed the pipe is not an error.
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

/// Runs an errand until it ends. The first signal lets it finish the current step, the second one aborts it.
pub async fn run(call: CommandLine, console: &Console) -> anyhow::Result<ExitStatus> {
    let dependencies = Dependencies {
        form: call.form,
        ..Dependencies::new(console.clone())
    };
    until_stopped(&dependencies, call.run(&dependencies)).await
}

/// Runs `work` until it ends. The first signal cancels `dependencies.stopping`, the second one aborts.
pub async fn until_stopped<T>(
    dependencies: &Dependencies,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut signals = Signals::default();
    let mut work = Box::pin(work);
    loop {
        let signal = tokio::select! {
            ended = &mut work => return ended,
            _ = terminate.recv() => SignalKind::terminate(),
            _ = interrupt.recv() => SignalKind::interrupt(),
        };
        match signals.receive(signal, Instant::now()) {
            Reaction::Stop => {
                let console = &dependencies.console;
                console.log("Interrupted: finishing the current step; press Ctrl-C again to abort");
                dependencies.stopping.cancel();
            }
            Reaction::Abort => anyhow::bail!("Aborted by a second signal"),
            Reaction::Ignore => {}
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reaction {
    Stop,
    Abort,
    /// It repeats the signal before it.
    Ignore,
}

#[derive(Debug, Default)]
struct Signals {
    first: Option<(SignalKind, Instant)>,
}

impl Signals {
    fn receive(&mut self, signal: SignalKind, now: Instant) -> Reaction {
        let interrupt = SignalKind::interrupt();
        let Some((first, at)) = self.first else {
            self.first = Some((signal, now));
            return Reaction::Stop;
        };
        let is_same = first == interrupt && signal == interrupt;
        if is_same && now.duration_since(at) < SAME_KEYPRESS {
            Reaction::Ignore
        } else {
            Reaction::Abort
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reactions(received: &[(SignalKind, u64)]) -> Vec<Reaction> {
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
        let (interrupt, terminate) = (SignalKind::interrupt(), SignalKind::terminate());
        for signals in [
            [(interrupt, 0), (interrupt, 1000)],
            [(terminate, 0), (terminate, 1)],
            [(terminate, 0), (interrupt, 1)],
        ] {
            assert_eq!(reactions(&signals), [Stop, Abort], "{signals:?}");
        }
    }

    #[test]
    fn one_keypress_that_is_delivered_twice_is_one_signal() {
        use Reaction::{Abort, Ignore, Stop};
        let interrupts = [0, 0, 999, 1500].map(|millis| (SignalKind::interrupt(), millis));
        assert_eq!(reactions(&interrupts), [Stop, Ignore, Ignore, Abort]);
    }
}
