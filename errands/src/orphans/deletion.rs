//! Deletes orphans one by one. An interrupted errand leaves a deletion in progress, which continues without it; the
//! next run follows it.

use std::{iter::once, time::Duration};

use anyhow::bail;
use odb_api_types::{
    code::Code,
    ids::InstanceId,
    management::{OrphanDeployment, OrphanReason, Owner},
};
use odb_clients::ServiceError;
use odb_redaction::Chain;
use serde::Serialize;

use super::{NO_ORPHAN, Output, confirm, explained, line, only, table};
use crate::{
    Dependencies, ExitStatus, Progress,
    broker_api::{
        BrokerApi, BrokerApiRejection, LastOperationError, OperationData, OperationState,
        OrphanDeleted, OrphanDeletion,
    },
    waiting::{follow, growing},
};

/// The pauses between two polls of a deletion: the first and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The orphans to delete, and the options.
pub(super) struct Deletion {
    pub(super) broker: BrokerApi,
    /// Only the deployments of these instances; of all, if there are none.
    pub(super) instances: Vec<InstanceId>,
    pub(super) include_unmarked: bool,
    pub(super) plan: Option<String>,
    pub(super) offering_is_gone: bool,
    pub(super) force: bool,
    /// The number that the user confirmed.
    pub(super) confirmed: Option<usize>,
}

/// The outcome of each orphan.
#[derive(Debug, Default, Serialize)]
struct Tally {
    status: Status,
    /// Why the run has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    deleted: Vec<String>,
    failed: Vec<Left>,
    left: Vec<Left>,
}

/// The status of the run.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Succeeded,
    #[default]
    Failed,
    Stopped,
}

/// One that is still there.
#[derive(Debug, Serialize)]
struct Left {
    deployment_name: String,
    cause: String,
}

/// The outcome of one orphan.
enum Outcome {
    Deleted,
    /// It is no orphan, or another broker's.
    Left(String),
    Failed(String),
}

fn pauses() -> impl Iterator<Item = Duration> {
    growing(FIRST_PAUSE, 1.5, LONGEST_PAUSE)
}

impl Deletion {
    /// Deletes the orphans, and reports the results.
    pub(super) async fn run(
        self,
        dependencies: &Dependencies,
        output: Output,
    ) -> anyhow::Result<ExitStatus> {
        let mut tally = Tally::default();
        let ended = self.delete(dependencies, &mut tally).await;
        match &ended {
            Ok(_) => tally.status = Status::Succeeded,
            Err(error) => {
                tally.error = Some(format!("{error:#}"));
                if dependencies.stopping.is_cancelled() {
                    tally.status = Status::Stopped;
                }
            }
        }
        if output == Output::Json {
            dependencies.print(&line(&tally))?;
        }
        ended
    }

    async fn delete(
        self,
        dependencies: &Dependencies,
        tally: &mut Tally,
    ) -> anyhow::Result<ExitStatus> {
        let console = &dependencies.console;
        let all = explained(dependencies, &self.broker).await?;
        let (chosen, unauthenticated_clients) = only(&self.instances, all);
        for instance in unauthenticated_clients {
            let name = format!("service-instance_{instance}");
            console.say(format_args!("{name}: skipped: {NO_ORPHAN}"));
            tally.left.push(Left::new(name, NO_ORPHAN.to_owned()));
        }
        let mut orphans = Vec::new();
        for orphan in chosen {
            match self.reason_to_leave(&orphan) {
                None => orphans.push(orphan),
                Some(reason) => {
                    let name = orphan.deployment_name;
                    tally.left.push(Left::new(name, reason.to_owned()));
                }
            }
        }
        if orphans.is_empty() {
            console.say("nothing to delete");
            return tally.close(dependencies);
        }
        self.require_known_offering(&orphans)?;
        table::show(dependencies, &orphans);
        confirm(dependencies, orphans.len(), self.confirmed).await?;
        let progress = Progress::begin(console, "deleting", orphans.len() as u64);
        for orphan in orphans {
            let name = orphan.deployment_name.clone();
            progress.event(&format!("{name}: {}", activity(&orphan)));
            let outcome = match dependencies.unless_stopped(self.end(&orphan)).await {
                Ok(outcome) => outcome,
                Err(stopped) => {
                    console.say(format_args!(
                        "{name}: its deletion may continue; run this errand again to see its end"
                    ));
                    drop(progress);
                    tally.print(dependencies);
                    return Err(stopped.into());
                }
            };
            progress.advance();
            match outcome {
                Outcome::Deleted => {
                    progress.event(&format!("{name}: deleted"));
                    tally.deleted.push(name);
                }
                Outcome::Left(cause) => {
                    console.say(format_args!("{name}: skipped: {cause}"));
                    tally.left.push(Left::new(name, cause));
                }
                Outcome::Failed(cause) => {
                    console.say(format_args!("{name}: not deleted: {cause}"));
                    tally.failed.push(Left::new(name, cause));
                }
            }
        }
        drop(progress);
        tally.close(dependencies)
    }

