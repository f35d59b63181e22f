//! `odb rollout`: upgrades and recreations of many instances, with the engine of the errands.
//!
//! | file | contents |
//! | --- | --- |
//! | here | starting, continuing and stopping a run |
//! | `status` | how far the latest runs have come |

mod status;

use std::{
    num::{NonZeroU32, NonZeroUsize},
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context, bail};
use clap::{Args, Subcommand, ValueEnum};
use odb_api_types::{code::Code, management::RunKind};
use odb_clients::http::StatusCode;
use odb_config::errands::{Fleet, RunSettings};
use odb_errand::{
    BrokerApi, BrokerApiRejection, Dependencies, ExitStatus, NextCommands, OutputFormat, View,
    roll_out,
};
use odb_rollout::FailureBudget;

use crate::{
    brokers,
    contexts::{Selection, Target},
    names::{Filter, chosen, list},
    output::{Format, Output},
};

const ATTEMPTS: NonZeroUsize = NonZeroUsize::new(5).expect("five is above zero");

/// Upgrade or recreate many service instances, canaries first
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  odb rollout start --dry-run\n  odb rollout start --canaries 2 --max-in-flight 10\n  odb rollout status"
)]
pub(crate) enum RolloutCommand {
    Start(Start),
    Continue(Continue),
    Status(status::Status),
    Stop(Stop),
}

/// Start a rollout over the instances that are out of date
///
/// Canaries first, then the others, some at a time. A busy instance is retried later. Ctrl-C finishes the current
/// step; `odb rollout continue` goes on from there.
///
/// Exit status: 0 every instance is done; 1 an instance is not; 2 usage error.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb rollout start --dry-run\n  odb rollout start --plan small --max-failures 2%\n  odb rollout start --kind recreate --space live"
)]
pub(crate) struct Start {
    #[command(flatten)]
    fleet: FleetFlags,
    /// Replace an earlier run that has not succeeded. Without the flag it has to be continued.
    #[arg(long)]
    restart: bool,
    /// Report what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Continue the latest run: finished instances are skipped, running operations are followed
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb rollout continue\n  odb rollout continue --kind recreate --retry-failed"
)]
pub(crate) struct Continue {
    #[command(flatten)]
    fleet: FleetFlags,
    /// Retry the instances that have failed in the run.
    #[arg(long)]
    retry_failed: bool,
    /// Take the run over from another process, which then stops. Without the flag a run that another process carries
    /// out is refused until two minutes after that process has reported last.
    #[arg(long)]
    take_over: bool,
}

/// Stop the latest run: its process starts no further instance
///
/// Operations in progress continue. `odb rollout continue` goes on from there.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  odb rollout stop\n  odb rollout stop --kind recreate")]
pub(crate) struct Stop {
    /// Kind of the run.
    #[arg(long, value_enum, default_value_t)]
    kind: Kind,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Deploy what the plans deploy now
    #[default]
    Upgrade,
    /// Recreate every VM
    Recreate,
}

impl From<Kind> for RunKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Upgrade => Self::Upgrade,
            Kind::Recreate => Self::Recreate,
        }
    }
}

// Without a comment of its own: it would replace that of the command.
#[derive(Debug, Args)]
struct FleetFlags {
    /// What happens to each instance.
    #[arg(long, value_enum, default_value_t)]
    kind: Kind,
    /// Visit every instance, not only those that are out of date. A recreation always does.
    #[arg(long)]
    all: bool,
    /// Instances that go first; after a failed one no further instance starts.
    #[arg(long, value_name = "N", default_value_t = 1)]
    canaries: usize,
    /// Operations at once.
    #[arg(long, value_name = "N", default_value = "5")]
    max_in_flight: NonZeroUsize,
    /// Start no further instance when more than this many have failed: a number, or a percentage.
    #[arg(long, value_name = "N|N%", default_value = "10%")]
    max_failures: FailureBudget,
    /// Start the next instances only when the finished ones are healthy.
    #[arg(long)]
    health_gate: bool,
    /// Instances between two health checks. Default: all that follow the canaries.
    #[arg(long, value_name = "N", requires = "health_gate")]
    wave: Option<NonZeroU32>,
    /// Time for instances to become healthy, in seconds [default: 600].
    #[arg(long, value_name = "SECONDS", requires = "health_gate")]
    health_timeout: Option<u32>,
    /// Seconds between two polls of an operation.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    poll_interval: u64,
    #[command(flatten)]
    filter: Filter,
    /// Only this instance, by name or id; repeatable.
    #[arg(long = "instance", value_name = "NAME")]
    instances: Vec<String>,
    /// Exclude this instance, or the instances of this plan, space or organization; repeatable.
    #[arg(long = "exclude", value_name = "NAME")]
    excluded: Vec<String>,
    /// Print also ids, and every line of the errand's log.
    #[arg(short, long)]
    verbose: bool,
    /// File of the errand `upgrade-all-service-instances`: its Cloud Controller learns of the upgrades.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl RolloutCommand {
    pub(crate) async fn run(
        self,
        selection: &Selection,
        output: &Output,
        dependencies: &Dependencies,
    ) -> anyhow::Result<ExitStatus> {
        let console = &dependencies.console;
        match self {
            Self::Start(Start {
                fleet,
                restart,
                dry_run,
            }) => {
                let run = RunSettings {
                    keeps_unfinished: !restart,
                    is_dry: dry_run,
                    ..RunSettings::default()
                };
                fleet.run(&run, selection, output, dependencies).await
            }
            Self::Continue(Continue {
                fleet,
                retry_failed,
                take_over,
            }) => {
                let run = RunSettings {
                    continues: true,
                    keeps_unfinished: true,
                    takes_over: take_over,
                    retries_failed: retry_failed,
                    ..RunSettings::default()
                };
                fleet.run(&run, selection, output, dependencies).await
            }
            Self::Status(command) => {
                let broker = brokers::one(selection, console)?;
                let work = command.run(&broker.api, output);
                dependencies.unless_stopped(work).await?
            }
            Self::Stop(command) => {
                let broker = brokers::one(selection, console)?;
                let work = command.run(&broker.api, dependencies);
                dependencies.unless_stopped(work).await?
            }
        }
    }
}

