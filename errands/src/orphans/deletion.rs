//! Deletes orphans one by one. An interrupted errand leaves a deletion in progress, which continues without it; the
//! next run follows it.

use std::{iter::once, time::Duration};

use anyhow::bail;
use odb_api_types::{
    code::Code,
    ids::InstanceId,
    management::{OperationState, OrphanDeployment, OrphanReason, Owner},
};
use odb_clients::ServiceError;
use odb_redaction::Chain;
use serde::Serialize;

use super::{NO_ORPHAN, Output, explained, line, named, table};
use crate::{
    Dependencies, ExitStatus, Progress,
    broker_api::{BrokerApi, BrokerApiRejection, LastOperationError, OperationData},
    confirmation::{Audience, is_typed},
    report::RunStatus,
    waiting::{follow, growing},
};

/// The pauses between two polls of a deletion: the first and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Which orphans are deleted, and how.
#[derive(Clone, Debug, Default)]
pub struct DeletionOrder {
    /// Only the deployments of these instances; all if there are none.
    pub instances: Vec<InstanceId>,
    /// The expected number of deletions.
    pub confirm: Option<usize>,
    /// Whether unmarked deployments are deleted, too.
    pub include_unmarked: bool,
    /// The plan of unmarked deployments, whose pre-delete errands run.
    pub plan: Option<String>,
    /// Whether to delete although the platform has no plan of the offering.
    pub offering_is_gone: bool,
    /// Whether to ignore failing pre-delete errands and unresponsive VMs.
    pub force: bool,
}

/// Deletes orphans one by one, and reports each on the console.
pub async fn delete_orphans(
    dependencies: &Dependencies,
    broker: &BrokerApi,
    order: &DeletionOrder,
) -> anyhow::Result<ExitStatus> {
    let deletion = Deletion { broker, order };
    deletion.delete(dependencies, &mut Tally::default()).await
}

pub(super) struct Deletion<'a> {
    pub(super) broker: &'a BrokerApi,
    pub(super) order: &'a DeletionOrder,
}

#[derive(Debug, Default, Serialize)]
struct Tally {
    status: RunStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    deleted: Vec<String>,
    failed: Vec<Left>,
    left: Vec<Left>,
}

#[derive(Debug, Serialize)]
struct Left {
    deployment_name: String,
    cause: String,
}

enum Outcome {
    Deleted,
    /// It is no orphan, or another broker's.
    Left(String),
    Failed(String),
}

fn pauses() -> impl Iterator<Item = Duration> {
    growing(FIRST_PAUSE, 1.5, LONGEST_PAUSE)
}

