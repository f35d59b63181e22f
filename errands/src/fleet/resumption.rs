//! Continued runs: instances that an interrupted run has processed are skipped, its running operations are followed.

use jiff::Timestamp;
use odb_api_types::{
    code::Code,
    ids::InstanceId,
    kind::OperationKind,
    management::{
        BeginRun, EndRun, InventoryEntry, LatestRun, OperationState, Run, RunKind, RunOutcome,
    },
};
use odb_clients::{ServiceError, http::StatusCode};
use odb_redaction::Chain;

use crate::{
    Console,
    broker_api::{BrokerApi, BrokerApiRejection, FleetOperation, OperationData},
};
use odb_rollout::PriorResult;

/// How a continued run treats instances that failed before the interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailedBefore {
    /// They stay failed.
    Stay,
    /// They are tried again.
    AreRetried,
}

/// How much of the fleet a run is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it.
    Whole,
    /// A part of the fleet. Its outcome says nothing about the run over the complete fleet.
    Part,
}

/// The current run, as the broker records it.
#[derive(Clone, Debug)]
pub(super) struct RunUnderWay {
    /// `None` if the broker does not record it.
    run: Option<Run>,
    extent: Extent,
    /// It was started before this process.
    pub(super) is_continued: bool,
}

/// A run cannot be continued.
#[derive(Debug, thiserror::Error)]
pub(super) enum ResumptionError {
    /// The broker is a Go broker, or an older version.
    #[error(
        "the run cannot be continued: this broker does not record runs (a Go broker does not); run without `continue` to \
         visit every instance"
    )]
    UnknownToBroker,
    /// The broker has no place to record it.
    #[error(
        "the run cannot be continued: the broker has no permission for BOSH configs, in which it records runs; run without `continue` to visit every instance"
    )]
    NotKept,
    /// The broker does not return it.
    #[error("could not read the last run")]
    LookUp(#[source] ServiceError),
}

impl RunUnderWay {
    /// Begins a run. A run that cannot be recorded still runs, but cannot be continued. A run over a part of the fleet
    /// is not recorded, because it would replace an interrupted run over the complete fleet.
    pub(super) async fn begin(
        broker: &BrokerApi,
        operation: FleetOperation,
        extent: Extent,
        console: &Console,
    ) -> Self {
        if extent == Extent::Part {
            console.say(
                "This run covers a part of the fleet: it is not recorded and cannot be continued",
            );
            return Self {
                run: None,
                extent,
                is_continued: false,
            };
        }
        if let Ok(Some(LatestRun { run, .. })) = latest(broker, operation).await
            && run.outcome.is_none()
        {
            console.say(format_args!(
                "The run that began at {} ({} ago) has not ended: it was interrupted, or another process continues it. This run replaces it; use `--continue` to continue it instead",
                run.began,
                age(run.began, Timestamp::now())
            ));
        }
        Self::begin_anew(broker, operation, extent, console).await
    }

    async fn begin_anew(
        broker: &BrokerApi,
        operation: FleetOperation,
        extent: Extent,
        console: &Console,
    ) -> Self {
        let kind = kind(operation);
        let wanted = BeginRun { kind };
        let run = match broker.post(&["mgmt", "v1", "runs"], &wanted).await {
            Ok(run) => Some(run),
            Err(error) if error.is_unknown_route() => None,
            Err(error) => {
                console.say(format_args!(
                    "If this run is interrupted it cannot be continued: {}",
                    Chain(&error)
                ));
                None
            }
        };
        Self {
            run,
            extent,
            is_continued: false,
        }
    }

    /// Continues the last run if it has not succeeded and aims at the current target; otherwise begins a new one.
    pub(super) async fn go_on(
        broker: &BrokerApi,
        operation: FleetOperation,
        extent: Extent,
        console: &Console,
    ) -> Result<Self, ResumptionError> {
        let latest = latest(broker, operation).await?;
        match latest {
            Some(LatestRun { run, is_current })
                if run.outcome != Some(RunOutcome::Succeeded) && is_current =>
            {
                let age = age(run.began, Timestamp::now());
                console.say(format_args!(
                    "Continuing the run that began at {} ({age} ago)",
                    run.began
                ));
                if extent == Extent::Part {
                    console.say(
                        "Only a part of the run is continued: the run itself does not end with it",
                    );
                }
                Ok(Self {
                    run: Some(run),
                    extent,
                    is_continued: true,
                })
            }
            Some(LatestRun { run, .. }) if run.outcome != Some(RunOutcome::Succeeded) => {
                let age = age(run.began, Timestamp::now());
                console.say(format_args!(
                    "The run that began at {} ({age} ago) is not continued, because the catalog has changed: this is a new run",
                    run.began
                ));
                Ok(Self::begin_anew(broker, operation, extent, console).await)
            }
            _ => {
                console.say("No run to continue: this is a new run");
                Ok(Self::begin_anew(broker, operation, extent, console).await)
            }
        }
    }

