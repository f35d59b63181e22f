//! The command line of the check.

use std::error::Error;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{Check, Report};
use crate::inputs::{Inputs, Sources};
use crate::process::Program;

/// The arguments of `odb-adapter check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// The adapter: an executable in any language, or a folder of templates.
    #[arg(value_name = "PATH")]
    pub adapter: PathBuf,
    /// Inputs of the requests. Default: `adapter-check.yml` in the adapter's folder, beside it, or in a folder
    /// above.
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<PathBuf>,
    /// Take service deployment and plans from a broker's configuration.
    #[arg(long, value_name = "FILE")]
    pub broker_config: Option<PathBuf>,
    /// Check with this plan only: a name from the inputs, or a file with a plan as adapters get it, in YAML or
    /// JSON; repeatable.
    #[arg(long = "plan", value_name = "NAME|FILE")]
    pub plans: Vec<PathBuf>,
    /// The service deployment as adapters get it, in YAML or JSON.
    #[arg(long, value_name = "FILE")]
    pub service_deployment: Option<PathBuf>,
    /// Timeout of each call, in seconds.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=55))]
    pub deadline: Option<u64>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Keep the input of calls with findings in this folder, so that `odb-adapter run` can repeat them. The folder
    /// contains the secrets of the inputs
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}

/// How a report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    Text,
    /// For programs: one JSON object.
    Json,
}

/// Checks the adapter and prints the report.
pub fn execute(arguments: &CheckArguments) -> ExitCode {
    match check(arguments) {
        Ok(report) => print(&report, arguments.output),
        Err(error) => {
            let mut text = format!("error: {error}");
            let mut source = error.source();
            while let Some(cause) = source {
                text = format!("{text}: {cause}");
                source = cause.source();
            }
            // Where nothing can be printed the exit status has to do.
            let _ = writeln!(io::stderr(), "{text}");
            ExitCode::from(2)
        }
    }
}

fn check(arguments: &CheckArguments) -> Result<Report, Box<dyn Error>> {
    let program = Program::at(&arguments.adapter)?;
    let sources = Sources {
        file: arguments.inputs.clone(),
        broker_config: arguments.broker_config.clone(),
        plans: arguments.plans.clone(),
        service_deployment: arguments.service_deployment.clone(),
        deadline: arguments.deadline.map(Duration::from_secs),
    };
    let inputs = Inputs::of(&arguments.adapter, &sources)?;
    let check = Check::new(program, inputs).named(&arguments.adapter);
    Ok(match &arguments.keep {
        Some(folder) => check.keeping(folder).run(),
        None => check.run(),
    })
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
