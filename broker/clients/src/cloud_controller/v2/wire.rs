//! The JSON of version 2.

use serde::Deserialize;

use crate::cloud_controller::{
    AppGuid, BrokerGuid, InstanceGuid, OrganizationGuid, PlanGuid, SpaceGuid,
    resources::{Found, MaintenanceInfo, WireOperation},
};

#[derive(Deserialize)]
pub(super) struct Page<T> {
    pub(super) total_results: u64,
    /// 1 at least.
    pub(super) total_pages: usize,
    /// Relative.
    pub(super) next_url: Option<String>,
    pub(super) resources: Vec<T>,
}

/// A thing with its id.
#[derive(Deserialize)]
pub(super) struct Resource<Guid, Entity> {
    pub(super) metadata: Metadata<Guid>,
    pub(super) entity: Entity,
}

#[derive(Deserialize)]
pub(super) struct Metadata<Guid> {
    pub(super) guid: Guid,
}

/// A thing of which the id is known.
#[derive(Deserialize)]
pub(super) struct Single<Entity> {
    pub(super) entity: Entity,
}

#[derive(Deserialize)]
pub(super) struct Service {
    pub(super) unique_id: Option<String>,
    pub(super) service_broker_guid: Option<BrokerGuid>,
}

#[derive(Deserialize)]
pub(super) struct Plan {
    pub(super) name: String,
    pub(super) unique_id: String,
    /// The oldest foundations have neither this nor versions.
    pub(super) active: Option<bool>,
    pub(super) maintenance_info: Option<MaintenanceInfo>,
}

#[derive(Deserialize)]
pub(super) struct Visibility {
    pub(super) organization_guid: OrganizationGuid,
}

#[derive(Deserialize)]
pub(super) struct Broker {
    pub(super) name: String,
    pub(super) broker_url: String,
}

#[derive(Deserialize)]
pub(super) struct Named {
    pub(super) name: String,
}

pub(super) type Instance = Resource<InstanceGuid, InstanceEntity>;

#[derive(Deserialize)]
pub(super) struct InstanceEntity {
    pub(super) name: Option<String>,
    pub(super) service_plan_guid: PlanGuid,
    pub(super) space_guid: SpaceGuid,
    pub(super) maintenance_info: Option<MaintenanceInfo>,
    pub(super) last_operation: Option<WireOperation>,
}

impl From<Instance> for Found {
    fn from(found: Instance) -> Self {
        let (guid, entity) = (found.metadata.guid, found.entity);
        let (plan, space) = (entity.service_plan_guid, entity.space_guid);
        Self::of(
            (guid, entity.name),
            plan,
            space,
            entity.maintenance_info,
            entity.last_operation,
        )
    }
}

#[derive(Deserialize)]
pub(super) struct AppBinding {
    pub(super) app_guid: AppGuid,
    pub(super) last_operation: Option<WireOperation>,
}
