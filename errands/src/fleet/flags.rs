//! The flags of both errands.

use std::{num::NonZeroU32, path::PathBuf, time::Duration};

use clap::{ArgAction, Args};
use odb_config::errands::RunSettings;
use odb_rollout::FailureBudget;

use crate::{command_line::go_boolean, report::OutputFormat};

/// Flags win over the section `run` of the file.
#[derive(Clone, Debug, Args)]
pub(super) struct FleetFlags {
    /// The errand's configuration.
    #[arg(long, alias = "configPath", value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// What goes to standard output.
    #[arg(long, value_enum, default_value_t)]
    pub(super) output: OutputFormat,
    /// Go on with the last run, if that has not succeeded: what it has done is left alone, what it has begun is watched.
    #[arg(long = "continue", value_name = "BOOLEAN", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_boolean)]
    continues: Option<bool>,
    /// With --continue: try again what has failed in that run.
    #[arg(long, value_name = "BOOLEAN", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_boolean)]
    retry_failed: Option<bool>,
    /// Change nothing, and tell what would change.
    #[arg(long, value_name = "BOOLEAN", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_boolean)]
    dry_run: Option<bool>,
    /// How many instances may fail before no further one is begun: a number, or a percentage such as 2%.
    #[arg(long, value_name = "N|N%")]
    max_failures: Option<FailureBudget>,
    /// Begin the next instances only when those that were just done are healthy.
    #[arg(long, value_name = "BOOLEAN", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_boolean)]
    health_gate: Option<bool>,
    /// With --health-gate: how many instances are done between two looks; without, all that follow the canaries.
    #[arg(long, value_name = "N")]
    wave: Option<NonZeroU32>,
    /// With --health-gate: how long instances may take to become healthy [default: 600].
    #[arg(long, value_name = "SECONDS")]
    health_timeout: Option<u32>,
    /// Only instances of this plan, by name or id. Can be given several times, as all that follow.
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
    /// Not this instance, or not those of this plan, space or organization, by name or id.
    #[arg(long = "exclude", value_name = "NAME", action = ArgAction::Append)]
    excluded: Vec<String>,
}

impl FleetFlags {
    /// The settings of the file, with those that flags give in their place.
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
