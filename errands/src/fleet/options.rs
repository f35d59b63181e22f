//! The operator's options, and whether broker and Director support them.

use std::{num::NonZeroU32, path::PathBuf, time::Duration};

use anyhow::{Context, bail};
use clap::{ArgAction, Args};
use odb_api_types::management::{DirectorAbilities, RunKind};
use odb_clients::http::{Call, HttpClient, Limits, Request, Trust, address};
use odb_config::errands::{DirectorAddress, RunSettings};
use odb_rollout::FailureBudget;
use serde::Deserialize;

use super::run::FleetRun;
use crate::{
    broker_api::{BrokerApi, BrokerApiRejection},
    command_line::go_boolean,
    report::OutputFormat,
};

const TIMEOUT: Duration = Duration::from_mins(1);
const TALKING: &str = "an error occurred while talking to the BOSH director";

/// Flags win over the section `run` of the file.
#[derive(Clone, Debug, Args)]
pub(crate) struct FleetFlags {
    /// Path of the errand's configuration.
    #[arg(long, alias = "configPath", value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub(super) output: OutputFormat,
    /// On a terminal: print also the ids of instances and the lines of the Go errand, as a log file has them.
    #[arg(long, short)]
    pub(super) verbose: bool,
    /// Continue the last run if it has not succeeded: finished instances are skipped, running operations are
    /// followed.
    #[arg(long = "continue", value_name = "BOOLEAN", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_boolean)]
    continues: Option<bool>,
    /// With --continue: retry the instances that failed in that run.
    #[arg(long, value_name = "BOOLEAN", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_boolean)]
    retry_failed: Option<bool>,
    /// With --continue: take the run over from another process, which then stops. Without the flag a run that another
    /// process carries out is refused until two minutes after that process has reported last.
    #[arg(long)]
    take_over: bool,
    /// Report what would change, and change nothing.
    #[arg(long, value_name = "BOOLEAN", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_boolean)]
    dry_run: Option<bool>,
    /// Start no further instance when more than this many have failed: a number, or a percentage such as 2%.
    #[arg(long, value_name = "N|N%")]
    max_failures: Option<FailureBudget>,
    /// Start the next instances only when the finished ones are healthy.
    #[arg(long, value_name = "BOOLEAN", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_boolean)]
    health_gate: Option<bool>,
    /// With --health-gate: instances between two health checks. Default: all that follow the canaries.
    #[arg(long, value_name = "N")]
    wave: Option<NonZeroU32>,
    /// With --health-gate: time for instances to become healthy [default: 600].
    #[arg(long, value_name = "SECONDS")]
    health_timeout: Option<u32>,
    /// Only instances of this plan, by name or id; repeatable, like the filters below.
    #[arg(long = "plan", value_name = "PLAN", action = ArgAction::Append)]
    plans: Vec<String>,
    /// Only instances of this organization, by name or guid.
    #[arg(long = "organization", alias = "org", value_name = "ORGANIZATION", action = ArgAction::Append)]
    organizations: Vec<String>,
    /// Only instances in this space, by name or guid.
    #[arg(long = "space", value_name = "SPACE", action = ArgAction::Append)]
    spaces: Vec<String>,
    /// Only this instance, by id.
    #[arg(long = "instance", value_name = "ID", action = ArgAction::Append)]
    instances: Vec<String>,
    /// Exclude this instance, or the instances of this plan, space or organization, by name or id.
    #[arg(long = "exclude", value_name = "NAME", action = ArgAction::Append)]
    excluded: Vec<String>,
}

impl FleetFlags {
    /// The settings of the file, overridden by flags.
    pub(super) fn over(&self, file: RunSettings) -> RunSettings {
        let listed = |flags: &[String], file: Vec<String>| {
            if flags.is_empty() {
                file
            } else {
                flags.to_vec()
            }
        };
        let seconds = |seconds: Option<u32>| {
            let seconds = seconds.map(u64::from);
            seconds.map(Duration::from_secs)
        };
        RunSettings {
            continues: self.continues.unwrap_or(file.continues),
            retries_failed: self.retry_failed.unwrap_or(file.retries_failed),
            takes_over: self.take_over,
            keeps_unfinished: file.keeps_unfinished,
            only_outdated: file.only_outdated,
            is_dry: self.dry_run.unwrap_or(file.is_dry),
            max_failures: self.max_failures.or(file.max_failures),
            has_health_gate: self.health_gate.unwrap_or(file.has_health_gate),
            wave: self.wave.map(NonZeroU32::get).or(file.wave),
            health_timeout: seconds(self.health_timeout).or(file.health_timeout),
            answer_timeout: file.answer_timeout,
            plans: listed(&self.plans, file.plans),
            organizations: listed(&self.organizations, file.organizations),
            spaces: listed(&self.spaces, file.spaces),
            instances: listed(&self.instances, file.instances),
            excluded: listed(&self.excluded, file.excluded),
        }
    }
}

