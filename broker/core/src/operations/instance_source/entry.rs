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
    /// The space's name, if names were requested and the source has it.
    pub space_name: Option<String>,
    /// The space's organization, likewise.
    pub organization: Option<OrganizationGuid>,
    /// The organization's name, likewise.
    pub organization_name: Option<String>,
    /// The platform's last operation on it; `None` if the source does not report it.
    pub last_operation: Option<CfOperation>,
    /// Its state according to the source.
    pub state: PlatformState,
}

/// A service instance as quotas see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedInstance {
    /// The service instance.
    pub instance: InstanceId,
    /// The plan that it is on; during an update the one from before.
    pub plan: PlanId,
    /// Its state according to the source.
    pub state: PlatformState,
}

/// The state of an instance according to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlatformState {
    /// It is there.
    Settled,
    /// It is there, and being updated.
    Updating,
    /// The platform has sent the order to the broker, which may have accepted it. Older Cloud Controllers show this
    /// before they send it.
    Creating,
    /// The broker has not accepted it, or could not create it.
    Unmade,
    /// The list has it without a state.
    Listed,
}

impl InstanceEntry {
    /// The Cloud Controller's entry of an instance on a plan of the offering. `None` if its id is invalid for an order.
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

    /// The service instances API's entry of an instance, likewise.
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
