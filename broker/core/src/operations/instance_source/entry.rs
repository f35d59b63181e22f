//! A service instance as its source knows it.

use odb_api_types::ids::{InstanceId, PlanId};
use odb_clients::{
    cloud_controller::{
        CfInstance, CfOperation, CfOperationKind, CfOperationState, OrganizationGuid, SpaceGuid,
    },
    service_instances_api::ListedInstance,
};

/// A service instance as its source knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceEntry {
    /// The service instance.
    pub instance: InstanceId,
    /// The plan that it is on; during an update the one from before.
    pub plan: PlanId,
    /// The space that it is in, where the source knows it.
    pub space: Option<SpaceGuid>,
    /// The space's name, if names were asked for and the source knows it.
    pub space_name: Option<String>,
    /// The space's organization, likewise.
    pub organization: Option<OrganizationGuid>,
    /// The organization's name, likewise.
    pub organization_name: Option<String>,
    /// What the platform has last done with it; nothing where the source does not tell.
    pub last_operation: Option<CfOperation>,
    /// What the source says of it.
    pub state: PlatformState,
}

/// A service instance as quotas see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedInstance {
    /// The service instance.
    pub instance: InstanceId,
    /// The plan that it is on; during an update the one from before.
    pub plan: PlanId,
    /// What the source says of it.
    pub state: PlatformState,
}

/// What a source says of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlatformState {
    /// It is there.
    Settled,
    /// It is there, and being updated.
    Updating,
    /// The broker is asked for it, and has perhaps said yes. Older Cloud Controllers say this before they ask.
    Creating,
    /// The broker has not said yes, or could not make it.
    Unmade,
    /// It is in the list, which does not tell more.
    Listed,
}

impl InstanceEntry {
    /// What the Cloud Controller tells of an instance on a plan of the offering. Nothing if its id is none that an order
    /// could have had.
    pub(super) fn of_cloud_controller(found: CfInstance, plan: PlanId) -> Option<Self> {
        Some(Self {
            instance: InstanceId::try_from(String::from(found.guid)).ok()?,
            plan,
            space: Some(found.space),
            space_name: found.space_name,
            organization: found.organization,
            organization_name: found.organization_name,
            state: state_of(found.last_operation.as_ref()),
            last_operation: found.last_operation,
        })
    }

    /// What the service instances API tells of an instance, likewise.
    pub(super) fn of_instances_api(listed: ListedInstance) -> Option<Self> {
        Some(Self {
            instance: InstanceId::try_from(listed.id).ok()?,
            plan: PlanId::from(listed.plan),
            space: listed.space.and_then(|space| space.try_into().ok()),
            space_name: None,
            organization: None,
            organization_name: None,
            last_operation: None,
            state: PlatformState::Listed,
        })
    }
}

impl From<InstanceEntry> for CountedInstance {
    fn from(entry: InstanceEntry) -> Self {
        Self {
            instance: entry.instance,
            plan: entry.plan,
            state: entry.state,
        }
    }
}

fn state_of(last_operation: Option<&CfOperation>) -> PlatformState {
    let Some(CfOperation { kind, state }) = last_operation else {
        return PlatformState::Settled;
    };
    match (kind, state) {
        (CfOperationKind::Create, CfOperationState::Succeeded) => PlatformState::Settled,
        (CfOperationKind::Create, CfOperationState::InProgress) => PlatformState::Creating,
        (CfOperationKind::Create, _) => PlatformState::Unmade,
        (CfOperationKind::Update, CfOperationState::InProgress) => PlatformState::Updating,
        (CfOperationKind::Update | CfOperationKind::Delete | CfOperationKind::Unknown(_), _) => {
            PlatformState::Settled
        }
    }
}
