//! A run over the fleet: its passes, and their preparation (`spec/contracts/errands.md` §4.1).

use std::{collections::HashSet, fmt::Display, num::NonZeroU32, time::Duration};

use anyhow::{Context, anyhow, bail};
use odb_api_types::{
    ids::InstanceId,
    management::{InventoryEntry, OperationState, PlatformOperationState, RunKind, RunOutcome},
};
use odb_clients::{ServiceError, cloud_controller::CloudController, http::Call};
use odb_config::{errands::Fleet as FleetFile, errands::RunSettings};
use odb_redaction::Chain;
use odb_rollout::{Engine, HealthGate, Settings, State};

use super::{
    View,
    dry_run::{self, FleetChanges},
    lease,
    listing::{self, Listing, Members},
    people,
    resumption::RunUnderWay,
    through_broker::ThroughBroker,
    through_platform::ThroughPlatform,
};
use crate::{
    Console, Dependencies, ExitStatus,
    broker_api::BrokerApi,
    cloud_controller,
    report::{Outcome, OutputFormat, Report, Row, Shown},
    waiting::retry,
};

/// How long calls that get no answer are repeated, unless the file says otherwise. A broker that is deployed anew is
/// away for some minutes.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(10);
/// The default time for instances to become healthy.
const HEALTH_TIMEOUT: Duration = Duration::from_mins(10);
/// The time for reading the version of the Cloud Controller.
const VERSION_TIMEOUT: Duration = Duration::from_mins(1);

pub(super) struct FleetRun<'a> {
    pub(super) operation: RunKind,
    pub(super) file: FleetFile,
    pub(super) run: RunSettings,
    pub(super) broker: BrokerApi,
    /// With the errand's own prefix.
    pub(super) console: Console,
    pub(super) dependencies: &'a Dependencies,
    pub(super) view: View,
}

impl<'a> FleetRun<'a> {
    pub(super) fn new(
        operation: RunKind,
        mut file: FleetFile,
        view: View,
        dependencies: &'a Dependencies,
    ) -> anyhow::Result<Self> {
        let subject = match operation {
            RunKind::Upgrade => "upgrade-all",
            RunKind::Recreate => "recreate-all",
        };
        let console = &dependencies.console;
        Ok(Self {
            operation,
            broker: BrokerApi::connect(&file.broker_api, file.request_timeout, console)?,
            console: console.about(subject),
            dependencies,
            view,
            run: std::mem::take(&mut file.run),
            file,
        })
    }

    pub(super) async fn complete(self, mut report: Report) -> anyhow::Result<ExitStatus> {
        let ended = self.ended(&mut report).await;
        // Where nothing was listed only programs want to read that nothing became of anything.
        let output = self.view.output;
        if self.is_short() {
            report.hide_ids();
        }
        if output == OutputFormat::Json || !report.rows().is_empty() {
            report.show(Shown::Unsuccessful, self.dependencies);
        }
        report.end(&ended, output, self.dependencies)?;
        if self.console.is_for_people()
            && let Some(next) = self.next(ended.is_ok(), &report)
        {
            self.console.screen().line(&format!("Next: {next}"));
        }
        ended.map(|()| ExitStatus::Success)
    }

    async fn ended(&self, report: &mut Report) -> anyhow::Result<()> {
        self.check_options().await?;
        if self.run.is_dry {
            let dry_run = self.dry_run(report);
            self.dependencies.unless_stopped(dry_run).await?
        } else {
            self.recorded_run(report).await
        }
    }

    async fn recorded_run(&self, report: &mut Report) -> anyhow::Result<()> {
        let begun = RunUnderWay::begin(self);
        let under_way = self.dependencies.unless_stopped(begun).await??;
        if let Some(id) = under_way.id() {
            report.note("run", id.to_string());
        }
        let passes = self.passes(&under_way, report);
        let ended = match under_way.leased() {
            Some(id) => tokio::select! {
                ended = passes => ended,
                never = lease::keep(self, id) => match never {},
            },
            None => passes.await,
        };
        let outcome = if ended.is_ok() {
            RunOutcome::Succeeded
        } else {
            RunOutcome::Failed
        };
        under_way.end(self, outcome).await;
        ended
    }

