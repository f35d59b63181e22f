//! Service instances.

use std::collections::BTreeMap;

use futures_util::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;

use super::{
    CloudController, CloudControllerError, InstanceGuid, PlanGuid, SpaceGuid,
    pages::{IDS_PER_FILTER, ToOne, values},
};
use crate::http::Call;

const INSTANCES: &[&str] = &["v3", "service_instances"];
const COUNTS_AT_ONCE: usize = 4;

/// A managed service instance, as the Cloud Controller knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfInstance {
    /// The instance id.
    pub guid: InstanceGuid,
    /// The plan. During an update to another plan it is the old one.
    pub plan: PlanGuid,
    /// The space.
    pub space: SpaceGuid,
    /// What was last done with it, if that is known.
    pub last_operation: Option<CfOperation>,
}

/// What was last done with a service instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfOperation {
    /// What.
    pub kind: CfOperationKind,
    /// How far it is.
    pub state: CfOperationState,
}

/// What was done with a service instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CfOperationKind {
    /// It was ordered.
    Create,
    /// It was changed.
    Update,
    /// It was given up.
    Delete,
    /// Something that this client does not know.
    Unknown(String),
}

/// How far an operation is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CfOperationState {
    /// The broker has not been asked yet, or has not answered.
    Initial,
    /// The broker is at it.
    InProgress,
    /// It ended well.
    Succeeded,
    /// It failed.
    Failed,
    /// A state that this client does not know.
    Unknown(String),
}

impl CloudController {
    /// How many instances each of the plans has. Safe to repeat.
    ///
    /// An instance counts from before the broker is asked to create it, and goes on counting when
    /// that fails.
    #[tracing::instrument(name = "cloud_controller.count_instances", skip_all)]
    pub async fn count_instances(
        &self,
        call: &Call,
        plans: &[PlanGuid],
    ) -> Result<BTreeMap<PlanGuid, u64>, CloudControllerError> {
        let count = async |plan: PlanGuid| {
            let guids = values([plan.as_str()]);
            let count = self
                .count(call, INSTANCES, ("service_plan_guids", &guids))
                .await?;
            Ok((plan, count))
        };
        let plans: Vec<_> = plans.to_vec();
        stream::iter(plans.into_iter().map(count))
            .buffer_unordered(COUNTS_AT_ONCE)
            .try_collect()
            .await
    }

    /// The instances of the plans, each once. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.instances", skip_all)]
    pub async fn instances(
        &self,
        call: &Call,
        plans: &[PlanGuid],
    ) -> Result<Vec<CfInstance>, CloudControllerError> {
        let mut instances = BTreeMap::new();
        for plans in plans.chunks(IDS_PER_FILTER) {
            let guids = values(plans.iter().map(PlanGuid::as_str));
            let found: Vec<WireInstance> = self
                .list(call, INSTANCES, ("service_plan_guids", &guids))
                .await?;
            instances.extend(
                found
                    .into_iter()
                    .map(|wire| (wire.guid.clone(), wire.into())),
            );
        }
        Ok(instances.into_values().collect())
    }
}

#[derive(Deserialize)]
struct WireInstance {
    guid: InstanceGuid,
    relationships: WireRelationships,
    #[serde(default)]
    last_operation: Option<WireOperation>,
}

#[derive(Deserialize)]
struct WireRelationships {
    space: ToOne<SpaceGuid>,
    service_plan: ToOne<PlanGuid>,
}

/// May be `{}`.
#[derive(Deserialize)]
struct WireOperation {
    #[serde(rename = "type")]
    kind: Option<String>,
    state: Option<String>,
}

impl From<WireInstance> for CfInstance {
    fn from(wire: WireInstance) -> Self {
        Self {
            guid: wire.guid,
            plan: wire.relationships.service_plan.data.guid,
            space: wire.relationships.space.data.guid,
            last_operation: wire.last_operation.and_then(WireOperation::known),
        }
    }
}

impl WireOperation {
    fn known(self) -> Option<CfOperation> {
        let (kind, state) = self.kind.zip(self.state)?;
        Some(CfOperation {
            kind: match kind.as_str() {
                "create" => CfOperationKind::Create,
                "update" => CfOperationKind::Update,
                "delete" => CfOperationKind::Delete,
                _ => CfOperationKind::Unknown(kind),
            },
            state: match state.as_str() {
                "initial" => CfOperationState::Initial,
                "in progress" => CfOperationState::InProgress,
                "succeeded" => CfOperationState::Succeeded,
                "failed" => CfOperationState::Failed,
                _ => CfOperationState::Unknown(state),
            },
        })
    }
}
