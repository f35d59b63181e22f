//! Markers: what the broker remembers of an operation, kept by the Director as a config (`docs/architecture.md`, "Markers and tokens").
//!
//! A marker is what makes an identical repeat answerable, an operation resumable after the broker was killed, and an
//! orphan attributable. It holds no secrets. It is written at most twice per operation, for the Director keeps every
//! version: once before the deployment is handed over, once with the outcome.

use std::collections::BTreeMap;

use odb_adapter_sdk::protocol::LifecycleErrand;
use odb_platform::{
    director::{
        ConfigId, ConfigName, ConfigType, ContextId, Director, DirectorError, Expected,
        PutConfigError, TaskId,
    },
    http::Call,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Condition, FormerSecret, OperationKind, RequestDigest};
use crate::{
    config::BoshConfigs,
    ids::{InstanceId, OfferingId, PlanId, RequestId},
};

/// The version of the form.
const FORMAT: u32 = 1;

/// The type of all markers. Start-up lists it once.
const CONFIG_TYPE: &str = "odb-operation";

/// Never the deployment's name: the Go broker reads configs by that name and hands them to adapters.
const NAME_PREFIX: &str = "odb-";

/// What the broker remembers of the latest operation on a service instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Marker {
    format: u32,
    /// The offering that the instance belongs to.
    pub offering: OfferingId,
    /// The plan that the instance is on, or is brought to.
    pub plan: PlanId,
    /// The plan that the operation moves the instance away from; absent where it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_plan: Option<PlanId>,
    /// What the operation does.
    pub operation: OperationKind,
    /// Joins the tasks of the operation.
    pub context: ContextId,
    /// The request that began it, for the log.
    pub request: RequestId,
    /// The lifecycle errands, frozen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errands: Vec<LifecycleErrand>,
    /// Identifies the request that began it.
    pub digest: RequestDigest,
    /// What the adapter named as dashboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dashboard_url: Option<String>,
    /// What the adapter says of the instance.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub labels: Map<String, Value>,
    /// The operation that this one, a delete, cuts short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuts_short: Option<CutShort>,
    /// The versions of the adapter's configs, by type, that are deleted when the operation has succeeded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub obsolete_configs: BTreeMap<String, ConfigId>,
    /// What the secrets that the operation writes were before, in case that it is not handed over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_secrets: Vec<FormerSecret>,
    /// The versions of the adapter's configs, by type, that were the latest before the operation wrote its own; null where
    /// there was none. They are the latest again when nothing is handed over.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub replaced_configs: BTreeMap<String, Option<ConfigId>>,
    /// What the operation has to do with the instance's UAA client.
    #[serde(default, skip_serializing_if = "ClientRole::is_none")]
    pub client: ClientRole,
    /// How it ended; absent while it is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// What an operation has to do with the UAA client of its instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientRole {
    /// The instance has none.
    #[default]
    None,
    /// The instance has one from before, or may have.
    Kept,
    /// The operation made it; nobody else knows its secret until the operation has succeeded.
    Made,
    /// The same of another secret that the operation gives the one from before.
    Renewed,
}

impl ClientRole {
    /// What follows for the next operation from what the latest one left. Without a marker nobody knows.
    pub(super) fn after(stored: Option<&StoredMarker>) -> Self {
        match stored {
            Some(stored) if stored.marker.client.is_none() => Self::None,
            Some(_) | None => Self::Kept,
        }
    }

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde asks for a reference"
    )]
    pub(super) fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// An operation that a delete cuts short: its tasks are cancelled before the deletion begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutShort {
    /// Joins the tasks of the operation.
    pub context: ContextId,
    /// The task that it began with, `0` where that is not known. The token of the delete names it.
    pub first_task: TaskId,
}

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum Outcome {
    /// All is as ordered.
    Succeeded {
        /// In the platform user's words.
        description: String,
    },
    /// It is not.
    Failed {
        /// Why, in the platform user's words.
        description: String,
        /// What it has left of the instance; absent where the Director does not tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        condition: Option<Condition>,
    },
}

impl Outcome {
    /// All is as ordered.
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Succeeded { .. })
    }
}

/// What a new marker is made of.
pub struct NewMarker {
    /// See [`Marker::offering`].
    pub offering: OfferingId,
    /// See [`Marker::plan`].
    pub plan: PlanId,
    /// See [`Marker::operation`].
    pub operation: OperationKind,
    /// See [`Marker::context`].
    pub context: ContextId,
    /// See [`Marker::request`].
    pub request: RequestId,
    /// See [`Marker::errands`].
    pub errands: Vec<LifecycleErrand>,
    /// See [`Marker::digest`].
    pub digest: RequestDigest,
    /// See [`Marker::dashboard_url`].
    pub dashboard_url: Option<String>,
    /// See [`Marker::labels`].
    pub labels: Map<String, Value>,
}

impl Marker {
    /// The marker of an operation that begins now.
    pub fn new(new: NewMarker) -> Self {
        Self {
            format: FORMAT,
            offering: new.offering,
            plan: new.plan,
            previous_plan: None,
            operation: new.operation,
            context: new.context,
            request: new.request,
            errands: new.errands,
            digest: new.digest,
            dashboard_url: new.dashboard_url,
            labels: new.labels,
            cuts_short: None,
            former_secrets: Vec::new(),
            obsolete_configs: BTreeMap::new(),
            replaced_configs: BTreeMap::new(),
            client: ClientRole::None,
            outcome: None,
        }
    }