    async fn passes(&self, under_way: &RunUnderWay, report: &mut Report) -> anyhow::Result<()> {
        let (mut upgraded, mut left_out) = (HashSet::new(), None);
        // A run that is continued was listed when it began.
        let mut listing = if under_way.is_continued {
            Listing::Later
        } else {
            Listing::First
        };
        if self.operation == RunKind::Upgrade {
            match self.dependencies.unless_stopped(self.platform()).await? {
                Ok(Some(controller)) => {
                    self.detail("Upgrading all instances via CF");
                    upgraded = self
                        .platform_pass(&controller, under_way, listing, report)
                        .await?;
                    listing = Listing::Later;
                }
                Ok(None) => {}
                Err(cause) => {
                    self.console.log(&cause);
                    report.note("platform_pass_left_out", cause.as_str());
                    left_out = Some(cause);
                }
            }
            self.detail("Upgrading all instances via BOSH");
        }
        let ended = self
            .broker_pass(under_way, listing, &upgraded, report)
            .await;
        if let Some(cause) = left_out {
            self.console.log(format_args!(
                "{cause}. It does not receive the upgrades of this run"
            ));
        }
        ended
    }

    /// The Cloud Controller, where upgrades use it; otherwise the reason why they do not. Transient errors are retried.
    async fn platform(&self) -> Result<Option<CloudController>, String> {
        let access = self.file.cloud_foundry.as_ref();
        let Some(access) = access.filter(|_| self.file.maintenance_info_present) else {
            return Ok(None);
        };
        let without = |cause: &dyn Display| {
            format!("Upgrades do not go through the Cloud Controller: {cause}")
        };
        let controller = cloud_controller::connect(access, &self.dependencies.console)
            .map_err(|error| without(&Chain(error.as_ref())))?;
        let read = async || {
            let read = controller
                .knows_maintenance_info(&Call::within(VERSION_TIMEOUT))
                .await;
            read.context(
                "The Cloud Controller did not report whether it supports `maintenance_info`",
            )
        };
        let known = retry(self.settings().timeout, &self.console, read, |error| {
            error.downcast_ref().is_some_and(ServiceError::is_transient)
        });
        match known.await {
            Ok(true) => Ok(Some(controller)),
            Ok(false) => Err(without(&"it does not support `maintenance_info`")),
            // Without the context, which is for the lines about retries.
            Err(error) => Err(without(&Chain(error.source().unwrap_or(error.as_ref())))),
        }
    }

    /// Returns the instances that were brought up to date.
    async fn platform_pass(
        &self,
        controller: &CloudController,
        under_way: &RunUnderWay,
        listing: Listing,
        report: &mut Report,
    ) -> anyhow::Result<HashSet<InstanceId>> {
        let Members { entries, .. } = self
            .begin_pass(under_way.is_continued, listing, report)
            .await?;
        let states = entries.iter().map(|entry| {
            match under_way.prior_state(entry, self.run.retries_failed).0 {
                // Started by the pass through the broker: the platform does not know of it, and has nothing to upgrade.
                State::Accepted(_) if !is_at_work_for_platform(entry) => State::NotStarted,
                State::Accepted(_) => State::Accepted(None),
                state => state,
            }
        });
        let states = states.collect();
        let requests = ThroughPlatform::new(controller, &self.broker, &entries);
        let (engine, rows) = self.pass(&requests, &entries, states).await?;
        self.end_pass(&engine, rows, &HashSet::new(), report)?;
        let succeeded = engine.instances();
        let succeeded = succeeded.filter(|(_, state, _)| **state == State::Succeeded);
        Ok(succeeded.map(|(id, ..)| id.clone()).collect())
    }

