//! One program for all errands: understand the command line, run the errand until it has ended or is told to stop.

use std::process::ExitCode;

use odb_errand::{ExitStatus, Screen, Surroundings, Talk, command_line::CommandLine};
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

fn main() -> ExitCode {
    let call = CommandLine::parse_or_exit(std::env::args_os());
    let talk = Talk::new(&call.program, Screen::of_stderr());
    let status = match Runtime::new() {
        Ok(runtime) => {
            let status = runtime.block_on(run(call, &talk));
            // A thread that waits for somebody to type is not waited for.
            runtime.shutdown_background();
            status
        }
        Err(error) => Err(error.into()),
    };
    let status = status.unwrap_or_else(|error| {
        talk.say(format_args!("{error:#}"));
        ExitStatus::Failure
    });
    status.into()
}

/// The first signal asks the errand to stop, the second one does not wait for it.
async fn run(call: CommandLine, talk: &Talk) -> anyhow::Result<ExitStatus> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let surroundings = Surroundings::new(talk.clone(), CancellationToken::new());
    let mut errand = Box::pin(call.errand.run(&surroundings));
    loop {
        tokio::select! {
            status = &mut errand => return status,
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        if surroundings.stopping.is_cancelled() {
            anyhow::bail!("stopped at once by a second signal");
        }
        talk.say("told to stop: ending in good order; a second signal ends it at once");
        surroundings.stopping.cancel();
    }
}
