//! A run over the fleet: its passes, and their preparation (`spec/contracts/errands.md` §4.1).

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    num::NonZeroU32,
    time::Duration,
};

use anyhow::{anyhow, bail};
use odb_api_types::{
    ids::InstanceId,
    management::{PlatformOperationState, RunOutcome},
};
use odb_clients::{
    cloud_controller::CloudController,
    http::{Call, Deadline},
};
use odb_config::{errands::Fleet as FleetFile, errands::RunSettings};
use odb_redaction::Chain;
use tokio::time::sleep;

use super::{
    dry_run, dry_run::FleetChanges, flags::FleetFlags, listing::Listing, members::Choice,
    members::Member, members::ids, pass::Ended, pass::Known, pass::Pass, pass::say_listed,
    resumption::Extent, resumption::FailedBefore, resumption::RunUnderWay,
    through_broker::ThroughBroker, through_platform::ThroughPlatform,
};
use crate::{
    Console, Dependencies, ExitStatus,
    broker_api::{BrokerApi, FleetOperation, OperationData},
    cloud_controller,
    report::{OutputFormat, Report, RunStatus, Shown},
};
use odb_rollout::{CanarySelection, HealthGate, PriorResult, Settings};

/// How long calls that get no answer are repeated, unless the file says otherwise. A broker that is deployed anew is
/// away for some minutes.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(10);
/// The default time for instances to become healthy.
const HEALTH_TIMEOUT: Duration = Duration::from_mins(10);
/// The time for reading the version of the Cloud Controller.
const VERSION_TIMEOUT: Duration = Duration::from_mins(1);
/// The pause before the next request for the version.
const VERSION_PAUSE: Duration = Duration::from_secs(5);

/// An empty report of the errand.
pub(super) fn report_of(operation: FleetOperation) -> Report {
    Report::of(match operation {
        FleetOperation::Upgrade => "upgrade-all-service-instances",
        FleetOperation::Recreate => "recreate-all-service-instances",
    })
}

/// A run over the fleet.
pub(super) struct FleetRun<'a> {
    pub(super) operation: FleetOperation,
    pub(super) file: FleetFile,
    pub(super) run: RunSettings,
    pub(super) choice: Choice,
    pub(super) broker: BrokerApi,
    /// With the errand's own prefix.
    pub(super) console: Console,
    pub(super) dependencies: &'a Dependencies,
    pub(super) output: OutputFormat,
}

impl<'a> FleetRun<'a> {
    pub(super) fn new(
        operation: FleetOperation,
        mut file: FleetFile,
        flags: &FleetFlags,
        dependencies: &'a Dependencies,
    ) -> anyhow::Result<Self> {
        let run = flags.over(std::mem::take(&mut file.run));
        let subject = match operation {
            FleetOperation::Upgrade => "upgrade-all",
            FleetOperation::Recreate => "recreate-all",
        };
        let broker = BrokerApi::connect(
            &file.broker_api,
            file.request_timeout,
            &dependencies.console,
        )?;
        Ok(Self {
            operation,
            broker,
            console: dependencies.console.about(subject),
            dependencies,
            output: flags.output,
            choice: Choice {
                plans: run.plans.clone(),
                organizations: run.organizations.clone(),
                spaces: run.spaces.clone(),
                instances: run.instances.clone(),
                excluded: run.excluded.iter().cloned().collect(),
            },
            file,
            run,
        })
    }

    /// Runs all instances and reports the outcome of each.
    pub(super) async fn complete(self) -> anyhow::Result<ExitStatus> {
        let mut report = report_of(self.operation);
        let ended = self.ended(&mut report).await;
        let status = match &ended {
            Ok(()) => RunStatus::Succeeded,
            Err(_) if self.dependencies.stopping.is_cancelled() => RunStatus::Stopped,
            Err(_) => RunStatus::Failed,
        };
        if let Err(error) = &ended {
            report.note("error", format!("{error:#}"));
        }
        // Where nothing was listed only programs want to read that nothing became of anything.
        if self.output == OutputFormat::Json || !report.rows().is_empty() {
            report.print(status, self.output, Shown::Unsuccessful, self.dependencies)?;
        }
        ended.map(|()| ExitStatus::Success)
    }

