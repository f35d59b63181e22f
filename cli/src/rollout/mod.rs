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
    typed::Typed,
};

const ATTEMPTS: NonZeroUsize = NonZeroUsize::new(5).expect("five is above zero");

// What flags are by default.
const CANARIES: usize = 1;
const MAX_IN_FLIGHT: NonZeroUsize = NonZeroUsize::new(5).expect("five is above zero");
const MAX_FAILURES: FailureBudget = FailureBudget::Percent(10);
const POLL_INTERVAL: u64 = 5;

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
    #[arg(long, value_name = "N", default_value_t = CANARIES)]
    canaries: usize,
    /// Operations at once.
    #[arg(long, value_name = "N", default_value_t = MAX_IN_FLIGHT)]
    max_in_flight: NonZeroUsize,
    /// Start no further instance when more than this many have failed: a number, or a percentage.
    #[arg(long, value_name = "N|N%", default_value_t = MAX_FAILURES)]
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
    #[arg(long, value_name = "SECONDS", default_value_t = POLL_INTERVAL)]
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
        let view = View {
            output: if output.format == Format::Json {
                OutputFormat::Json
            } else {
                OutputFormat::Text
            },
            is_verbose: self.verbose,
            next: self.next(run, selection),
        };
        let fleet = self.fleet(run, ids, target, dependencies)?;
        Box::pin(roll_out(kind, fleet, view, dependencies)).await
    }

    /// The commands of this fleet that may follow, with the flags that were given.
    fn next(&self, run: &RunSettings, selection: &Selection) -> NextCommands {
        let command = |verb| {
            let mut command = Typed::new(verb);
            self.repeat(&mut command);
            selection.repeat(&mut command);
            command
        };
        let mut begin = command("odb rollout start");
        begin.flag("--restart", !run.keeps_unfinished);
        let begin = begin.into_text();
        // A run over a part of the fleet is not recorded. A new one visits what is out of date or has failed.
        let resume = if self.is_part() {
            begin.clone()
        } else {
            let mut resume = command("odb rollout continue");
            resume.flag("--retry-failed", true);
            resume.into_text()
        };
        NextCommands { begin, resume }
    }

    fn is_part(&self) -> bool {
        let filter = [
            self.filter.plans(),
            self.filter.organizations(),
            self.filter.spaces(),
        ];
        filter.iter().any(|names| !names.is_empty())
            || !self.instances.is_empty()
            || !self.excluded.is_empty()
    }

    /// Adds the flags that are not as by default.
    fn repeat(&self, command: &mut Typed) {
        command.values(
            "--kind",
            (self.kind == Kind::Recreate).then_some("recreate"),
        );
        command.flag("--all", self.all);
        let canaries = Some(self.canaries);
        command.values("--canaries", canaries.filter(|it| *it != CANARIES));
        let in_flight = Some(self.max_in_flight);
        command.values(
            "--max-in-flight",
            in_flight.filter(|it| *it != MAX_IN_FLIGHT),
        );
        let failures = Some(self.max_failures);
        command.values("--max-failures", failures.filter(|it| *it != MAX_FAILURES));
        command.flag("--health-gate", self.health_gate);
        command.values("--wave", self.wave);
        command.values("--health-timeout", self.health_timeout);
        let interval = Some(self.poll_interval);
        command.values(
            "--poll-interval",
            interval.filter(|it| *it != POLL_INTERVAL),
        );
        command.values("--plan", self.filter.plans());
        command.values("--org", self.filter.organizations());
        command.values("--space", self.filter.spaces());
        command.values("--instance", &self.instances);
        command.values("--exclude", &self.excluded);
        command.flag("--verbose", self.verbose);
        command.values("--config", self.config.as_ref().map(|file| file.display()));
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        fleet: FleetFlags,
        #[command(flatten)]
        selection: Selection,
    }

    /// The commands that follow a rollout with these flags.
    fn next(flags: &[&str], keeps_unfinished: bool) -> [String; 2] {
        let line = Line::try_parse_from([&["odb"][..], flags].concat()).unwrap();
        let run = RunSettings {
            keeps_unfinished,
            ..RunSettings::default()
        };
        let next = line.fleet.next(&run, &line.selection);
        [next.begin, next.resume]
    }

    #[test]
    fn the_next_commands_have_no_flag_that_was_not_given() {
        assert_eq!(
            next(&[], true),
            ["odb rollout start", "odb rollout continue --retry-failed"]
        );
        assert_eq!(
            next(&["--all"], false),
            [
                "odb rollout start --all --restart",
                "odb rollout continue --all --retry-failed"
            ]
        );
    }

    #[test]
    fn the_next_commands_have_all_flags_that_were_given() {
        let flags = "--kind recreate --all --canaries 2 --max-in-flight 10 --max-failures 3 --health-gate --wave 4 \
            --health-timeout 60 --poll-interval 1 --plan small --plan large --org acme --space live --instance cache \
            --exclude orders --verbose --config errands.yml --context production \
            --url https://broker.example.com --username me --password-file=- --ca-cert ca.pem --skip-ssl-validation";
        let given: Vec<&str> = flags.split_whitespace().collect();
        let flags = given.join(" ");
        assert_eq!(
            next(&given, true),
            [
                format!("odb rollout start {flags}"),
                // A run over a part of the fleet cannot be continued.
                format!("odb rollout start {flags}")
            ]
        );
        assert_eq!(
            next(&["--space", "my space", "--max-failures", "5%"], true)[0],
            "odb rollout start --max-failures '5%' --space 'my space'"
        );
    }
}
