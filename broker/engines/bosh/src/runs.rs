//! Runs of rollouts, recorded at the Director so that a later process can continue them
//! (`docs/contributing/architecture.md`, "The seam").
//!
//! There is one config for each kind, written at the start and at the end of a run.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use odb_api_types::{
    ids::OfferingId,
    management::{LatestRun, Run, RunId, RunKind, RunOutcome},
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

    fn understand(&self, content: &str) -> Option<Run> {
        let content: Content = serde_json::from_str(content).ok()?;
        (content.format == FORMAT && content.offering == self.offering).then_some(content.run)
    }
}

#[async_trait]
impl Journal for Runs {
    async fn begin(&self, call: &Call, kind: RunKind, now: Timestamp) -> Result<Run, JournalError> {
        let before = self.stored(call, kind).await?.map(|stored| stored.version);
        let run = Run {
            id: RunId::random(),
            kind,
            began: now,
            target: self.targets.of_all().clone(),
            outcome: None,
        };
        self.write(call, &run, before).await?;
        Ok(run)
    }

    async fn latest(&self, call: &Call, kind: RunKind) -> Result<Option<LatestRun>, JournalError> {
        match self.stored(call, kind).await? {
            None => Ok(None),
            Some(StoredRun { run: Some(run), .. }) => {
                let is_current = run.target == *self.targets.of_all();
                Ok(Some(LatestRun { run, is_current }))
            }
            Some(StoredRun { run: None, .. }) => Err(JournalError::NotUnderstood(format!(
                "the BOSH config `{}` of type `{CONFIG_TYPE}`",
                name(&self.offering, kind)
            ))),
        }
    }

    async fn end(&self, call: &Call, id: RunId, outcome: RunOutcome) -> Result<Run, JournalError> {
        let mut is_other_there = false;
        for kind in RunKind::ALL {
            let Some(StoredRun { version, run }) = self.stored(call, kind).await? else {
                continue;
            };
            let Some(run) = run.filter(|run| run.id == id) else {
                is_other_there = true;
                continue;
            };
            return match run.outcome {
                Some(known) if known == outcome => Ok(run),
                Some(RunOutcome::Succeeded) => Err(JournalError::Succeeded { id }),
                Some(RunOutcome::Failed) | None => {
                    let ended = Run {
                        outcome: Some(outcome),
                        ..run
                    };
                    self.write(call, &ended, Some(version)).await?;
                    Ok(ended)
                }
            };
        }
        if is_other_there {
            Err(JournalError::Superseded { id })
        } else {
            Err(JournalError::Unknown { id })
        }
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
}
