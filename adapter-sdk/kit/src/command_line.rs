//! The command line of `odb-adapter`. Each subcommand declares its own arguments.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand};

use crate::check::command::{self as check, CheckArguments};
use crate::new::{self, NewArguments};
use crate::run::{self, RunArguments};

/// Develop and test service adapters in any language.
///
/// Exit status: 0 no errors, 1 the adapter has errors, 2 usage error, or an unusable file.
#[derive(Parser)]
#[command(name = "odb-adapter", version, about)]
#[command(
    after_help = "Examples:\n  odb-adapter new redis --lang python\n  odb-adapter check redis/adapter.py\n  odb-adapter run generate-manifest --adapter redis/adapter.py"
)]
struct Arguments {
    /// The subcommand
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run an adapter through the complete protocol and report errors
    #[command(
        after_help = "Examples:\n  odb-adapter check ./my-adapter\n  odb-adapter check ./my-adapter --inputs adapter-check.yml --output json"
    )]
    Check(Box<CheckArguments>),
    /// Create an adapter in a new folder.
    #[command(
        after_help = "Examples:\n  odb-adapter new my-adapter --lang templates\n  odb-adapter new my-adapter"
    )]
    New(NewArguments),
    /// Send an adapter one request and show its answer.
    #[command(
        after_help = "Examples:\n  odb-adapter run generate-manifest --adapter ./my-adapter --plan small\n  odb-adapter run create-binding --adapter ./my-adapter --manifest manifest.yml"
    )]
    Run(Box<RunArguments>),
}

/// Runs `odb-adapter` with the arguments of this process.
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let arguments =
        Arguments::try_parse_from(&words).unwrap_or_else(|error| with_tip(error, &words).exit());
    match arguments.command {
        Command::Check(arguments) => check::execute(&arguments),
        Command::New(arguments) => new::execute(&arguments),
        Command::Run(arguments) => run::execute(&arguments),
    }
}

/// Prints why a command could not be carried out, and gives its exit status. A failure to print is ignored.
pub(crate) fn failed(start: &str, error: &anyhow::Error) -> ExitCode {
    let _ = writeln!(io::stderr(), "{start}: {error:#}");
    ExitCode::from(2)
}

/// `check` takes the adapter as an argument and `run` as an option, which is easily mixed up.
fn with_tip(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let words = words.get(1..).unwrap_or_default();
    let [command, words @ ..] = words else {
        return error;
    };
    let names_adapter = words
        .iter()
        .any(|word| word.to_string_lossy().starts_with("--adapter"));
    let adapter = words.iter().find(|word| Path::new(word).exists());
    if let (true, false, Some(adapter)) = (command == "run", names_adapter, adapter) {
        let tip = format!(
            "`run` takes the adapter as an option: odb-adapter run SUBCOMMAND --adapter {}",
            Path::new(adapter).display()
        );
        error.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![tip.into()]),
        );
    }
    error
}