impl FleetRun<'_> {
    /// Rejects options that the broker does not support, and contradictory ones, before anything changes.
    pub(super) async fn check_options(&self) -> anyhow::Result<()> {
        if self.run.retries_failed && !self.run.continues {
            bail!("failed instances can be retried only in a continued run: set `continue`, too");
        }
        if self.run.takes_over && !self.run.continues {
            bail!("only a continued run can be taken over: set `continue`, too");
        }
        if self.run.wave.is_some() && !self.run.has_health_gate {
            bail!("a `wave` has no effect without `health_gate`");
        }
        let named: Vec<&str> = [
            (self.run.continues, "continue"),
            (self.run.is_dry, "dry_run"),
            (self.run.has_health_gate, "health_gate"),
            (
                self.is_narrow(),
                "a selection of plans, organizations, spaces or instances",
            ),
        ]
        .iter()
        .filter_map(|(is_wanted, name)| is_wanted.then_some(*name))
        .collect();
        if !named.is_empty() {
            let path = ["mgmt", "v1", "director"];
            let reported = self.broker.get::<serde_json::Value>(&path, &[]);
            match self.dependencies.unless_stopped(reported).await? {
                Err(error) if error.is_unknown_route() => bail!(
                    "this broker does not support {}: it is a Go broker, or older than this errand",
                    named.join(" and ")
                ),
                // Another error shows up with the list, too.
                Ok(_) | Err(_) => {}
            }
        }
        if self.operation == RunKind::Recreate {
            let checked = check_director(&self.broker, self.file.director.as_ref());
            self.dependencies.unless_stopped(checked).await??;
        }
        Ok(())
    }
}

/// Fails unless the Director can recreate (`spec/contracts/errands.md` §4.1). The broker reports its version; with a Go
/// broker the errand reads the Director's public info.
async fn check_director(
    broker: &BrokerApi,
    director: Option<&DirectorAddress>,
) -> anyhow::Result<()> {
    let reported = broker.get::<DirectorAbilities>(&["mgmt", "v1", "director"], &[]);
    let abilities = match reported.await {
        Ok(abilities) => abilities,
        Err(error) if error.is_unknown_route() => match director {
            Some(director) => ask(director).await?,
            None => bail!(
                "{TALKING}: this broker does not report its version, and the file has no `bosh.url`"
            ),
        },
        Err(error) => {
            let activity = "could not read the version of the BOSH director from the broker";
            return Err(anyhow::Error::new(error).context(activity));
        }
    };
    if !abilities.can_recreate {
        bail!(
            "Insufficient BOSH director version: \"{}\". Instances can be recreated by 266.15 and later of 266, 267.9 and \
             later of 267, 268.2.2 and later of 268.2, and by 268.4 and everything after it",
            abilities.version
        );
    }
    Ok(())
}

async fn ask(director: &DirectorAddress) -> anyhow::Result<DirectorAbilities> {
    #[derive(Deserialize)]
    struct Info {
        #[serde(default)]
        version: String,
    }
    let trust = match &director.root_ca_cert {
        Some(pem) => Trust::system_and(pem),
        None => Trust::system(),
    };
    let trust = trust.context("`bosh.root_ca_cert` cannot be used")?;
    let http = HttpClient::new(&trust, Limits::default()).context(TALKING)?;
    let server = address::server(director.url.as_written()).context(TALKING)?;
    let request = Request::get(address::on(&server, &["info"], &[]));
    let answer = http.send(&Call::within(TIMEOUT), &request).await;
    let answer = answer.context(TALKING)?;
    if !answer.status().is_success() {
        bail!("{TALKING}: got HTTP {}", answer.status().as_u16());
    }
    let info: Info = answer.json().context(TALKING)?;
    Ok(DirectorAbilities::of(info.version))
}
