//! Runs of rollouts, recorded at the Director so that a later process can continue them
//! (`docs/contributing/architecture.md`, "The seam").
//!
//! There is one config for each kind. It is written at the start and at the end of a run, and every half minute while a
//! process carries it out.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use backon::{ConstantBuilder, Retryable};
use jiff::Timestamp;
use odb_api_types::{
    ids::OfferingId,
    management::{
        BeginRun, EndRun, IfUnfinished, LatestRun, Lease, LeaseRun, Run, RunId, RunKind, RunOutcome,
    },
};
use odb_clients::{
    FailureKind, ServiceError,
    director::{ConfigId, ConfigName, ConfigType, Director, Expected, PutConfigError},
    http::Call,
};
use odb_config::BoshConfigs;
use odb_core::engine::{Journal, JournalError};
use serde::{Deserialize, Serialize};

use crate::digest::{Targets, hex, sha256};

/// Why nothing is kept.
const NOT_KEPT: &str =
    "BOSH configs are switched off, or the client of `bosh.authentication` may not use them";

const FORMAT: u32 = 1;

const CONFIG_TYPE: &str = "odb-run";

/// A Director keeps every version of a config, so a lease is not written at each renewal.
const BETWEEN_WRITES: Duration = Duration::from_secs(30);

/// The longest name of a config that a Director keeps (`spec/contracts/director-api.md`, "Configs").
const LONGEST_NAME: usize = 255;

#[derive(Clone, Debug)]
pub(crate) struct Runs {
    director: Director,
    offering: OfferingId,
    configs: BoshConfigs,
    targets: Arc<Targets>,
}

#[derive(Serialize, Deserialize)]
struct Content {
    format: u32,
    offering: OfferingId,
    #[serde(flatten)]
    run: Run,
}

struct StoredRun {
    version: ConfigId,
    run: Option<Run>,
}

impl Runs {
    /// The runs of `offering`, each towards `targets`.
    pub(crate) fn new(
        director: Director,
        offering: OfferingId,
        configs: BoshConfigs,
        targets: Arc<Targets>,
    ) -> Self {
        Self {
            director,
            offering,
            configs,
            targets,
        }
    }

    async fn stored(&self, call: &Call, kind: RunKind) -> Result<Option<StoredRun>, JournalError> {
        if self.configs == BoshConfigs::Disabled {
            return Err(JournalError::NotKept(NOT_KEPT));
        }
        let found = self
            .director
            .config_latest(call, &config_type(), &name(&self.offering, kind))
            .await
            .map_err(failed("read the latest run"))?;
        Ok(found.map(|config| StoredRun {
            run: self.understand(&config.content),
            version: config.id,
        }))
    }

    async fn write(
        &self,
        call: &Call,
        run: &Run,
        before: Option<ConfigId>,
    ) -> Result<(), JournalError> {
        let content = serde_json::to_string(&Content {
            format: FORMAT,
            offering: self.offering.clone(),
            run: run.clone(),
        })
        .expect("a run is made of texts");
        let expected = before.map_or(Expected::Nothing, Expected::Latest);
        let (kind, name) = (config_type(), name(&self.offering, run.kind));
        let written = self
            .director
            .put_config(call, &kind, &name, &content, &expected)
            .await;
        match written {
            Ok(_) => Ok(()),
            Err(PutConfigError::Stale { .. }) => Err(JournalError::Overtaken),
            Err(PutConfigError::Director { source }) => Err(failed("record the run")(source)),
        }
    }

    /// The run with this id, if it is the latest of its kind.
    async fn find(&self, call: &Call, id: RunId) -> Result<(Run, ConfigId), JournalError> {
        let mut is_other_there = false;
        for kind in RunKind::ALL {
            let Some(StoredRun { version, run }) = self.stored(call, kind).await? else {
                continue;
            };
            match run.filter(|run| run.id == id) {
                Some(run) => return Ok((run, version)),
                None => is_other_there = true,
            }
        }
        Err(if is_other_there {
            JournalError::Superseded { id }
        } else {
            JournalError::Unknown { id }
        })
    }