    /// Writes down how the run has ended, if it was over all instances.
    pub(super) async fn end(&self, broker: &BrokerApi, outcome: RunOutcome, console: &Console) {
        let run = match (&self.run, self.extent) {
            (Some(run), Extent::Whole) => run,
            (None, _) | (_, Extent::Part) => return,
        };
        let id = run.id.to_string();
        let path = ["mgmt", "v1", "runs", id.as_str()];
        let ended: Result<Run, _> = broker.patch(&path, &EndRun { outcome }).await;
        if let Err(error) = ended {
            console.say(format_args!(
                "Could not record the end of the run: {}",
                Chain(&error)
            ));
        }
    }

    /// The prior result of an instance: its recorded state and what the run has done.
    pub(super) fn prior_result(
        &self,
        operation: FleetOperation,
        entry: &InventoryEntry,
        failed: FailedBefore,
    ) -> (PriorResult, Option<OperationData>) {
        let Some(run) = self.run.as_ref().filter(|_| self.is_continued) else {
            return (PriorResult::Untouched, None);
        };
        let is_done = match operation {
            FleetOperation::Upgrade => {
                let deployed = entry.deployed.as_ref();
                entry.up_to_date == Some(true)
                    && deployed.is_some_and(|deployed| deployed.at >= run.began)
            }
            FleetOperation::Recreate => entry.recreated.is_some_and(|at| at >= run.began),
        };
        let of_this_run = entry.operation.as_ref().filter(|recorded| {
            recorded.kind == operation_kind(operation)
                && recorded.began.is_some_and(|began| began >= run.began)
        });
        match of_this_run {
            Some(recorded) if recorded.state == OperationState::InProgress => {
                match recorded.token.clone().map(OperationData::from) {
                    Some(data) => {
                        let task = Some(data.task()).filter(|task| *task > 0);
                        (PriorResult::Underway { task }, Some(data))
                    }
                    None => (PriorResult::Untouched, None),
                }
            }
            _ if is_done => (PriorResult::Done, None),
            Some(recorded)
                if recorded.state == OperationState::Failed && failed == FailedBefore::Stay =>
            {
                let description = recorded.description.as_deref();
                let cause = cause(&entry.service_instance_id, description.unwrap_or_default());
                (PriorResult::Failed { cause }, None)
            }
            _ => (PriorResult::Untouched, None),
        }
    }

    /// When the run began, by the broker's clock; `None` if the broker cannot record it.
    pub(super) fn began(&self) -> Option<Timestamp> {
        self.run.as_ref().map(|run| run.began)
    }

    /// The id, for the report.
    pub(super) fn id(&self) -> Option<String> {
        self.run.as_ref().map(|run| run.id.to_string())
    }
}