    /// The reason why the errand must not delete the orphan, if there is one.
    fn reason_to_leave(&self, orphan: &OrphanDeployment) -> Option<&'static str> {
        match orphan.owner {
            Owner::ThisBroker => None,
            Owner::Unknown if self.include_unmarked => None,
            Owner::Unknown => Some("it is unmarked; to delete it, use --include-unmarked"),
            Owner::AnotherBroker => Some("it belongs to another broker"),
        }
    }

    fn require_known_offering(&self, orphans: &[OrphanDeployment]) -> anyhow::Result<()> {
        let is_unknown =
            |orphan: &OrphanDeployment| orphan.reason == OrphanReason::OfferingUnknownToPlatform;
        if !self.offering_is_gone && orphans.iter().any(is_unknown) {
            bail!(
                "nothing was deleted: the platform has no plan of the offering, so every deployment looks like an orphan. Is the broker registered on this foundation? If the offering no longer exists, use --offering-is-gone"
            );
        }
        Ok(())
    }

    /// Deletes one and waits for its end.
    async fn end(&self, orphan: &OrphanDeployment) -> Outcome {
        let said = OrphanDeletion {
            include_unmarked: self.include_unmarked,
            plan: self.plan.clone(),
            offering_is_gone: self.offering_is_gone,
            force: self.force,
        };
        let ask = async || {
            let deployment = &orphan.deployment_name;
            self.broker.delete_orphan(deployment, &said).await.map(Some)
        };
        // A deletion that started without an answer is found again.
        let is_transient = |error: &ServiceError| {
            !error.has_code(Code::NoOrphan)
                && !error.has_code(Code::OrphanPlanUnknown)
                && (error.has_code(Code::Busy) || error.is_transient_or_restart())
        };
        match follow(once(Duration::ZERO).chain(pauses()), ask, is_transient).await {
            Ok(OrphanDeleted::WasAbsent) => Outcome::Deleted,
            Ok(OrphanDeleted::Accepted(operation)) => self.wait(orphan, &operation).await,
            Err(error) if error.has_code(Code::NoOrphan) => {
                Outcome::Left("the platform now has its service instance".to_owned())
            }
            Err(error) if error.has_code(Code::OrphanPlanUnknown) => Outcome::Failed(
                "its plan is unknown, so its pre-delete errands are unknown; pass the plan with --plan, or --force to run none"
                    .to_owned(),
            ),
            Err(error) => Outcome::Failed(Chain(&error).to_string()),
        }
    }

    async fn wait(&self, orphan: &OrphanDeployment, operation: &OperationData) -> Outcome {
        let instance = &orphan.service_instance_id;
        let look = async || match self.broker.last_operation(instance, operation).await {
            Ok(last) => Ok(match last.state {
                OperationState::Succeeded => Some(Outcome::Deleted),
                OperationState::Failed => Some(Outcome::Failed(last.description)),
                OperationState::InProgress => None,
            }),
            // No record is left of a deletion that has succeeded.
            Err(LastOperationError::Request(error)) if error.is_gone() => {
                Ok(Some(Outcome::Deleted))
            }
            Err(error) => Err(error),
        };
        let is_transient = |error: &LastOperationError| matches!(error, LastOperationError::Request(error) if error.is_transient_or_restart());
        follow(pauses(), look, is_transient)
            .await
            .unwrap_or_else(|error| Outcome::Failed(Chain(&error).to_string()))
    }
}

impl Tally {
    /// Prints the outcome of each orphan and derives the exit status.
    fn close(&self, dependencies: &Dependencies) -> anyhow::Result<ExitStatus> {
        self.print(dependencies);
        if !self.failed.is_empty() {
            bail!("{} of the orphans could not be deleted", self.failed.len());
        }
        Ok(if self.left.is_empty() {
            ExitStatus::Success
        } else {
            ExitStatus::Special
        })
    }

    fn print(&self, dependencies: &Dependencies) {
        dependencies.console.say(format_args!(
            "deleted: {}, failed: {}, skipped: {}",
            self.deleted.len(),
            self.failed.len(),
            self.left.len()
        ));
    }
}

impl Left {
    fn new(deployment_name: String, cause: String) -> Self {
        Self {
            deployment_name,
            cause,
        }
    }
}

fn activity(orphan: &OrphanDeployment) -> &'static str {
    if orphan.reason == OrphanReason::BeingDeleted {
        "is already being deleted, waiting for its end"
    } else {
        "deleting"
    }
}