    fn understand(&self, content: &str) -> Option<Run> {
        let content: Content = serde_json::from_str(content).ok()?;
        (content.format == FORMAT && content.offering == self.offering).then_some(content.run)
    }
}

#[async_trait]
impl Journal for Runs {
    async fn begin(
        &self,
        call: &Call,
        begin: BeginRun,
        now: Timestamp,
    ) -> Result<Run, JournalError> {
        let run = Run {
            id: RunId::random(),
            kind: begin.kind,
            began: now,
            target: self.targets.of_all().clone(),
            outcome: None,
            lease: begin.holder.clone().map(|holder| Lease::new(holder, now)),
            only_outdated: begin.only_outdated,
            is_stop_requested: false,
        };
        let (begin, run) = (&begin, &run);
        let attempt = || async move {
            let stored = self.stored(call, begin.kind).await?;
            let version = stored.as_ref().map(|stored| stored.version.clone());
            if let Some(earlier) = stored.and_then(|stored| stored.run) {
                may_be_replaced(&earlier, begin, now)?;
            }
            self.write(call, run, version).await?;
            Ok(run.clone())
        };
        attempt.retry(again()).when(is_overtaken).await
    }

    async fn latest(
        &self,
        call: &Call,
        kind: RunKind,
        now: Timestamp,
    ) -> Result<Option<LatestRun>, JournalError> {
        match self.stored(call, kind).await? {
            None => Ok(None),
            Some(StoredRun { run: Some(run), .. }) => Ok(Some(LatestRun {
                is_current: run.target == *self.targets.of_all(),
                is_running: run.lease_at(now).is_some(),
                run,
            })),
            Some(StoredRun { run: None, .. }) => Err(JournalError::NotUnderstood(format!(
                "the BOSH config `{}` of type `{CONFIG_TYPE}`",
                name(&self.offering, kind)
            ))),
        }
    }

    async fn lease(
        &self,
        call: &Call,
        id: RunId,
        lease: LeaseRun,
        now: Timestamp,
    ) -> Result<Run, JournalError> {
        let lease = &lease;
        let attempt = || async move {
            let (run, version) = self.find(call, id).await?;
            match leased(run, lease.clone(), now)? {
                Leased::Unchanged(run) => Ok(run),
                Leased::Changed(run) => {
                    self.write(call, &run, Some(version)).await?;
                    Ok(run)
                }
            }
        };
        attempt.retry(again()).when(is_overtaken).await
    }

    async fn request_stop(
        &self,
        call: &Call,
        id: RunId,
        now: Timestamp,
    ) -> Result<Run, JournalError> {
        let attempt = || async move {
            let (mut run, version) = self.find(call, id).await?;
            if run.lease_at(now).is_none() {
                return Err(JournalError::NotRunning { id });
            }
            if !run.is_stop_requested {
                run.is_stop_requested = true;
                self.write(call, &run, Some(version)).await?;
            }
            Ok(run)
        };
        attempt.retry(again()).when(is_overtaken).await
    }

    async fn end(
        &self,
        call: &Call,
        id: RunId,
        end: EndRun,
        now: Timestamp,
    ) -> Result<Run, JournalError> {
        let end = &end;
        let attempt = || async move {
            let (run, version) = self.find(call, id).await?;
            let EndRun { outcome, holder } = end;
            let outcome = *outcome;
            // A process whose run has been taken over does not end it.
            if let (Some(lease), Some(holder)) = (run.lease_at(now), holder)
                && lease.holder != *holder
            {
                return Err(leased_by_another(&run, lease));
            }
            match run.outcome {
                Some(known) if known == outcome && run.lease.is_none() => Ok(run),
                Some(RunOutcome::Succeeded) => Err(JournalError::Succeeded { id }),
                Some(RunOutcome::Failed) | None => {
                    let ended = Run {
                        outcome: Some(outcome),
                        lease: None,
                        is_stop_requested: false,
                        ..run
                    };
                    self.write(call, &ended, Some(version)).await?;
                    Ok(ended)
                }
            }
        };
        attempt.retry(again()).when(is_overtaken).await
    }
}

