//! One program for all errands: parses the command line and runs the errand until it ends or is interrupted.

use std::process::ExitCode;

use odb_errand::{CommandLine, Console, ExitStatus, Screen, UsageError, run};
use odb_redaction::Chain;
use tokio::runtime::Runtime;

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
        console.log(Chain(error.as_ref()));
        if error.is::<UsageError>() {
            ExitStatus::Usage
        } else {
            ExitStatus::Failure
        }
    });
    status.into()
}
