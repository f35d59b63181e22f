//! Continued runs: instances that an interrupted run has processed are skipped, its running operations are followed.

use anyhow::{anyhow, bail};
use jiff::Timestamp;
use odb_api_types::{
    code::Code,
    ids::InstanceId,
    kind::OperationKind,
    management::{
        BeginRun, EndRun, IfUnfinished, InventoryEntry, LatestRun, OperationState, Run, RunId,
        RunKind, RunOutcome,
    },
};
use odb_clients::{
    ServiceError,
    http::{Method, StatusCode},
};
use odb_redaction::Chain;
use odb_rollout::State;

use super::{lease, run::FleetRun};
use crate::broker_api::{BrokerApi, BrokerApiRejection, OperationData};

/// The current run, as the broker records it.
#[derive(Clone, Debug)]
pub(super) struct RunUnderWay {
    operation: RunKind,
    /// `None` if the broker does not record it.
    run: Option<Run>,
    /// It is over a part of the fleet. Its outcome says nothing about the run over the complete fleet.
    is_part: bool,
    /// It was started before this process.
    pub(super) is_continued: bool,
}

impl RunUnderWay {
    /// Continues the last run where that is wanted, if it has not succeeded and aims at the current target; otherwise
    /// begins a new one. A run that cannot be recorded still runs, but cannot be continued. A run over a part of the
    /// fleet is not recorded, because it would replace an interrupted run over the complete fleet.
    pub(super) async fn begin(fleet: &FleetRun<'_>) -> anyhow::Result<Self> {
        let (broker, console) = (&fleet.broker, &fleet.console);
        let new = Self {
            operation: fleet.operation,
            run: None,
            is_part: fleet.is_narrow(),
            is_continued: false,
        };
        if !fleet.run.continues {
            if new.is_part {
                let latest = latest(broker, new.operation).await.ok().flatten();
                refuse_beside(latest.as_ref())?;
                console.log(
                    "This run covers a part of the fleet: it is not recorded and cannot be continued",
                );
                return Ok(new);
            }
            if let Ok(Some(LatestRun { run, .. })) = latest(broker, new.operation).await
                && run.outcome.is_none()
                && !fleet.run.keeps_unfinished
            {
                console.log(format_args!(
                    "The run that began at {} ({} ago) has not ended: it was interrupted. This run replaces it; use `--continue` to continue it instead",
                    run.began,
                    age(run.began, Timestamp::now())
                ));
            }
            return new.recorded(fleet).await;
        }
        let latest = latest(broker, new.operation).await?;
        if new.is_part {
            refuse_beside(latest.as_ref())?;
        }
        let Some(LatestRun {
            run, is_current, ..
        }) = latest.filter(|latest| latest.run.outcome != Some(RunOutcome::Succeeded))
        else {
            if fleet.run.keeps_unfinished {
                bail!(
                    "No run to continue. Next: odb rollout start --kind {}",
                    new.operation
                );
            }
            console.log("No run to continue: this is a new run");
            return new.recorded(fleet).await;
        };
        let age = age(run.began, Timestamp::now());
        if !is_current && fleet.run.keeps_unfinished {
            bail!(
                "The run that began at {} ({age} ago) cannot be continued, because the catalog has changed. Next: odb rollout start --kind {} --restart",
                run.began,
                new.operation
            );
        }
        if !is_current {
            console.log(format_args!(
                "The run that began at {} ({age} ago) is not continued, because the catalog has changed: this is a new run",
                run.began
            ));
            return new.recorded(fleet).await;
        }
        console.log(format_args!(
            "Continuing the run that began at {} ({age} ago)",
            run.began
        ));
        if new.is_part {
            console.log("Only a part of the run is continued: the run itself does not end with it");
        }
        if !new.is_part {
            lease::take(broker, run.id, fleet.run.takes_over)
                .await
                .map_err(not_continued)?;
        }
        Ok(Self {
            run: Some(run),
            is_continued: true,
            ..new
        })
    }