/// Reads, decides and writes again after another request has changed the record meanwhile.
fn again() -> ConstantBuilder {
    ConstantBuilder::new()
        .with_delay(Duration::ZERO)
        .with_max_times(2)
}

fn is_overtaken(error: &JournalError) -> bool {
    matches!(error, JournalError::Overtaken)
}

/// Whether a new run may replace the latest one of its kind.
fn may_be_replaced(earlier: &Run, begin: &BeginRun, now: Timestamp) -> Result<(), JournalError> {
    let (id, kind) = (earlier.id, earlier.kind);
    if let Some(lease) = earlier.lease_at(now) {
        return Err(leased_by_another(earlier, lease));
    }
    let has_succeeded = earlier.outcome == Some(RunOutcome::Succeeded);
    if begin.if_unfinished == IfUnfinished::Refuse && !has_succeeded {
        return Err(JournalError::Unfinished {
            id,
            kind,
            began: earlier.began,
        });
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
enum Leased {
    Unchanged(Run),
    Changed(Run),
}

/// The run with its lease taken or renewed. The outcome of a failed run goes, because it is continued.
fn leased(mut run: Run, wanted: LeaseRun, now: Timestamp) -> Result<Leased, JournalError> {
    if run.outcome == Some(RunOutcome::Succeeded) {
        return Err(JournalError::Succeeded { id: run.id });
    }
    match run.lease_at(now) {
        Some(lease) if lease.holder == wanted.holder => {
            if now.duration_since(lease.renewed).unsigned_abs() < BETWEEN_WRITES {
                return Ok(Leased::Unchanged(run));
            }
            run.lease = Some(Lease {
                renewed: now,
                ..lease.clone()
            });
        }
        Some(lease) if !wanted.take_over => {
            return Err(leased_by_another(&run, lease));
        }
        Some(_) | None => {
            // A stop concerns the process that was asked to stop, even if its lease has expired meanwhile.
            let former = run.lease.take();
            if former.is_none_or(|former| former.holder != wanted.holder) {
                run.is_stop_requested = false;
            }
            run.lease = Some(Lease::new(wanted.holder, now));
            run.outcome = None;
        }
    }
    Ok(Leased::Changed(run))
}

fn leased_by_another(run: &Run, lease: &Lease) -> JournalError {
    JournalError::Leased {
        id: run.id,
        kind: run.kind,
        lease: Box::new(lease.clone()),
    }
}

fn failed(activity: &'static str) -> impl Fn(ServiceError) -> JournalError {
    move |source| match source {
        error if matches!(error.kind, FailureKind::NotAllowed { .. }) => {
            JournalError::NotKept(NOT_KEPT)
        }
        source => JournalError::Failed {
            activity,
            is_timeout: source.is_timeout(),
            source: source.into(),
        },
    }
}

/// An operator's id may be invalid for a config; then its digest is used.
fn name(offering: &OfferingId, kind: RunKind) -> ConfigName {
    let plain = format!("{kind}-{offering}");
    let fits = plain.chars().count() <= LONGEST_NAME;
    match ConfigName::try_from(plain) {
        Ok(name) if fits => name,
        Ok(_) | Err(_) => {
            let digest = format!("{kind}-{}", hex(sha256(offering.as_str()).as_ref()));
            ConfigName::try_from(digest).expect("it is plain text")
        }
    }
}

fn config_type() -> ConfigType {
    ConfigType::try_from(CONFIG_TYPE.to_owned()).expect("it is plain text")
}

#[cfg(test)]
mod tests {
    use odb_api_types::management::Holder;

    use super::*;

    #[test]
    fn whatever_an_operator_calls_the_offering_its_runs_have_names_of_their_own() {
        let name = |id: &str, kind| name(&OfferingId::from(id.to_owned()), kind);
        assert_eq!(name("redis", RunKind::Upgrade).as_str(), "upgrade-redis");
        assert_eq!(name("redis", RunKind::Recreate).as_str(), "recreate-redis");
        let (long, other) = ("x".repeat(300), "y".repeat(300));
        for invalid in ["a\nb", &long] {
            let named = name(invalid, RunKind::Upgrade);
            assert!(named.as_str().len() <= LONGEST_NAME, "{invalid:?}");
            assert_ne!(named, name(&other, RunKind::Upgrade));
        }
    }

    fn at(time: &str) -> Timestamp {
        format!("2026-01-01T{time}Z").parse().unwrap()
    }

    fn holder(name: &str) -> Holder {
        name.to_owned().try_into().unwrap()
    }

    /// A run that began at noon. Ada's process holds its lease if it has no outcome.
    fn run(outcome: Option<RunOutcome>) -> Run {
        Run {
            id: RunId::random(),
            kind: RunKind::Upgrade,
            began: at("12:00:00"),
            target: "t".to_owned().into(),
            outcome,
            lease: (outcome.is_none()).then(|| Lease::new(holder("ada"), at("12:00:00"))),
            only_outdated: false,
            is_stop_requested: false,
        }
    }

    #[test]
    fn a_run_is_replaced_unless_it_is_carried_out_or_should_be_continued() {
        use IfUnfinished::{Refuse, Replace};
        let (ok, leased, unfinished) = ("", "carries out the upgrade run", "has not succeeded");
        for (outcome, if_unfinished, time, expected) in [
            (None, Replace, "12:01:59", leased),
            (None, Refuse, "12:01:59", leased),
            (None, Replace, "12:02:00", ok),
            (None, Refuse, "12:02:00", unfinished),
            (Some(RunOutcome::Failed), Replace, "12:00:01", ok),
            (Some(RunOutcome::Failed), Refuse, "12:00:01", unfinished),
            (Some(RunOutcome::Succeeded), Refuse, "12:00:01", ok),
        ] {
            let begin = BeginRun {
                kind: RunKind::Upgrade,
                holder: Some(holder("bob")),
                only_outdated: false,
                if_unfinished,
            };
            let result = may_be_replaced(&run(outcome), &begin, at(time));
            let text = result.err().map(|error| error.to_string());
            let text = text.unwrap_or_default();
            assert!(
                text.contains(expected) && text.is_empty() == expected.is_empty(),
                "{outcome:?} {if_unfinished:?} {time}: {text}"
            );
        }
    }

    #[test]
    fn one_process_at_a_time_holds_the_lease() {
        let wanted = |name: &str, take_over| LeaseRun {
            holder: holder(name),
            take_over,
        };
        let changed = |time: &str, name: &str, take_over| match leased(
            run(None),
            wanted(name, take_over),
            at(time),
        ) {
            Ok(Leased::Changed(run)) => run.lease.map(|lease| lease.since),
            Ok(Leased::Unchanged(_)) => None,
            Err(error) => panic!("{error}"),
        };
        // Its holder renews it, but not at each report; it is still the same lease.
        assert_eq!(changed("12:00:29", "ada", false), None);
        assert_eq!(changed("12:00:30", "ada", false), Some(at("12:00:00")));
        // Another process waits for its end, or takes it over.
        assert_eq!(changed("12:02:00", "bob", false), Some(at("12:02:00")));
        assert_eq!(changed("12:00:10", "bob", true), Some(at("12:00:10")));
        let refused = leased(run(None), wanted("bob", false), at("12:01:59")).unwrap_err();
        let text = refused.to_string();
        assert!(
            text.contains("`ada`") && text.contains("12:02:00"),
            "{text}"
        );
    }

    #[test]
    fn a_failed_run_is_continued_and_a_succeeded_one_is_over() {
        let wanted = LeaseRun {
            holder: holder("bob"),
            take_over: false,
        };
        let failed = Run {
            is_stop_requested: true,
            ..run(Some(RunOutcome::Failed))
        };
        let Ok(Leased::Changed(continued)) = leased(failed, wanted.clone(), at("13:00:00")) else {
            panic!("it is not continued");
        };
        assert_eq!(
            (continued.outcome, continued.is_stop_requested),
            (None, false)
        );
        let succeeded = run(Some(RunOutcome::Succeeded));
        let refused = leased(succeeded, wanted, at("13:00:00")).unwrap_err();
        assert!(matches!(refused, JournalError::Succeeded { .. }));
    }
}
