//! The selected instances, from the first list to the last count.

use std::{
    num::NonZeroUsize,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::bail;
use clap::Args;
use odb_clients::cloud_controller::CloudController;
use odb_config::errands::Deletion;
use tokio_util::sync::CancellationToken;

use super::{
    instance::{Deleter, Pace},
    round::{AfterFailure, Round},
    selection::{Chosen, Plan, Selection, plans},
};
use crate::{
    Dependencies,
    command_line::duration,
    confirmation::{Audience, is_typed},
    report::{Outcome, OutputFormat, Report, Row, RunStatus, Shown},
};

/// How many further rounds delete instances that appeared meanwhile. By then no user can order; these orders had begun
/// before.
const MOST_ROUNDS: usize = 3;

/// How it is done.
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
pub(crate) struct Fleet {
    pub(crate) errand: &'static str,
    pub(crate) controller: CloudController,
    pub(crate) config: Deletion,
    pub(crate) broker_name: Option<String>,
    pub(crate) selection: Selection,
    pub(crate) how: How,
    pub(crate) new_arrivals: NewArrivals,
    pub(crate) dependencies: Dependencies,
    /// The outcome of each instance so far.
    pub(crate) report: Mutex<Report>,
}

/// How the errand treats instances that are ordered during the deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewArrivals {
    /// They stay and are reported.
    Counted,
    /// They are deleted, too.
    Deleted,
}

pub(crate) enum Outlook {
    /// It was only looked.
    OnlyLooked,
    /// These instances are deleted; the user has confirmed it if a prompt was needed.
    ToDelete(Vec<Chosen>),
}

/// The message for a user who types but does not see stderr.
const IGNORED: &str = "nothing was changed: standard error is not a terminal, so there is no prompt; confirm with --yes";

impl Fleet {
    /// Logs the settings of the deletion.
    pub(crate) fn say_configuration(&self) {
        self.say(&format!(
            "Deleter Configuration: polling_initial_offset: {}, polling_interval: {}.",
            self.config.polling_initial_offset.as_secs(),
            self.config.polling_interval.as_secs()
        ));
    }

    /// The plans of the offering.
    pub(crate) async fn plans(&self) -> anyhow::Result<Vec<Plan>> {
        let plans = plans(
            &self.controller,
            &self.config.offering,
            self.broker_name.as_deref(),
        );
        self.dependencies.unless_stopped(plans).await?
    }

    /// Whether the errand must list the instances before it changes anything.
    pub(crate) fn must_be_looked_at_first(&self) -> bool {
        self.how.dry_run || (!self.how.yes && Audience::of_this_process() != Audience::Program)
    }

    /// Lists the selected instances and prompts the user at a terminal. With `--dry-run` it ends there.
    pub(crate) async fn outlook(&self, plans: &[Plan]) -> anyhow::Result<Outlook> {
        let chosen = self.list(plans).await?;
        self.selection.must_be_among(&chosen)?;
        if self.how.dry_run {
            let mut report = self.report();
            for chosen in chosen {
                report.add(chosen.row(Outcome::WouldChange));
            }
            let count = report.rows().len();
            self.print(report, RunStatus::Succeeded, Shown::All)?;
            self.say(&format!(
                "{count} service instance(s) would be deleted; nothing was changed"
            ));
            return Ok(Outlook::OnlyLooked);
        }
        self.ask(chosen.len()).await?;
        Ok(Outlook::ToDelete(chosen))
    }

    /// Prompts the user at the terminal for the number of instances.
    async fn ask(&self, count: usize) -> anyhow::Result<()> {
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
        if !is_typed(&self.dependencies, &prompt, count).await? {
            bail!("not confirmed: no service instance was deleted");
        }
        Ok(())
    }

    /// Deletes all instances and verifies that none is left. A confirmation covers the confirmed number; if there are
    /// more, the user is prompted again.
    ///
    /// # Errors
    ///
    /// Some instances are left, for any reason.
    pub(crate) async fn delete_all(
        &self,
        plans: &[Plan],
        agreed: Option<usize>,
    ) -> anyhow::Result<()> {
        let chosen = self.list(plans).await?;
        if let Some(agreed) = agreed.filter(|agreed| chosen.len() > *agreed) {
            self.say(&format!(
                "{} service instance(s) were created after {agreed} were confirmed",
                chosen.len() - agreed
            ));
            self.ask(chosen.len()).await?;
        }
        self.delete(plans, chosen).await
    }