    /// The plan that platforms take the instance to be on: a move counts once it has succeeded.
    pub fn settled_plan(&self) -> &PlanId {
        match (&self.outcome, &self.previous_plan) {
            (Some(Outcome::Succeeded { .. }), _) | (_, None) => &self.plan,
            (Some(Outcome::Failed { .. }) | None, Some(previous)) => previous,
        }
    }
}

/// A marker as the Director has it, with what a guarded write needs.
#[derive(Clone, Debug)]
pub struct StoredMarker {
    /// The version of the config.
    pub id: ConfigId,
    /// What it says.
    pub marker: Marker,
}

/// Why it is not known what is remembered of an instance.
#[derive(Debug, thiserror::Error)]
pub enum ReadMarkerError {
    /// The Director did not tell.
    #[error("could not read the marker of the instance")]
    Director(#[source] DirectorError),
    /// It was written by a newer broker, or by hand.
    #[error(
        "the BOSH config `{name}` of type `{CONFIG_TYPE}` is none that this broker understands; see what it is, then delete it"
    )]
    NotUnderstood {
        /// The config's name.
        name: ConfigName,
    },
}

/// Why a marker was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteMarkerError {
    /// Somebody else wrote in between.
    #[error("the marker of the operation was changed by somebody else")]
    Overtaken,
    /// The Director did not take it.
    #[error("could not write the marker of the operation")]
    Director(#[source] DirectorError),
}

/// Reads and writes the markers of one offering.
#[derive(Clone, Debug)]
pub struct Markers {
    director: Director,
    offering: OfferingId,
    configs: BoshConfigs,
}

impl Markers {
    /// The markers of `offering`. With configs disabled nothing is remembered.
    pub fn new(director: Director, offering: OfferingId, configs: BoshConfigs) -> Self {
        Self {
            director,
            offering,
            configs,
        }
    }

    /// The marker of an instance, if there is one.
    pub async fn read(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<Option<StoredMarker>, ReadMarkerError> {
        if self.configs == BoshConfigs::Disabled {
            return Ok(None);
        }
        let name = config_name(instance);
        let found = self
            .director
            .config_latest(call, &config_type(), &name)
            .await
            .map_err(ReadMarkerError::Director)?;
        match found {
            None => Ok(None),
            Some(config) => match self.understand(config.id, &config.content) {
                Some(stored) => Ok(Some(stored)),
                None => Err(ReadMarkerError::NotUnderstood { name }),
            },
        }
    }

    /// Every instance of ours that has a marker.
    pub async fn all(&self, call: &Call) -> Result<Vec<(InstanceId, StoredMarker)>, DirectorError> {
        if self.configs == BoshConfigs::Disabled {
            return Ok(Vec::new());
        }
        let configs = self.director.configs_of_type(call, &config_type()).await?;
        let markers = configs.into_iter().filter_map(|config| {
            let name = config.name.as_str().strip_prefix(NAME_PREFIX)?;
            let instance = InstanceId::try_from(name.to_owned()).ok()?;
            Some((instance, self.understand(config.id, &config.content)?))
        });
        Ok(markers.collect())
    }

    /// Writes a marker. `before` is what was read, so that two brokers do not overtake each other unnoticed.
    ///
    /// `None` where markers are switched off.
    pub async fn write(
        &self,
        call: &Call,
        instance: &InstanceId,
        marker: Marker,
        before: Option<&ConfigId>,
    ) -> Result<Option<StoredMarker>, WriteMarkerError> {
        if self.configs == BoshConfigs::Disabled {
            return Ok(None);
        }
        let content = serde_json::to_string(&marker)
            .expect("a marker is made of strings, lists and maps with text keys");
        let expected = before.map_or(Expected::Nothing, |id| Expected::Latest(id.clone()));
        let written = self
            .director
            .put_config(
                call,
                &config_type(),
                &config_name(instance),
                &content,
                &expected,
            )
            .await;
        match written {
            Ok(config) => Ok(Some(StoredMarker {
                id: config.id,
                marker,
            })),
            Err(PutConfigError::Stale { .. }) => Err(WriteMarkerError::Overtaken),
            Err(PutConfigError::Director { source }) => Err(WriteMarkerError::Director(source)),
        }
    }

    /// Takes one write back: what was remembered before it is remembered again.
    pub async fn take_back(&self, call: &Call, written: &ConfigId) -> Result<(), DirectorError> {
        self.director.delete_config_version(call, written).await?;
        Ok(())
    }

    /// Forgets an instance. Without a marker there is nothing to forget.
    pub async fn delete(&self, call: &Call, instance: &InstanceId) -> Result<(), DirectorError> {
        if self.configs == BoshConfigs::Disabled {
            return Ok(());
        }
        self.director
            .delete_config(call, &config_type(), &config_name(instance))
            .await?;
        Ok(())
    }

    /// A marker of another offering, or of a form that is newer than this broker, is not ours to act on.
    fn understand(&self, id: ConfigId, content: &str) -> Option<StoredMarker> {
        let marker: Marker = serde_json::from_str(content).ok()?;
        (marker.format == FORMAT && marker.offering == self.offering)
            .then_some(StoredMarker { id, marker })
    }
}

fn config_type() -> ConfigType {
    ConfigType::try_from(CONFIG_TYPE.to_owned()).expect("it is plain text")
}

fn config_name(instance: &InstanceId) -> ConfigName {
    ConfigName::try_from(format!("{NAME_PREFIX}{instance}"))
        .expect("an id that travels fits into an address")
}