    async fn recorded(self, fleet: &FleetRun<'_>) -> anyhow::Result<Self> {
        let wanted = BeginRun {
            kind: self.operation,
            holder: Some(lease::holder()),
            only_outdated: fleet.run.only_outdated,
            if_unfinished: if fleet.run.keeps_unfinished {
                IfUnfinished::Refuse
            } else {
                IfUnfinished::Replace
            },
        };
        let path = ["mgmt", "v1", "runs"];
        let run = match fleet.broker.send_json(Method::POST, &path, &wanted).await {
            Ok(run) => Some(run),
            Err(error) if error.is_unknown_route() => None,
            Err(error) if error.has_code(Code::RunLeased) => {
                bail!("the run does not begin: {}", error.reason());
            }
            Err(error) if error.has_code(Code::RunUnfinished) => bail!(
                "the run does not begin: {} Next: odb rollout continue --kind {kind}, or odb rollout start --kind {kind} --restart",
                error.reason(),
                kind = self.operation
            ),
            Err(error) => {
                fleet.console.log(format_args!(
                    "If this run is interrupted it cannot be continued: {}",
                    Chain(&error)
                ));
                None
            }
        };
        Ok(Self { run, ..self })
    }

    /// Records how the run has ended, if it was over all instances.
    pub(super) async fn end(&self, fleet: &FleetRun<'_>, outcome: RunOutcome) {
        let Some(run) = self.run.as_ref().filter(|_| !self.is_part) else {
            return;
        };
        let path = ["mgmt", "v1", "runs", &*run.id.to_string()];
        let ended = EndRun {
            outcome,
            holder: Some(lease::holder()),
        };
        let ended: Result<Run, _> = fleet.broker.send_json(Method::PATCH, &path, &ended).await;
        if let Err(error) = ended
            && !error.has_code(Code::RunLeased)
        {
            fleet.console.log(format_args!(
                "Could not record the end of the run: {}",
                Chain(&error)
            ));
        }
    }

    /// The state of an instance by its record and by what the run has done, with its operation if that is in progress.
    pub(super) fn prior_state(
        &self,
        entry: &InventoryEntry,
        retries_failed: bool,
    ) -> (State, Option<OperationData>) {
        let Some(run) = self.run.as_ref().filter(|_| self.is_continued) else {
            return (State::NotStarted, None);
        };
        let is_done = match self.operation {
            RunKind::Upgrade => {
                let deployed = entry.deployed.as_ref();
                entry.up_to_date == Some(true)
                    && deployed.is_some_and(|deployed| deployed.at >= run.began)
            }
            RunKind::Recreate => entry.recreated.is_some_and(|at| at >= run.began),
        };
        let of_this_run = entry.operation.as_ref().filter(|recorded| {
            recorded.kind == operation_kind(self.operation)
                && recorded.began.is_some_and(|began| began >= run.began)
        });
        let state = match of_this_run {
            Some(recorded) if recorded.state == OperationState::InProgress => {
                let data = recorded.token.clone().map(OperationData::from);
                return match data {
                    Some(data) => (State::Accepted(data.task()), Some(data)),
                    None => (State::NotStarted, None),
                };
            }
            _ if is_done => State::Done,
            Some(recorded) if recorded.state == OperationState::Failed && !retries_failed => {
                let description = recorded.description.as_deref();
                State::Failed(cause(
                    &entry.service_instance_id,
                    description.unwrap_or_default(),
                ))
            }
            _ => State::NotStarted,
        };
        (state, None)
    }

    /// Whether instances that are up to date are skipped: a continued run keeps to what it began with.
    pub(super) fn skips_up_to_date(&self, wanted: bool) -> bool {
        match &self.run {
            Some(run) if self.is_continued => run.only_outdated,
            _ => wanted,
        }
    }

    pub(super) fn began(&self) -> Option<Timestamp> {
        self.run.as_ref().map(|run| run.began)
    }

    /// The run whose lease this process holds.
    pub(super) fn leased(&self) -> Option<RunId> {
        self.id().filter(|_| !self.is_part)
    }

    pub(super) fn id(&self) -> Option<RunId> {
        self.run.as_ref().map(|run| run.id)
    }
}

fn not_continued(error: ServiceError) -> anyhow::Error {
    if error.has_code(Code::RunLeased) {
        anyhow!(
            "the run is not continued: {}. If that process is dead, add --take-over",
            error.reason().trim_end_matches('.')
        )
    } else {
        anyhow::Error::new(error).context("the run is not continued")
    }
}

/// A run over a part of the fleet holds no lease, and must not run beside one that does.
fn refuse_beside(latest: Option<&LatestRun>) -> anyhow::Result<()> {
    if let Some(LatestRun {
        run,
        is_running: true,
        ..
    }) = latest
        && let Some(lease) = &run.lease
    {
        bail!(
            "another process, `{}`, carries out the {} run that began at {}: stop it, or wait for its end",
            lease.holder,
            run.kind,
            run.began
        );
    }
    Ok(())
}

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

