//! The selected instances, from the first list to the last count.

use std::{num::NonZeroUsize, time::Duration};

use anyhow::bail;
use clap::Args;
use odb_clients::cloud_controller::{CfPlan, CloudController};
use odb_config::errands::Deletion;
use odb_rollout::{Command, Settings, State};

use super::{
    deleter::Deleter,
    selection::{Chosen, Selection, plans},
};
use crate::{
    Dependencies, ExitStatus, Progress,
    command_line::duration,
    confirmation::{Audience, is_typed},
    report::{Outcome, OutputFormat, Report, Row, Shown},
    runner,
};

/// How many rounds delete instances that appeared meanwhile. By then no user can order; these orders had begun before.
const MOST_ROUNDS: usize = 3;

#[derive(Clone, Debug, Args)]
pub(crate) struct How {
    /// Number of deletions at once, instead of `max_in_flight` of the file (10 unless it says so).
    #[arg(long, value_name = "NUMBER")]
    max_in_flight: Option<NonZeroUsize>,
    /// The time for one instance, in seconds or as `90m`, instead of `give_up_after` of the file (default 4 h).
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    give_up_after: Option<Duration>,
    /// Purge an instance that cannot be deleted from the platform. Its deployment may stay as an orphan, which
    /// `orphan-deployments` lists.
    #[arg(long)]
    purge_failed: bool,
    /// List what would be deleted, and delete nothing.
    #[arg(long)]
    dry_run: bool,
    /// Do not prompt for the number of instances. Without a terminal there is no prompt.
    #[arg(long)]
    yes: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    output: OutputFormat,
}

/// The selected instances of an offering, to be deleted.
pub(crate) struct Fleet<'a> {
    pub(crate) errand: &'static str,
    pub(crate) controller: CloudController,
    pub(crate) config: Deletion,
    pub(crate) broker_name: Option<String>,
    pub(crate) selection: Selection,
    pub(crate) how: How,
    /// Instances that are ordered during the deletion are deleted, too; otherwise they stay and are reported.
    pub(crate) includes_new_arrivals: bool,
    pub(crate) dependencies: &'a Dependencies,
}

/// The message for a user who types but does not see stderr.
const IGNORED: &str = "nothing was changed: standard error is not a terminal, so there is no prompt; confirm with --yes";

