//! `odb-adapter run`: sends one request by hand, and explains what a broker and its users would make of the answer.
//!
//! | file | contents |
//! | --- | --- |
//! | here | the command line |
//! | `idle` | options that the subcommand does not use |
//! | `request` | the request, from flags, files and the inputs of the check |
//! | `answer` | the parsed answer, and the meaning of its end |
//! | `masking`, `secrets` | secrets by numbers; what is probably a secret |
//! | `report` | the report, as text and as JSON |

mod answer;
mod idle;
mod masking;
mod report;
mod request;
mod secrets;

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use odb_adapter_sdk::protocol::Subcommand;

use self::masking::Masking;
use self::report::Report;
use self::request::Request;
use crate::command_line::failed;
use crate::inputs::{Inputs, Sources, near};
use crate::process::{AdapterProcess, Program};

/// The arguments of `odb-adapter run`.
///
/// Missing inputs come from `adapter-check.yml` beside the adapter, or are made up.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Subcommand of the adapter, such as `generate-manifest`.
    #[arg(value_name = "SUBCOMMAND", value_parser = subcommands())]
    subcommand: Subcommand,
    /// The adapter: an executable, or a folder of templates.
    #[arg(long, value_name = "PATH")]
    adapter: PathBuf,
    /// Inputs: service deployment, plans and environment. Default: `adapter-check.yml` beside the adapter or in a
    /// folder above.
    #[arg(long, value_name = "FILE")]
    inputs: Option<PathBuf>,
    /// A `broker.yml`, for service deployment and plans.
    #[arg(long, value_name = "FILE")]
    broker_config: Option<PathBuf>,
    /// The service deployment.
    #[arg(long, value_name = "FILE")]
    service_deployment: Option<PathBuf>,

    /// Plan: a name from the inputs, or a file (JSON or YAML). Default: the first plan of the inputs.
    #[arg(long, value_name = "NAME|FILE", help_heading = "Request")]
    plan: Option<String>,
    /// Plan before an update. Default: the same plan.
    #[arg(long, value_name = "NAME|FILE", help_heading = "Request")]
    previous_plan: Option<String>,
    /// Deployed manifest; shows how the new one differs from it.
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    previous_manifest: Option<PathBuf>,
    /// Operation of the manifest. Default: an order, or an update if there is a previous manifest.
    #[arg(long, value_enum, help_heading = "Request")]
    operation: Option<Operation>,
    /// The parameters of the user, as JSON or in a file.
    #[arg(long, value_name = "JSON|@FILE", help_heading = "Request")]
    parameters: Option<String>,
    /// The UAA client of the instance.
    #[arg(long, value_name = "JSON|@FILE", help_heading = "Request")]
    uaa_client: Option<String>,
    /// Secrets by reference. Default: generated values.
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    secrets: Option<PathBuf>,
    /// Manifest of the instance to bind or show. Default: the adapter generates one first.
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    manifest: Option<PathBuf>,
    /// The id of the service instance.
    #[arg(
        long,
        value_name = "ID",
        default_value = "by-hand",
        help_heading = "Request"
    )]
    instance_id: String,
    /// The id of the binding.
    #[arg(
        long,
        value_name = "ID",
        default_value = "binding-by-hand",
        help_heading = "Request"
    )]
    binding_id: String,
    /// Addresses of the VMs by instance group. Default: addresses of 10.0.0.0/8.
    #[arg(long, value_name = "JSON|@FILE", help_heading = "Request")]
    bosh_vms: Option<String>,
    /// The DNS addresses by name.
    #[arg(long, value_name = "JSON|@FILE", help_heading = "Request")]
    dns_addresses: Option<String>,
    /// Send this document on stdin, or, if it is a JSON list, these arguments.
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    document: Option<PathBuf>,
    /// Send the request as arguments, as brokers with `use_stdin: false` do.
    #[arg(long, help_heading = "Request")]
    arguments: bool,

    /// Timeout of the adapter, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 55, value_parser = clap::value_parser!(u64).range(1..=55))]
    deadline: u64,
    /// Write the manifest to a file as it would be deployed, for a later --previous-manifest or --manifest.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Show secrets instead of placeholders.
    #[arg(long)]
    show_secrets: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// The purpose of a `generate-manifest` call (`spec/contracts/adapter-protocol.md`, "Which calls an operation makes").
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Operation {
    /// A new service instance.
    Order,
    /// Other parameters, or another plan.
    Update,
    /// The check for pending changes that comes before an update: the previous plan, an empty request.
    Search,
    /// The operation of an operator on all instances.
    Upgrade,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people.
    Text,
    /// For machines, as one JSON document.
    Json,
}

/// Calls the adapter and shows its answer.
///
/// Exit status: 0 the adapter answered, 1 it did not answer, 2 it could not be called.
pub(crate) fn execute(arguments: &RunArguments) -> ExitCode {
    let report = match ask(arguments) {
        Ok(report) => report,
        Err(error) => return failed("odb-adapter", &error),
    };
    let text = match arguments.output {
        Output::Text => report.to_string(),
        Output::Json => report.to_json(),
    };
    // A failure to print is ignored.
    let _ = io::stdout().lock().write_all(text.as_bytes());
    if arguments.output == Output::Text {
        let _ = io::stderr().lock().write_all(report.stderr().as_bytes());
    }
    ExitCode::from(u8::from(!report.is_an_answer))
}

fn subcommands() -> impl TypedValueParser<Value = Subcommand> {
    let names = Subcommand::ALL.iter().map(|subcommand| subcommand.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Subcommand>())
}

fn ask(arguments: &RunArguments) -> anyhow::Result<Report> {
    // Without an adapter, errors in inputs do not matter.
    let program = Program::at(&arguments.adapter)?;
    idle::refuse(arguments)?;
    let inputs = inputs(arguments)?;
    let environment = inputs.as_ref().map(|inputs| inputs.environment.clone());
    let adapter = AdapterProcess {
        program,
        environment: environment.unwrap_or_default(),
        deadline: Duration::from_secs(arguments.deadline),
    };
    let request = Request::new(arguments, inputs.as_ref(), &adapter)?;
    let ended = adapter.run(&request.call)?;
    let masking = if arguments.show_secrets {
        Masking::Off
    } else {
        Masking::on()
    };
    let report = Report::new(&request, &ended, masking);
    if let (Some(file), Some(manifest)) = (&arguments.save, &report.deployable) {
        save(file, manifest)?;
    }
    Ok(report)
}

/// A given document replaces the inputs, but the environment of existing inputs still applies.
fn inputs(arguments: &RunArguments) -> anyhow::Result<Option<Inputs>> {
    let plan_file = arguments.plan.as_ref().map(PathBuf::from);
    let file = arguments.inputs.clone();
    let sources = Sources {
        file: file.or_else(|| near(&arguments.adapter)),
        broker_config: arguments.broker_config.clone(),
        plans: plan_file
            .into_iter()
            .filter(|file| file.is_file())
            .collect(),
        service_deployment: arguments.service_deployment.clone(),
        deadline: None,
    };
    if arguments.document.is_some() && sources.file.is_none() {
        return Ok(None);
    }
    Inputs::of(&arguments.adapter, &sources).map(Some)
}

/// For its owner alone, since manifests may hold passwords.
fn save(file: &Path, manifest: &str) -> anyhow::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options
        .open(file)
        .and_then(|mut file| file.write_all(manifest.as_bytes()))
        .with_context(|| format!("could not write `{}`", file.display()))
}
