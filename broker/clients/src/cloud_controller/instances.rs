//! Service instances, as the Cloud Controller knows them.

use serde::Deserialize;

use super::{InstanceGuid, OrganizationGuid, PlanGuid, SpaceGuid};

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
    /// The space's name, if names were asked for and the space is still there.
    pub space_name: Option<String>,
    /// The organization that the space is in, likewise.
    pub organization: Option<OrganizationGuid>,
    /// The organization's name, likewise.
    pub organization_name: Option<String>,
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
    /// The broker has not been asked yet, or has not answered. Version 2 of the API calls this
    /// [`CfOperationState::InProgress`] too.
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

/// The same in both versions, but that v3 has `{}` and v2 `null` where nothing is known.
#[derive(Deserialize)]
pub(super) struct WireOperation {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) state: Option<String>,
}

impl WireOperation {
    pub(super) fn known(self) -> Option<CfOperation> {
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