    /// Deletes them, and verifies that none remains.
    ///
    /// # Errors
    ///
    /// Some remain, for any reason.
    pub(crate) async fn delete(&self, plans: &[Plan], chosen: Vec<Chosen>) -> anyhow::Result<()> {
        let mut report = self.report();
        if chosen.is_empty() {
            self.print(report, RunStatus::Succeeded, Shown::Unsuccessful)?;
            self.say("No service instances found.");
            return Ok(());
        }
        // The outcome of each instance is printed, even if the last list fails.
        let left = self.run(plans, chosen, &mut report).await;
        let is_done = are_gone(&report) && left.as_ref().is_ok_and(Vec::is_empty);
        let status = if is_done {
            RunStatus::Succeeded
        } else if self.dependencies.stopping.is_cancelled() {
            RunStatus::Stopped
        } else {
            RunStatus::Failed
        };
        let are_gone = must_be_gone(&report);
        self.print(report, status, Shown::Unsuccessful)?;
        are_gone?;
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

    /// Runs rounds until one fails or no new instance appears. Remaining instances are reported.
    async fn run(
        &self,
        plans: &[Plan],
        chosen: Vec<Chosen>,
        report: &mut Report,
    ) -> anyhow::Result<Vec<Chosen>> {
        let round = self.round();
        let mut left = chosen;
        for number in 1.. {
            for row in round.run(left).await {
                report.add(row);
            }
            if !are_gone(report) {
                return Ok(Vec::new());
            }
            left = self.list(plans).await?;
            if left.is_empty() || number == self.most_rounds() {
                break;
            }
            self.say(&format!(
                "{} service instance(s) were created in the meantime",
                left.len()
            ));
        }
        Ok(left)
    }

    fn most_rounds(&self) -> usize {
        match self.new_arrivals {
            NewArrivals::Counted => 1,
            NewArrivals::Deleted => MOST_ROUNDS,
        }
    }

    async fn list(&self, plans: &[Plan]) -> anyhow::Result<Vec<Chosen>> {
        let list = self.selection.of(&self.controller, plans);
        self.dependencies.unless_stopped(list).await?
    }

    fn round(&self) -> Round {
        let pace = Pace {
            initial_offset: self.config.polling_initial_offset,
            interval: self.config.polling_interval,
            limit: self.how.give_up_after.unwrap_or(self.config.give_up_after),
        };
        let dependencies = self.dependencies.clone();
        Round {
            deleter: Deleter::new(self.controller.clone(), dependencies.clone(), pace),
            dependencies,
            max_in_flight: self.how.max_in_flight.unwrap_or(self.config.max_in_flight),
            after_failure: if self.how.purge_failed {
                AfterFailure::Purge
            } else {
                AfterFailure::Keep
            },
            giving_up: CancellationToken::new(),
        }
    }

    /// Prints the outcome of each instance to stderr. The document for programs follows at the end.
    fn print(&self, mut report: Report, status: RunStatus, shown: Shown) -> anyhow::Result<()> {
        report.print(status, OutputFormat::Text, shown, &self.dependencies)?;
        *self.reported() = report;
        Ok(())
    }

    fn reported(&self) -> MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints the one document for programs, however the errand has ended.
    pub(crate) fn summarize(&self, ended: anyhow::Result<()>) -> anyhow::Result<()> {
        if self.how.output == OutputFormat::Json {
            let mut report = self.reported();
            if report.errand().is_empty() {
                *report = self.report();
            }
            if let Err(error) = &ended {
                let status = if self.dependencies.stopping.is_cancelled() {
                    RunStatus::Stopped
                } else {
                    RunStatus::Failed
                };
                report.fail(status, format!("{error:#}"));
            }
            self.dependencies.print(&report.document())?;
        }
        ended
    }

    /// Prints the final message, and what needs the operator's attention.
    pub(crate) fn say_finished(&self, text: &str) {
        match self.reported().count(Outcome::Purged) {
            0 => self.say(text),
            count => self.say(&format!(
                "{text}. {count} service instance(s) could not be deleted and were purged from the platform; list their deployments with orphan-deployments"
            )),
        }
    }

    fn report(&self) -> Report {
        let mut report = Report::of(self.errand);
        report.note("service_offering_id", self.config.offering.as_str());
        report
    }

    fn say(&self, text: &str) {
        self.dependencies.console.say(text);
    }
}

fn are_gone(report: &Report) -> bool {
    report.rows().iter().all(|row| row.outcome.is_success())
}

fn must_be_gone(report: &Report) -> anyhow::Result<()> {
    if are_gone(report) {
        return Ok(());
    }
    let counts = [
        (Outcome::Failed, "failed"),
        (Outcome::InProgress, "still being deleted"),
        (Outcome::NotReached, "not tried"),
    ];
    let counts: Vec<_> = counts
        .iter()
        .map(|(outcome, what)| (report.count(*outcome), what))
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let all: &[Row] = report.rows();
    let left = all.iter().filter(|row| !row.outcome.is_success());
    let purged = match report.count(Outcome::Purged) {
        0 => String::new(),
        count => format!("; {count} could not be deleted and were purged"),
    };
    bail!(
        "{} of {} service instance(s) are not deleted: {}{purged}; run the errand again to delete them",
        left.count(),
        all.len(),
        counts.join(", ")
    )
}
