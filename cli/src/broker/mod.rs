//! `odb broker`: the brokers themselves.
//!
//! | file | contents |
//! | --- | --- |
//! | here | the list of brokers, and their registration |
//! | `check` | the connection to a broker, step by step |
//! | `doctor` | the upstreams of a broker, examined by itself |

mod check;
mod doctor;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use odb_api_types::management::{InventoryEntry, OperationState};
use odb_errand::{BrokerApiRejection, Dependencies, ExitStatus, RegisterBroker};
use odb_redaction::Chain;
use serde::Serialize;

use crate::{
    brokers::{self, Broker},
    contexts::Selection,
    names::{Filter, list},
    output::{Output, Table, Tone},
};

/// List, check and register brokers
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  odb broker list --all-contexts\n  odb broker check\n  odb broker doctor"
)]
pub(crate) enum BrokerCommand {
    /// List brokers with their version, offering and number of instances
    ///
    /// Exit status: 0 all are reachable, 1 one is not.
    #[command(after_help = "Examples:\n  odb broker list --all-contexts")]
    List,
    /// Check the connection to a broker, step by step
    ///
    /// Checks name, connection, certificate, credentials, catalog and management API. Exit status: 0 all is well, 1
    /// something is not.
    #[command(after_help = "Examples:\n  odb broker check --context production")]
    Check,
    /// Let a broker examine its upstreams, and show findings with remedies
    ///
    /// The broker probes Director, Cloud Controller, their UAAs, each CredHub and the service adapter, as
    /// `on-demand-broker doctor` does on its VM. Nothing is changed. Exit status: 0 no errors, 1 errors.
    #[command(after_help = "Examples:\n  odb broker doctor\n  odb broker doctor -o json")]
    Doctor,
    Register(Register),
}

/// Register the broker with the platform and set the access to its plans
///
/// Runs the errand `register-broker`: creates the service broker or updates it, and sets the access to each plan of
/// the file. Safe to repeat.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb broker register --config errands.yml --dry-run\n  odb broker register --config errands.yml"
)]
pub(crate) struct Register {
    /// Path of the errand's configuration.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Report what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Time for the broker to serve its catalog, in seconds, and again for the platform to read it.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait_for_broker: u64,
}

impl BrokerCommand {
    pub(crate) async fn run(
        self,
        selection: &Selection,
        output: &Output,
        dependencies: &Dependencies,
    ) -> anyhow::Result<ExitStatus> {
        let console = &dependencies.console;
        match self {
            Self::List => {
                let brokers = brokers::all(selection, console)?;
                let work = list_brokers(&brokers, output);
                dependencies.unless_stopped(work).await?
            }
            Self::Check => {
                let target = selection.target()?;
                let work = check::run(&target, output, console);
                dependencies.unless_stopped(work).await?
            }
            Self::Doctor => {
                let broker = brokers::one(selection, console)?;
                let work = doctor::run(&broker.api, output);
                dependencies.unless_stopped(work).await?
            }
            Self::Register(Register {
                config,
                dry_run,
                wait_for_broker,
            }) => {
                let errand = RegisterBroker::of(config, dry_run, wait_for_broker);
                errand.run(dependencies).await
            }
        }
    }
}

/// What is known of a broker.
#[derive(Debug, Serialize)]
struct Reported {
    name: String,
    reachable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offering: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instances: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_progress: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outdated: Option<usize>,
}

async fn list_brokers(brokers: &[Broker], output: &Output) -> anyhow::Result<ExitStatus> {
    let reported = futures_util::future::join_all(brokers.iter().map(report)).await;
    let headings = [
        "NAME",
        "REACHABLE",
        "VERSION",
        "OFFERING",
        "INSTANCES",
        "IN PROGRESS",
        "FAILED",
        "OUTDATED",
    ];
    let mut table = Table::new(&headings);
    let number = |count: Option<usize>| count.map(|count| count.to_string()).unwrap_or_default();
    for broker in &reported {
        let (word, tone) = if broker.reachable {
            ("yes".to_owned(), Tone::Good)
        } else {
            (
                format!("no: {}", broker.error.clone().unwrap_or_default()),
                Tone::Bad,
            )
        };
        let plain = |text: Option<String>| (text.unwrap_or_default(), Tone::Plain);
        table.add_toned([
            plain(Some(broker.name.clone())),
            (word, tone),
            plain(broker.version.clone()),
            plain(broker.offering.clone()),
            plain(Some(number(broker.instances))),
            plain(Some(number(broker.in_progress))),
            plain(Some(number(broker.failed))),
            plain(Some(number(broker.outdated))),
        ]);
    }
    output.print(&reported, &table)?;
    Ok(if reported.iter().all(|broker| broker.reachable) {
        ExitStatus::Success
    } else {
        ExitStatus::Failure
    })
}

async fn report(broker: &Broker) -> Reported {
    let mut reported = Reported {
        name: broker.name.clone(),
        reachable: false,
        error: None,
        version: None,
        offering: None,
        instances: None,
        in_progress: None,
        failed: None,
        outdated: None,
    };
    match broker.api.offering().await {
        Ok(offering) => {
            reported.reachable = true;
            reported.offering = Some(offering.name);
        }
        Err(error) => {
            reported.error = Some(Chain(error.as_ref()).to_string());
            return reported;
        }
    }
    reported.version = match broker.api.version().await {
        Ok(version) => Some(version.version),
        Err(error) if error.is_unknown_route() => Some("unknown".to_owned()),
        Err(_) => None,
    };
    if let Ok(entries) = list(&broker.api, &Filter::default()).await {
        let is = |state| {
            move |entry: &&InventoryEntry| {
                entry.operation.as_ref().map(|operation| operation.state) == Some(state)
            }
        };
        let count = |state| entries.iter().filter(is(state)).count();
        reported.instances = Some(entries.len());
        reported.in_progress = Some(count(OperationState::InProgress));
        reported.failed = Some(count(OperationState::Failed));
        let outdated = entries.iter();
        let outdated = outdated.filter(|entry| entry.up_to_date == Some(false));
        reported.outdated = Some(outdated.count());
    }
    reported
}