impl FleetFlags {
    async fn run(
        &self,
        run: &RunSettings,
        selection: &Selection,
        output: &Output,
        dependencies: &Dependencies,
    ) -> anyhow::Result<ExitStatus> {
        let target = selection.target()?;
        let ids = dependencies
            .unless_stopped(self.ids(&target, dependencies))
            .await??;
        let kind = RunKind::from(self.kind);
        let mut more = if kind == RunKind::Recreate {
            " --kind recreate".to_owned()
        } else {
            String::new()
        };
        if self.all {
            more += " --all";
        }
        let view = View {
            output: if output.format == Format::Json {
                OutputFormat::Json
            } else {
                OutputFormat::Text
            },
            is_verbose: self.verbose,
            next: NextCommands {
                begin: format!("odb rollout start{more}"),
                resume: format!("odb rollout continue{more} --retry-failed"),
            },
        };
        let fleet = self.fleet(run, ids, target, dependencies)?;
        Box::pin(roll_out(kind, fleet, view, dependencies)).await
    }

    /// The ids of the named instances.
    async fn ids(
        &self,
        target: &Target,
        dependencies: &Dependencies,
    ) -> anyhow::Result<Vec<String>> {
        if self.instances.is_empty() {
            return Ok(Vec::new());
        }
        let broker = brokers::Broker::connect(target, &dependencies.console)?;
        let entries = list(&broker.api, &self.filter).await?;
        let ids = self.instances.iter().map(|name| {
            let entry = chosen(name, &entries)?;
            Ok(entry.service_instance_id.to_string())
        });
        ids.collect()
    }

    fn fleet(
        &self,
        run: &RunSettings,
        instances: Vec<String>,
        target: Target,
        dependencies: &Dependencies,
    ) -> anyhow::Result<Fleet> {
        let of_file = self.config.as_ref().map(|file| Fleet::load(file));
        let of_file = of_file
            .transpose()
            .context("cannot use the file of --config")?;
        let (cloud_foundry, maintenance_info_present) = match of_file {
            Some(loaded) => {
                for warning in &loaded.warnings {
                    dependencies.console.log(warning);
                }
                let config = loaded.config;
                (config.cloud_foundry, config.maintenance_info_present)
            }
            None => (None, false),
        };
        let seconds = |seconds: u32| Duration::from_secs(u64::from(seconds));
        Ok(Fleet {
            broker_api: target.access,
            cloud_foundry,
            maintenance_info_present,
            polling_interval: Duration::from_secs(self.poll_interval.max(1)),
            attempt_interval: Duration::from_mins(1),
            attempt_limit: ATTEMPTS,
            request_timeout: Some(Duration::from_mins(1)),
            max_in_flight: self.max_in_flight,
            canaries: self.canaries,
            canary_selection: Vec::new(),
            director: None,
            run: RunSettings {
                only_outdated: !self.all,
                max_failures: Some(self.max_failures),
                has_health_gate: self.health_gate,
                wave: self.wave.map(NonZeroU32::get),
                health_timeout: self.health_timeout.map(seconds),
                plans: self.filter.plans().to_vec(),
                organizations: self.filter.organizations().to_vec(),
                spaces: self.filter.spaces().to_vec(),
                instances,
                excluded: self.excluded.clone(),
                ..run.clone()
            },
        })
    }
}

impl Stop {
    async fn run(
        &self,
        broker: &BrokerApi,
        dependencies: &Dependencies,
    ) -> anyhow::Result<ExitStatus> {
        let kind = RunKind::from(self.kind);
        let latest = broker.latest_run(kind).await;
        let latest = match latest {
            Ok(latest) if latest.run.outcome.is_none() => latest.run,
            Err(error) if !error.has_code(Code::NotFound) => return Err(error.into()),
            Ok(_) | Err(_) => bail!("No {kind} run is in progress"),
        };
        match broker.stop_run(latest.id).await {
            Ok(()) => {}
            Err(error) if error.is_unknown_route() => bail!(
                "This broker cannot stop runs. Press Ctrl-C where the run was started: it finishes the current step"
            ),
            Err(error) if error.status() == Some(StatusCode::CONFLICT) => bail!(error.reason()),
            Err(error) => return Err(error.into()),
        }
        dependencies.console.log(format_args!(
            "Stopping the {kind} run: no further instance starts. Next: odb rollout status"
        ));
        Ok(ExitStatus::Success)
    }
}
