//! The flags of both errands.

use std::{num::NonZeroU32, path::PathBuf, time::Duration};

use clap::{ArgAction, Args};
use odb_config::errands::RunSettings;
use odb_rollout::FailureBudget;

use crate::{command_line::go_boolean, report::OutputFormat};

/// Flags win over the section `run` of the file.
#[derive(Clone, Debug, Args)]
pub(super) struct FleetFlags {
    /// Path of the errand's configuration.
    #[arg(long, alias = "configPath", value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub(super) output: OutputFormat,
    /// Continue the last run if it has not succeeded: finished instances are skipped, running operations are
    /// followed.
    #[arg(long = "continue", value_name = "BOOLEAN", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_boolean)]
    continues: Option<bool>,
    /// With --continue: retry the instances that failed in that run.
    #[arg(long, value_name = "BOOLEAN", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_boolean)]
    retry_failed: Option<bool>,
    /// Report what would change, and change nothing.
    #[arg(long, value_name = "BOOLEAN", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_boolean)]
    dry_run: Option<bool>,
    /// Start no further instance after this many failures: a number, or a percentage such as 2%.
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
