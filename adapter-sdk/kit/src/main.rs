//! `odb-adapter`: checks service adapters, runs them by hand, begins new ones.

use std::process::ExitCode;

use odb_adapter_kit::command_line::{Arguments, Command};
use odb_adapter_kit::{check, new, run};

fn main() -> ExitCode {
    match Arguments::parse_or_exit(std::env::args_os()).command {
        Command::Check(arguments) => check::command::execute(&arguments),
        Command::New(arguments) => new::execute(&arguments),
        Command::Run(arguments) => run::execute(&arguments),
    }
}