impl Fleet<'_> {
    pub(crate) fn report(&self) -> Report {
        let mut report = Report::of(self.errand);
        report.note("service_offering_id", self.config.offering.as_str());
        report
    }

    pub(crate) fn say_configuration(&self) {
        self.say(format!(
            "Deleter Configuration: polling_initial_offset: {}, polling_interval: {}.",
            self.config.polling_initial_offset.as_secs(),
            self.config.polling_interval.as_secs()
        ));
    }

    pub(crate) async fn plans(&self) -> anyhow::Result<Vec<CfPlan>> {
        let broker_name = self.broker_name.as_deref();
        let plans = plans(&self.controller, &self.config.offering, broker_name);
        self.dependencies.unless_stopped(plans).await?
    }

    pub(crate) fn must_be_looked_at_first(&self) -> bool {
        self.how.dry_run || (!self.how.yes && Audience::of_this_process() != Audience::Program)
    }

    /// Lists the selected instances, which the user confirms if there is a prompt. With `--dry-run` it ends there, with
    /// `None`.
    pub(crate) async fn outlook(
        &self,
        plans: &[CfPlan],
        report: &mut Report,
    ) -> anyhow::Result<Option<Vec<Chosen>>> {
        let chosen = self.list(plans).await?;
        self.selection.must_be_among(&chosen)?;
        if self.how.dry_run {
            for chosen in &chosen {
                report.add(chosen.row(Outcome::WouldChange));
            }
            report.show(Shown::All, self.dependencies);
            self.say(format!(
                "{} service instance(s) would be deleted; nothing was changed",
                chosen.len()
            ));
            return Ok(None);
        }
        self.confirm(chosen.len()).await?;
        Ok(Some(chosen))
    }

    async fn confirm(&self, count: usize) -> anyhow::Result<()> {
        if self.how.yes || count == 0 {
            return Ok(());
        }
        match Audience::of_this_process() {
            Audience::Program => return Ok(()),
            Audience::Blind => bail!(IGNORED),
            Audience::Person => {}
        }
        let prompt = format!(
            "{count} service instance(s) of the service offering `{}` will be deleted, with their bindings and keys. This cannot be \
             undone. Type the number of service instances ({count}) to continue:",
            self.config.offering
        );
        if !is_typed(self.dependencies, &prompt, count).await? {
            bail!("not confirmed: no service instance was deleted");
        }
        Ok(())
    }

    /// Lists and deletes all instances. A confirmation covers the confirmed number; if there are more, the user is
    /// prompted again.
    pub(crate) async fn delete_all(
        &self,
        plans: &[CfPlan],
        agreed: Option<usize>,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let chosen = self.list(plans).await?;
        if let Some(agreed) = agreed.filter(|agreed| chosen.len() > *agreed) {
            self.say(format!(
                "{} service instance(s) were created after {agreed} were confirmed",
                chosen.len() - agreed
            ));
            self.confirm(chosen.len()).await?;
        }
        self.delete(plans, chosen, report).await
    }

    /// Deletes them. Fails if any instance is left, for any reason.
    pub(crate) async fn delete(
        &self,
        plans: &[CfPlan],
        chosen: Vec<Chosen>,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        if chosen.is_empty() {
            report.show(Shown::Unsuccessful, self.dependencies);
            self.say("No service instances found.");
            return Ok(());
        }
        // The outcome of each instance is printed, even if the last list fails.
        let left = self.rounds(plans, chosen, report).await;
        report.show(Shown::Unsuccessful, self.dependencies);
        must_be_gone(report)?;
        let left = left?;
        if !left.is_empty() {
            bail!(
                "expected 0 instances for service offering with unique ID: {}. Got {} instance(s).",
                self.config.offering,
                left.len()
            );
        }
        Ok(())
    }

    /// Runs rounds until one fails or no new instance appears. Returns those that are listed in the end.
    async fn rounds(
        &self,
        plans: &[CfPlan],
        chosen: Vec<Chosen>,
        report: &mut Report,
    ) -> anyhow::Result<Vec<Chosen>> {
        let rounds = if self.includes_new_arrivals {
            MOST_ROUNDS
        } else {
            1
        };
        let mut left = chosen;
        for number in 1.. {
            self.round(&left, report).await;
            if !are_gone(report) {
                return Ok(Vec::new());
            }
            left = self.list(plans).await?;
            if left.is_empty() || number == rounds {
                break;
            }
            self.say(format!(
                "{} service instance(s) were created in the meantime",
                left.len()
            ));
        }
        Ok(left)
    }

    /// Tries all instances, several at a time, and reports the outcome of each in their order.
    async fn round(&self, chosen: &[Chosen], report: &mut Report) {
        let (config, how) = (&self.config, &self.how);
        let settings = Settings {
            max_in_flight: how.max_in_flight.unwrap_or(config.max_in_flight).get(),
            attempts: 1,
            attempt_pause: Duration::ZERO,
            poll_pause: config.polling_interval,
            timeout: Duration::ZERO,
            budget: None,
            gate: None,
        };
        let deleter = Deleter::new(
            &self.controller,
            self.dependencies,
            config,
            how.give_up_after.unwrap_or(config.give_up_after),
            how.purge_failed,
            chosen,
        );
        let instances = chosen.iter();
        let instances = instances.map(|chosen| (chosen.id.clone(), State::NotStarted));
        let progress = Progress::begin(&self.dependencies.console, "deleting", chosen.len(), 0);
        let engine = runner::run(
            &deleter,
            settings,
            instances.collect(),
            None,
            deleter.stopping(),
            |command| match command {
                Command::Changed(_, state) if state.is_final() => progress.advance(),
                _ => {}
            },
        );
        let engine = engine.await;
        drop(progress);
        let outcomes = chosen.iter().zip(engine.instances());
        for ((chosen, (_, state, duration)), (purged, failure)) in
            outcomes.zip(deleter.into_failures())
        {
            let (outcome, cause) = match (state, purged, failure) {
                (_, Some(cause), _) => (Outcome::Purged, Some(cause)),
                (State::Failed(cause), ..) => (Outcome::Failed, Some(cause.clone())),
                // The run ended before the instance was purged.
                (State::Triggering, None, Some(error)) => {
                    (Outcome::Failed, Some(error.to_string()))
                }
                (State::Accepted(_), ..) => {
                    self.say(format!(
                        "service instance {} is still being deleted",
                        chosen.guid
                    ));
                    (Outcome::InProgress, None)
                }
                (state, ..) if state.is_final() => (Outcome::Succeeded, None),
                _ => (Outcome::NotReached, None),
            };
            report.add(Row {
                cause,
                duration: duration.filter(|_| state.is_final()),
                ..chosen.row(outcome)
            });
        }
    }

    async fn list(&self, plans: &[CfPlan]) -> anyhow::Result<Vec<Chosen>> {
        let list = self.selection.of(&self.controller, plans);
        self.dependencies.unless_stopped(list).await?
    }

    /// Prints the one document for programs, however the errand has ended.
    pub(crate) fn summarize(
        &self,
        ended: anyhow::Result<()>,
        report: &mut Report,
    ) -> anyhow::Result<ExitStatus> {
        report.end(&ended, self.how.output, self.dependencies)?;
        ended.map(|()| ExitStatus::Success)
    }

    /// Prints the final message, and what needs the operator's attention.
    pub(crate) fn say_finished(&self, text: &str, report: &Report) {
        match report.count(Outcome::Purged) {
            0 => self.say(text),
            count => self.say(format!(
                "{text}. {count} service instance(s) could not be deleted and were purged from the platform; list their deployments with orphan-deployments"
            )),
        }
    }

    fn say(&self, text: impl std::fmt::Display) {
        self.dependencies.console.log(text);
    }
}

fn are_gone(report: &Report) -> bool {
    report.rows().iter().all(|row| row.outcome.is_success())
}

fn must_be_gone(report: &Report) -> anyhow::Result<()> {
    if are_gone(report) {
        return Ok(());
    }
    let counts: Vec<_> = [
        (Outcome::Failed, "failed"),
        (Outcome::InProgress, "still being deleted"),
        (Outcome::NotReached, "not tried"),
    ]
    .into_iter()
    .map(|(outcome, what)| (report.count(outcome), what))
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    let rows = report.rows();
    let left = rows.iter().filter(|row| !row.outcome.is_success());
    let purged = match report.count(Outcome::Purged) {
        0 => String::new(),
        count => format!("; {count} could not be deleted and were purged"),
    };
    bail!(
        "{} of {} service instance(s) are not deleted: {}{purged}; run the errand again to delete them",
        left.count(),
        rows.len(),
        counts.join(", ")
    )
}