async fn latest(broker: &BrokerApi, operation: RunKind) -> anyhow::Result<Option<LatestRun>> {
    let query = [("kind", &*operation.to_string())];
    match broker.get(&["mgmt", "v1", "runs", "latest"], &query).await {
        Ok(run) => Ok(Some(run)),
        Err(error) if error.is_unknown_route() => bail!(
            "the run cannot be continued: this broker does not record runs (a Go broker does not); run without `continue` to \
             visit every instance"
        ),
        Err(error) if error.status() == Some(StatusCode::NOT_IMPLEMENTED) => bail!(
            "the run cannot be continued: the broker has no permission for BOSH configs, in which it records runs; run without `continue` to visit every instance"
        ),
        Err(error) if error.has_code(Code::NotFound) => Ok(None),
        Err(error) => Err(anyhow::Error::new(error).context("could not read the last run")),
    }
}

pub(super) fn operation_kind(operation: RunKind) -> OperationKind {
    match operation {
        RunKind::Upgrade => OperationKind::Upgrade,
        RunKind::Recreate => OperationKind::Recreate,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const BEGAN: &str = "2026-01-01T12:00:00Z";
    const EARLIER: &str = "2026-01-01T11:59:59Z";
    const LATER: &str = "2026-01-01T12:00:01Z";

    fn prior_state(
        operation: RunKind,
        is_continued: bool,
        retries_failed: bool,
        more: &Value,
    ) -> State {
        let run = json!({
            "id": "9d6c1d2e-54b1-4b3c-9f2a-0f6d1c2b3a4d",
            "kind": operation.to_string(),
            "began": BEGAN,
            "target": "abc",
        });
        let under_way = RunUnderWay {
            operation,
            run: serde_json::from_value(run).unwrap(),
            is_part: false,
            is_continued,
        };
        let mut entry = json!({
            "service_instance_id": "i1", "deployment": "present", "owner": "this_broker",
        });
        for (key, value) in more.as_object().unwrap() {
            entry[key] = value.clone();
        }
        let entry = serde_json::from_value(entry).unwrap();
        under_way.prior_state(&entry, retries_failed).0
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
        let upgrade = |more: &Value| prior_state(RunKind::Upgrade, true, false, more);
        assert_eq!(upgrade(&deployed(LATER, true)), State::Done);
        assert_eq!(upgrade(&deployed(BEGAN, true)), State::Done);
        assert_eq!(upgrade(&deployed(EARLIER, true)), State::NotStarted);
        assert_eq!(upgrade(&deployed(LATER, false)), State::NotStarted);
        assert_eq!(upgrade(&json!({})), State::NotStarted);
    }

    #[test]
    fn what_was_recreated_in_the_run_is_done() {
        let recreate = |more: &Value| prior_state(RunKind::Recreate, true, false, more);
        assert_eq!(recreate(&json!({ "recreated": LATER })), State::Done);
        assert_eq!(
            recreate(&json!({ "recreated": EARLIER })),
            State::NotStarted
        );
        assert_eq!(recreate(&deployed(LATER, true)), State::NotStarted);
    }

    #[test]
    fn what_the_run_has_begun_goes_on_and_what_it_has_failed_on_stays_failed() {
        let upgrade = |failed, more: &Value| prior_state(RunKind::Upgrade, true, failed, more);
        let stay = false;
        assert_eq!(
            upgrade(stay, &operation("upgrade", "in progress", LATER)),
            State::Accepted(Some(7))
        );
        let failed = operation("upgrade", "failed", LATER);
        let cause = "[i1] Operation failed before the run was interrupted: no".to_owned();
        assert_eq!(upgrade(stay, &failed), State::Failed(cause));
        assert_eq!(upgrade(true, &failed), State::NotStarted);
        for of_another in [
            operation("upgrade", "in progress", EARLIER),
            operation("upgrade", "failed", EARLIER),
            operation("recreate", "in progress", LATER),
            operation("update", "failed", LATER),
        ] {
            assert_eq!(
                upgrade(stay, &of_another),
                State::NotStarted,
                "{of_another}"
            );
        }
    }

    #[test]
    fn a_new_run_visits_every_instance() {
        let untouched = prior_state(RunKind::Upgrade, false, false, &deployed(LATER, true));
        assert_eq!(untouched, State::NotStarted);
    }
}