/// How long ago it was, in the two units that matter.
fn age(began: Timestamp, now: Timestamp) -> String {
    let minutes = now.duration_since(began).as_mins().max(0);
    match (minutes / (24 * 60), minutes / 60 % 24, minutes % 60) {
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

fn cause(id: &InstanceId, description: &str) -> String {
    format!("[{id}] Operation failed before the run was interrupted: {description}")
}

/// The latest run of a kind, if there has been one.
async fn latest(
    broker: &BrokerApi,
    operation: FleetOperation,
) -> Result<Option<LatestRun>, ResumptionError> {
    let name = kind(operation).to_string();
    let query = [("kind", name.as_str())];
    match broker.get(&["mgmt", "v1", "runs", "latest"], &query).await {
        Ok(run) => Ok(Some(run)),
        Err(error) if error.is_unknown_route() => Err(ResumptionError::UnknownToBroker),
        Err(error) if error.status() == Some(StatusCode::NOT_IMPLEMENTED) => {
            Err(ResumptionError::NotKept)
        }
        Err(error) if error.has_code(Code::NotFound) => Ok(None),
        Err(error) => Err(ResumptionError::LookUp(error)),
    }
}

fn kind(operation: FleetOperation) -> RunKind {
    match operation {
        FleetOperation::Upgrade => RunKind::Upgrade,
        FleetOperation::Recreate => RunKind::Recreate,
    }
}

/// The broker's term for the run's operation.
pub(super) fn operation_kind(operation: FleetOperation) -> OperationKind {
    match operation {
        FleetOperation::Upgrade => OperationKind::Upgrade,
        FleetOperation::Recreate => OperationKind::Recreate,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const BEGAN: &str = "2026-01-01T12:00:00Z";
    const EARLIER: &str = "2026-01-01T11:59:59Z";
    const LATER: &str = "2026-01-01T12:00:01Z";

    fn prior_result(
        operation: FleetOperation,
        is_continued: bool,
        failed: FailedBefore,
        more: &Value,
    ) -> PriorResult {
        let run = json!({
            "id": "9d6c1d2e-54b1-4b3c-9f2a-0f6d1c2b3a4d",
            "kind": operation.to_string(),
            "began": BEGAN,
            "target": "abc",
        });
        let under_way = RunUnderWay {
            run: serde_json::from_value(run).unwrap(),
            extent: Extent::Whole,
            is_continued,
        };
        let mut entry = json!({
            "service_instance_id": "i1", "deployment": "present", "owner": "this_broker",
        });
        for (key, value) in more.as_object().unwrap() {
            entry[key] = value.clone();
        }
        let entry = serde_json::from_value(entry).unwrap();
        under_way.prior_result(operation, &entry, failed).0
    }

    fn operation(kind: &str, state: &str, began: &str) -> Value {
        let token = json!({ "BoshTaskID": 7, "OperationType": kind });
        let request = "f2f2e4d2-8f0f-4f8e-9f54-0e1d5f4b7c10";
        json!({ "operation": {
            "kind": kind, "state": state, "began": began, "request": request, "token": token, "description": "no",
        } })
    }

    fn deployed(at: &str, up_to_date: bool) -> Value {
        json!({ "deployed": { "target": "t", "at": at }, "up_to_date": up_to_date })
    }

    #[test]
    fn an_age_is_reported_in_two_units() {
        let began: Timestamp = BEGAN.parse().unwrap();
        for (now, expected) in [
            (EARLIER, "0 min"),
            ("2026-01-01T12:59:59Z", "59 min"),
            ("2026-01-01T15:05:00Z", "3 h 5 min"),
            ("2026-01-15T13:00:00Z", "14 d 1 h"),
        ] {
            assert_eq!(age(began, now.parse().unwrap()), expected);
        }
    }

    #[test]
    fn what_was_upgraded_in_the_run_to_what_is_offered_now_is_done() {
        let upgrade =
            |more: &Value| prior_result(FleetOperation::Upgrade, true, FailedBefore::Stay, more);
        assert_eq!(upgrade(&deployed(LATER, true)), PriorResult::Done);
        assert_eq!(upgrade(&deployed(BEGAN, true)), PriorResult::Done);
        assert_eq!(upgrade(&deployed(EARLIER, true)), PriorResult::Untouched);
        assert_eq!(upgrade(&deployed(LATER, false)), PriorResult::Untouched);
        assert_eq!(upgrade(&json!({})), PriorResult::Untouched);
    }

    #[test]
    fn what_was_recreated_in_the_run_is_done() {
        let recreate =
            |more: &Value| prior_result(FleetOperation::Recreate, true, FailedBefore::Stay, more);
        assert_eq!(recreate(&json!({ "recreated": LATER })), PriorResult::Done);
        assert_eq!(
            recreate(&json!({ "recreated": EARLIER })),
            PriorResult::Untouched
        );
        assert_eq!(recreate(&deployed(LATER, true)), PriorResult::Untouched);
    }

    #[test]
    fn what_the_run_has_begun_goes_on_and_what_it_has_failed_on_stays_failed() {
        let upgrade =
            |failed, more: &Value| prior_result(FleetOperation::Upgrade, true, failed, more);
        let stay = FailedBefore::Stay;
        assert_eq!(
            upgrade(stay, &operation("upgrade", "in progress", LATER)),
            PriorResult::Underway { task: Some(7) }
        );
        let failed = operation("upgrade", "failed", LATER);
        let cause = "[i1] Operation failed before the run was interrupted: no".to_owned();
        assert_eq!(upgrade(stay, &failed), PriorResult::Failed { cause });
        assert_eq!(
            upgrade(FailedBefore::AreRetried, &failed),
            PriorResult::Untouched
        );
        for of_another in [
            operation("upgrade", "in progress", EARLIER),
            operation("upgrade", "failed", EARLIER),
            operation("recreate", "in progress", LATER),
            operation("update", "failed", LATER),
        ] {
            assert_eq!(
                upgrade(stay, &of_another),
                PriorResult::Untouched,
                "{of_another}"
            );
        }
    }

    #[test]
    fn a_new_run_visits_every_instance() {
        let untouched = prior_result(
            FleetOperation::Upgrade,
            false,
            FailedBefore::Stay,
            &deployed(LATER, true),
        );
        assert_eq!(untouched, PriorResult::Untouched);
    }
}