    /// Instances that were upgraded through the platform are as the broker would make them.
    async fn broker_pass(
        &self,
        under_way: &RunUnderWay,
        listing: Listing,
        upgraded: &HashSet<InstanceId>,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let members = self
            .begin_pass(under_way.is_continued, listing, report)
            .await?;
        let only_outdated = under_way.skips_up_to_date(self.run.only_outdated);
        let prior = members.entries.iter().map(|entry| {
            if upgraded.contains(&entry.service_instance_id) {
                (State::Skipped, None)
            } else {
                match under_way.prior_state(entry, self.run.retries_failed) {
                    (State::NotStarted, None) if only_outdated && self.is_up_to_date(entry) => {
                        (State::Skipped, None)
                    }
                    prior => prior,
                }
            }
        });
        let (states, operations) = prior.unzip();
        let requests = ThroughBroker::new(self, &members, under_way, operations);
        let (engine, rows) = self.pass(&requests, &members.entries, states).await?;
        self.end_pass(&engine, rows, upgraded, report)
    }

    pub(super) fn settings(&self) -> Settings {
        let run = &self.run;
        Settings {
            max_in_flight: self.file.max_in_flight.get(),
            attempts: u32::try_from(self.file.attempt_limit.get()).unwrap_or(u32::MAX),
            attempt_pause: self.file.attempt_interval,
            poll_pause: self.file.polling_interval,
            timeout: run.answer_timeout.unwrap_or(ANSWER_TIMEOUT),
            budget: run.max_failures,
            gate: run.has_health_gate.then(|| HealthGate {
                wave: run.wave.and_then(NonZeroU32::new),
                timeout: run.health_timeout.unwrap_or(HEALTH_TIMEOUT),
            }),
        }
    }

    async fn dry_run(&self, report: &mut Report) -> anyhow::Result<()> {
        self.console.log("DRY RUN: nothing is changed");
        let Members { entries, .. } = self.inventory(Listing::First, report).await?;
        let (skipped, entries): (Vec<_>, Vec<_>) = entries
            .into_iter()
            .partition(|entry| self.run.only_outdated && self.is_up_to_date(entry));
        for entry in &skipped {
            report.add(listing::row(entry, Outcome::Skipped, None));
        }
        let forecasts = match self.operation {
            RunKind::Upgrade => {
                let at_once = self.file.max_in_flight.get();
                dry_run::of_upgrades(&self.broker, &entries, at_once).await
            }
            RunKind::Recreate => entries.iter().map(dry_run::of_recreation).collect(),
        };
        let changes = FleetChanges::of(&forecasts);
        for line in changes.text().lines() {
            self.console.log(line);
        }
        report.note("dry_run", true);
        report.note("changes", changes.changes());
        report.note("risks", changes.risks());
        let mut unknown = Vec::new();
        for (row, _) in forecasts {
            if matches!(row.outcome, Outcome::Failed | Outcome::Busy) {
                unknown.push(row.instance.to_string());
            }
            report.add(row);
        }
        if unknown.is_empty() {
            return Ok(());
        }
        bail!(
            "could not determine the changes of these instances: {}",
            unknown.join(", ")
        );
    }

    /// Whether an upgrade has nothing to do. An instance whose last operation has failed is not up to date.
    fn is_up_to_date(&self, entry: &InventoryEntry) -> bool {
        let operation = entry.operation.as_ref();
        self.operation == RunKind::Upgrade
            && entry.up_to_date == Some(true)
            && operation.is_none_or(|operation| operation.state == OperationState::Succeeded)
    }

    /// Records the outcome of each instance. Those that an earlier pass has upgraded keep their row.
    fn end_pass(
        &self,
        engine: &Engine,
        rows: Vec<Row>,
        upgraded: &HashSet<InstanceId>,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let total = rows.len();
        for row in rows {
            if !upgraded.contains(&row.instance) {
                report.add(row);
            }
        }
        let result = engine.result();
        match result.failure {
            Some(_) if self.is_short() => Err(anyhow!(people::reason(&result.tally, total))),
            Some(failure) => Err(anyhow!(failure)),
            None => Ok(()),
        }
    }
}

fn is_at_work_for_platform(entry: &InventoryEntry) -> bool {
    let operation = entry.platform_operation.as_ref();
    operation.is_some_and(|operation| {
        matches!(
            operation.state,
            PlatformOperationState::Initial | PlatformOperationState::InProgress
        )
    })
}
