//! One program for all errands: parses the command line and runs the errand until it ends or is interrupted.

use std::{process::ExitCode, time::Instant};

use odb_errand::{
    CommandLine, Console, Dependencies, ExitStatus, Reaction, Screen, Signal, Signals,
};
use odb_redaction::Chain;
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

fn main() -> ExitCode {
    let call = CommandLine::parse_or_exit(std::env::args_os());
    let console = Console::new(&call.program, Screen::of_stderr());
    let status = match Runtime::new() {
        Ok(runtime) => {
            let status = runtime.block_on(run(call, &console));
            // Does not wait for a thread that is blocked in a prompt.
            runtime.shutdown_background();
            status
        }
        Err(error) => Err(error.into()),
    };
    let status = status.unwrap_or_else(|error| {
        console.say(Chain(error.as_ref()));
        ExitStatus::Failure
    });
    status.into()
}

async fn run(call: CommandLine, console: &Console) -> anyhow::Result<ExitStatus> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let dependencies = Dependencies {
        console: console.clone(),
        form: call.form,
        stopping: CancellationToken::new(),
    };
    let mut signals = Signals::default();
    let mut errand = Box::pin(call.run(&dependencies));
    loop {
        let signal = tokio::select! {
            status = &mut errand => return status,
            _ = terminate.recv() => Signal::Terminate,
            _ = interrupt.recv() => Signal::Interrupt,
        };
        match signals.receive(signal, Instant::now()) {
            Reaction::Stop => {
                console.say("Interrupted: finishing the current step; press Ctrl-C again to abort");
                dependencies.stopping.cancel();
            }
            Reaction::Abort => anyhow::bail!("Aborted by a second signal"),
            Reaction::Ignore => {}
        }
    }
}
