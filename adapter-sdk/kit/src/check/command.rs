//! The command line of the check.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{Check, Report};
use crate::command_line::failed;
use crate::inputs::{Inputs, Sources};
use crate::process::Program;

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The adapter: an executable in any language, or a folder of templates.
    #[arg(value_name = "PATH")]
    adapter: PathBuf,
    /// Inputs of the requests. Default: `adapter-check.yml` in the adapter's folder, beside it, or in a folder
    /// above.
    #[arg(long, value_name = "FILE")]
    inputs: Option<PathBuf>,
    /// Take service deployment and plans from a broker's configuration.
    #[arg(long, value_name = "FILE")]
    broker_config: Option<PathBuf>,
    /// Check with this plan only: a name from the inputs, or a file with a plan as adapters get it, in YAML or
    /// JSON; repeatable.
    #[arg(long = "plan", value_name = "NAME|FILE")]
    plans: Vec<PathBuf>,
    /// The service deployment as adapters get it, in YAML or JSON.
    #[arg(long, value_name = "FILE")]
    service_deployment: Option<PathBuf>,
    /// Timeout of each call, in seconds.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=55))]
    deadline: Option<u64>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Keep the input of calls with findings in this folder, so that `odb-adapter run` can repeat them. The folder
    /// contains the secrets of the inputs
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people.
    Text,
    /// For programs: one JSON object.
    Json,
}

pub(crate) fn execute(arguments: &CheckArguments) -> ExitCode {
    match check(arguments) {
        Ok(report) => print(&report, arguments.output),
        Err(error) => failed("error", &error),
    }
}

fn check(arguments: &CheckArguments) -> anyhow::Result<Report> {
    let program = Program::at(&arguments.adapter)?;
    let sources = Sources {
        file: arguments.inputs.clone(),
        broker_config: arguments.broker_config.clone(),
        plans: arguments.plans.clone(),
        service_deployment: arguments.service_deployment.clone(),
        deadline: arguments.deadline.map(Duration::from_secs),
    };
    let inputs = Inputs::of(&arguments.adapter, &sources)?;
    let mut check = Check::new(program, inputs);
    check.adapter.clone_from(&arguments.adapter);
    check.keep.clone_from(&arguments.keep);
    Ok(check.run())
}

fn print(report: &Report, output: Output) -> ExitCode {
    let text = match output {
        Output::Text => report.to_string(),
        Output::Json => {
            let json = serde_json::to_string_pretty(report);
            json.expect("a report has text keys and writes to memory") + "\n"
        }
    };
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) if report.is_clean() => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
        Err(_) => ExitCode::from(2),
    }
}