    async fn ended(&self, report: &mut Report) -> anyhow::Result<()> {
        self.check_options().await?;
        if self.run.is_dry {
            let reported = self.dependencies.unless_stopped(self.dry_run(report));
            reported.await.map_err(anyhow::Error::new).flatten()
        } else {
            self.recorded_run(report).await
        }
    }

    /// Runs all passes; the broker records the run.
    async fn recorded_run(&self, report: &mut Report) -> anyhow::Result<()> {
        let begun = async {
            let (broker, operation, console) = (&self.broker, self.operation, &self.console);
            let extent = if self.choice.is_narrow() {
                Extent::Part
            } else {
                Extent::Whole
            };
            if self.run.continues {
                RunUnderWay::go_on(broker, operation, extent, console).await
            } else {
                Ok(RunUnderWay::begin(broker, operation, extent, console).await)
            }
        };
        let under_way = self.dependencies.unless_stopped(begun).await??;
        if let Some(id) = under_way.id() {
            report.note("run", id);
        }
        let ended = self.passes(&under_way, report).await;
        let outcome = if ended.is_ok() {
            RunOutcome::Succeeded
        } else {
            RunOutcome::Failed
        };
        under_way.end(&self.broker, outcome, &self.console).await;
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
        if self.operation == FleetOperation::Upgrade {
            match self.dependencies.unless_stopped(self.platform()).await? {
                Ok(Some(controller)) => {
                    self.console.say("Upgrading all instances via CF");
                    upgraded = self
                        .platform_pass(&controller, under_way, listing, report)
                        .await?;
                    listing = Listing::Later;
                }
                Ok(None) => {}
                Err(cause) => {
                    self.console.say(&cause);
                    report.note("platform_pass_left_out", cause.as_str());
                    left_out = Some(cause);
                }
            }
            self.console.say("Upgrading all instances via BOSH");
        }
        let ended = self
            .broker_pass(under_way, listing, &upgraded, report)
            .await;
        if let Some(cause) = left_out {
            self.console.say(format_args!(
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
        let without = |cause: &dyn std::fmt::Display| {
            format!("Upgrades do not go through the Cloud Controller: {cause}")
        };
        let controller = cloud_controller::connect(access, &self.dependencies.console)
            .map_err(|error| without(&Chain(&error)))?;
        let end = Deadline::after(self.settings().timeout);
        loop {
            let call = Call::within(VERSION_TIMEOUT);
            match controller.knows_maintenance_info(&call).await {
                Ok(true) => return Ok(Some(controller)),
                Ok(false) => return Err(without(&"it does not support `maintenance_info`")),
                Err(error) if error.is_transient() && !end.has_passed() => {
                    let pause = VERSION_PAUSE.min(end.remaining());
                    self.console.say(format_args!(
                        "The Cloud Controller did not report whether it supports `maintenance_info`: {}; retrying in {}s",
                        Chain(&error),
                        pause.as_secs()
                    ));
                    sleep(pause).await;
                }
                Err(error) => return Err(without(&Chain(&error))),
            }
        }
    }

    /// Gives those that were brought up to date.
    async fn platform_pass(
        &self,
        controller: &CloudController,
        under_way: &RunUnderWay,
        listing: Listing,
        report: &mut Report,
    ) -> anyhow::Result<HashSet<InstanceId>> {
        let members = self.begin_pass(under_way, listing, report).await?;
        let operator = ThroughPlatform::new(controller, &self.broker, &members);
        let pass = self.pass(&members).await?;
        let known = members.iter().enumerate().filter_map(|(location, member)| {
            let (prior_result, _) = self.prior_result(under_way, member)?;
            let is_at_it = || {
                let entry = member.entry.as_ref()?;
                let operation = entry.platform_operation.as_ref()?;
                matches!(
                    operation.state,
                    PlatformOperationState::Initial | PlatformOperationState::InProgress
                )
                .then_some(())
            };
            match prior_result {
                // Started by the pass through the broker: the platform does not know of it, and has nothing to upgrade.
                PriorResult::Underway { .. } => is_at_it().map(|()| {
                    let prior_result = PriorResult::Underway { task: None };
                    (location, Known::underway(prior_result, ()))
                }),
                prior_result => Some((location, Known::prior_result(prior_result))),
            }
        });
        let ended = pass.run(&operator, known.collect()).await;
        let ended = end_pass(ended, &HashSet::new(), report)?;
        Ok(ended.succeeded)
    }

    /// Instances that were upgraded through the platform are as the broker would make them.
    async fn broker_pass(
        &self,
        under_way: &RunUnderWay,
        listing: Listing,
        upgraded: &HashSet<InstanceId>,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let members = self.begin_pass(under_way, listing, report).await?;
        let operator = ThroughBroker::new(
            &self.broker,
            self.operation,
            &members,
            under_way,
            &self.console,
        );
        let pass = self.pass(&members).await?;
        let mut known: HashMap<_, Known<OperationData>> = HashMap::new();
        for (location, member) in members.iter().enumerate() {
            if upgraded.contains(&member.id) {
                let prior_result = PriorResult::UpgradedThroughPlatform;
                known.insert(location, Known::prior_result(prior_result));
            } else if let Some((prior_result, underway)) = self.prior_result(under_way, member) {
                known.insert(
                    location,
                    Known {
                        prior_result,
                        underway,
                    },
                );
            }
        }
        let ended = pass.run(&operator, known).await;
        end_pass(ended, upgraded, report)?;
        Ok(())
    }

    /// The result that a continued run has recorded for an instance; unknown in a new run.
    fn prior_result(
        &self,
        under_way: &RunUnderWay,
        member: &Member,
    ) -> Option<(PriorResult, Option<OperationData>)> {
        let failed = if self.run.retries_failed {
            FailedBefore::AreRetried
        } else {
            FailedBefore::Stay
        };
        let entry = member.entry.as_ref()?;
        Some(under_way.prior_result(self.operation, entry, failed))
    }

    async fn pass<'p>(&'p self, members: &'p [Member]) -> anyhow::Result<Pass<'p>> {
        let criteria: BTreeMap<_, _> = self.file.canary_selection.iter().cloned().collect();
        let selection = CanarySelection {
            count: self.file.canaries,
            criteria,
        };
        let mut matching: Vec<InstanceId> = Vec::new();
        if selection.has_criteria() {
            let listed = self.list(&self.file.canary_selection).await?;
            matching.extend(listed.into_iter().map(|listed| listed.instance));
        }
        let all = ids(members);
        if self.choice.is_narrow() {
            let chosen: HashSet<&InstanceId> = all.iter().collect();
            matching.retain(|id| chosen.contains(id));
        }
        let canaries = selection.among(&all, &matching)?;
        Ok(Pass {
            console: &self.console,
            activity: match self.operation {
                FleetOperation::Upgrade => "upgrading",
                FleetOperation::Recreate => "recreating",
            },
            settings: self.settings(),
            members,
            canaries,
            stopping: &self.dependencies.stopping,
        })
    }

    fn settings(&self) -> Settings {
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

    /// Prints what would change, and changes nothing.
    async fn dry_run(&self, report: &mut Report) -> anyhow::Result<()> {
        self.console.say("DRY RUN: nothing is changed");
        let members = self.inventory(Listing::First, report).await?;
        say_listed(&self.console, &members);
        let forecasts = match self.operation {
            FleetOperation::Upgrade => {
                let at_once = self.file.max_in_flight.get();
                dry_run::of_upgrades(&self.broker, &members, at_once).await
            }
            FleetOperation::Recreate => members.iter().map(dry_run::of_recreation).collect(),
        };
        let changes = FleetChanges::of(&forecasts);
        for line in changes.text().lines() {
            self.console.say(line);
        }
        report.note("dry_run", true);
        report.note("changes", changes.changes());
        report.note("risks", changes.risks());
        let mut unknown = Vec::new();
        for forecast in forecasts {
            if forecast.is_unknown() {
                unknown.push(forecast.row.instance.to_string());
            }
            report.add(forecast.row);
        }
        if unknown.is_empty() {
            return Ok(());
        }
        bail!(
            "could not determine the changes of these instances: {}",
            unknown.join(", ")
        );
    }
}

/// Records the outcome of each instance. Those that an earlier pass has upgraded keep their row.
fn end_pass(
    ended: Ended,
    upgraded: &HashSet<InstanceId>,
    report: &mut Report,
) -> anyhow::Result<Ended> {
    for row in &ended.rows {
        if !upgraded.contains(&row.instance) {
            report.add(row.clone());
        }
    }
    match &ended.result.failure {
        Some(failure) => Err(anyhow!("{failure}")),
        None => Ok(ended),
    }
}