impl Deletion<'_> {
    pub(super) async fn run(
        &self,
        dependencies: &Dependencies,
        output: Output,
    ) -> anyhow::Result<ExitStatus> {
        let mut tally = Tally::default();
        let ended = self.delete(dependencies, &mut tally).await;
        tally.status = RunStatus::of(&ended, dependencies);
        tally.error = ended.as_ref().err().map(|error| format!("{error:#}"));
        if output == Output::Json {
            dependencies.print(&line(&tally))?;
        }
        ended
    }

    async fn delete(
        &self,
        dependencies: &Dependencies,
        tally: &mut Tally,
    ) -> anyhow::Result<ExitStatus> {
        let console = &dependencies.console;
        let all = explained(dependencies, self.broker).await?;
        let (chosen, missing) = named(&self.order.instances, all);
        for instance in missing {
            let name = format!("service-instance_{instance}");
            console.log(format_args!("{name}: skipped: {NO_ORPHAN}"));
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
            console.log("nothing to delete");
            return tally.close(dependencies);
        }
        require_known_offering(&orphans, self.order.offering_is_gone)?;
        table::show(dependencies, &orphans);
        self.confirm(dependencies, orphans.len()).await?;
        let progress = Progress::begin(console, "deleting", orphans.len(), 0);
        for orphan in orphans {
            let name = orphan.deployment_name.clone();
            progress.event(&format!("{name}: {}", activity(&orphan)));
            let outcome = match dependencies.unless_stopped(self.end(&orphan)).await {
                Ok(outcome) => outcome,
                Err(stopped) => {
                    console.log(format_args!(
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
                    console.log(format_args!("{name}: skipped: {cause}"));
                    tally.left.push(Left::new(name, cause));
                }
                Outcome::Failed(cause) => {
                    console.log(format_args!("{name}: not deleted: {cause}"));
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
            Owner::Unknown if self.order.include_unmarked => None,
            Owner::Unknown => Some("it is unmarked; to delete it, use --include-unmarked"),
            Owner::AnotherBroker => Some("it belongs to another broker"),
        }
    }

    /// Succeeds if the number of `--confirm` is theirs, or if the user types it.
    async fn confirm(&self, dependencies: &Dependencies, there: usize) -> anyhow::Result<()> {
        match self.order.confirm {
            Some(said) => return require_count(there, said),
            None if Audience::of_this_process() != Audience::Person => bail!(
                "nothing was deleted: confirm {there} deletions with --confirm {there}; list them with --explain"
            ),
            None => {}
        }
        let prompt = format!(
            "These {there} deployments will be deleted with all their data. Type their number to continue:"
        );
        if !is_typed(dependencies, &prompt, there).await? {
            bail!("nothing was deleted: the input is not {there}");
        }
        Ok(())
    }

    async fn end(&self, orphan: &OrphanDeployment) -> Outcome {
        let request = self.order;
        let switches = [
            ("include_unmarked", request.include_unmarked),
            ("offering_is_gone", request.offering_is_gone),
            ("force", request.force),
        ];
        let mut query: Vec<_> = switches
            .into_iter()
            .filter_map(|(name, is_on)| is_on.then_some((name, "true")))
            .collect();
        query.extend(request.plan.as_deref().map(|plan| ("plan_id", plan)));
        let ask = async || {
            let deployment = &orphan.deployment_name;
            self.broker
                .delete_orphan(deployment, &query)
                .await
                .map(Some)
        };
        // A deletion that started without an answer is found again.
        let is_transient = |error: &ServiceError| {
            !error.has_code(Code::NoOrphan)
                && !error.has_code(Code::OrphanPlanUnknown)
                && (error.has_code(Code::Busy) || error.is_transient_or_restart())
        };
        match follow(once(Duration::ZERO).chain(pauses()), ask, is_transient).await {
            Ok(None) => Outcome::Deleted,
            Ok(Some(operation)) => self.wait(orphan, &operation).await,
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
        let is_transient = |error: &LastOperationError| match error {
            LastOperationError::Request(error) => error.is_transient_or_restart(),
            LastOperationError::UnknownState(_) => false,
        };
        follow(pauses(), look, is_transient)
            .await
            .unwrap_or_else(|error| Outcome::Failed(Chain(&error).to_string()))
    }
}

impl Tally {
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
        dependencies.console.log(format_args!(
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

fn require_known_offering(
    orphans: &[OrphanDeployment],
    offering_is_gone: bool,
) -> anyhow::Result<()> {
    let is_unknown =
        |orphan: &OrphanDeployment| orphan.reason == OrphanReason::OfferingUnknownToPlatform;
    if !offering_is_gone && orphans.iter().any(is_unknown) {
        bail!(
            "nothing was deleted: the platform has no plan of the offering, so every deployment looks like an orphan. Is the broker registered on this foundation? If the offering no longer exists, use --offering-is-gone"
        );
    }
    Ok(())
}

fn require_count(there: usize, said: usize) -> anyhow::Result<()> {
    if said != there {
        bail!(
            "nothing was deleted: {there} deployments would be deleted, not {said}; list them with --explain"
        );
    }
    Ok(())
}

fn activity(orphan: &OrphanDeployment) -> &'static str {
    if orphan.reason == OrphanReason::BeingDeleted {
        "is already being deleted, waiting for its end"
    } else {
        "deleting"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orphan(reason: OrphanReason) -> OrphanDeployment {
        OrphanDeployment {
            deployment_name: "service-instance_i".to_owned(),
            service_instance_id: "i".to_owned().try_into().unwrap(),
            owner: Owner::ThisBroker,
            reason,
            since: None,
            age_seconds: None,
            last_operation: None,
            plan_id: None,
        }
    }

    #[test]
    fn nothing_is_deleted_while_the_platform_has_no_plan_unless_the_offering_is_gone() {
        let purged = orphan(OrphanReason::PurgedInPlatform);
        let unknown = orphan(OrphanReason::OfferingUnknownToPlatform);
        let orphans = [purged.clone(), unknown];

        assert!(require_known_offering(&[purged], false).is_ok());
        assert!(require_known_offering(&orphans, true).is_ok());
        assert_eq!(
            require_known_offering(&orphans, false)
                .unwrap_err()
                .to_string(),
            "nothing was deleted: the platform has no plan of the offering, so every deployment looks like an orphan. Is the broker registered on this foundation? If the offering no longer exists, use --offering-is-gone"
        );
    }

    #[test]
    fn only_the_number_of_the_orphans_confirms_their_deletion() {
        assert!(require_count(2, 2).is_ok());
        for said in [0, 1, 3] {
            assert_eq!(
                require_count(2, said).unwrap_err().to_string(),
                format!(
                    "nothing was deleted: 2 deployments would be deleted, not {said}; list them with --explain"
                )
            );
        }
    }
}
