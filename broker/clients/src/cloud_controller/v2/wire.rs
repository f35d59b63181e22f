//! The JSON of version 2.

use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use crate::cloud_controller::{
    AppGuid, BindingGuid, BrokerGuid, BrokerRegistration, CfBinding, CfBindingKind, CfInstance,
    InstanceGuid, OfferedPlan, OrganizationGuid, PlanGuid, SpaceGuid,
    instances::{MaintenanceInfo, ReportedOperation, WireOperation},
    locations::Space,
};

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
pub(super) struct Info {
    pub(super) osbapi_version: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct WireService {
    pub(super) unique_id: Option<String>,
    pub(super) service_broker_guid: Option<BrokerGuid>,
}

#[derive(Deserialize)]
pub(super) struct WirePlan {
    pub(super) name: String,
    pub(super) unique_id: String,
    #[serde(default = "active")]
    active: bool,
    #[serde(default)]
    maintenance_info: Option<MaintenanceInfo>,
}

fn active() -> bool {
    true
}

impl Resource<PlanGuid, WirePlan> {
    pub(super) fn offered(self, offering: &str) -> OfferedPlan {
        OfferedPlan {
            guid: self.metadata.guid,
            offering: offering.to_owned(),
            name: self.entity.name,
            unique_id: self.entity.unique_id,
            is_active: self.entity.active,
            maintenance_version: self.entity.maintenance_info.and_then(|info| info.version),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct PlanVersion {
    #[serde(default)]
    pub(super) maintenance_info: Option<MaintenanceInfo>,
}

#[derive(Deserialize, Serialize)]
pub(super) struct Publicity {
    pub(super) public: bool,
}

#[derive(Deserialize)]
pub(super) struct WireVisibility {
    pub(super) organization_guid: OrganizationGuid,
}

#[derive(Serialize)]
pub(super) struct Visibility<'a> {
    pub(super) service_plan_guid: &'a PlanGuid,
    pub(super) organization_guid: &'a OrganizationGuid,
}

#[derive(Deserialize)]
pub(super) struct WireBroker {
    pub(super) name: String,
    pub(super) broker_url: String,
}

#[derive(Serialize)]
pub(super) struct Registration<'a> {
    name: &'a str,
    broker_url: &'a str,
    auth_username: &'a str,
    auth_password: &'a str,
}

impl<'a> Registration<'a> {
    pub(super) fn of(broker: &'a BrokerRegistration) -> Self {
        Self {
            name: &broker.name,
            broker_url: &broker.url,
            auth_username: &broker.username,
            auth_password: broker.password.expose_secret(),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Named {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct WireSpace {
    name: String,
    organization_guid: OrganizationGuid,
}

impl From<WireSpace> for Space {
    fn from(wire: WireSpace) -> Self {
        Self {
            name: wire.name,
            organization: wire.organization_guid,
        }
    }
}

impl From<Named> for String {
    fn from(wire: Named) -> Self {
        wire.name
    }
}

#[derive(Deserialize)]
pub(super) struct WireInstance {
    service_plan_guid: PlanGuid,
    space_guid: SpaceGuid,
    #[serde(default)]
    last_operation: Option<WireOperation>,
}

impl From<Resource<InstanceGuid, WireInstance>> for CfInstance {
    fn from(wire: Resource<InstanceGuid, WireInstance>) -> Self {
        Self {
            guid: wire.metadata.guid,
            plan: wire.entity.service_plan_guid,
            space: wire.entity.space_guid,
            last_operation: wire.entity.last_operation.and_then(WireOperation::known),
            space_name: None,
            organization: None,
            organization_name: None,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct VersionedInstance {
    pub(super) service_plan_guid: PlanGuid,
    #[serde(default)]
    pub(super) maintenance_info: Option<MaintenanceInfo>,
    #[serde(default)]
    pub(super) last_operation: Option<ReportedOperation>,
}

#[derive(Deserialize)]
pub(super) struct UpgradedInstance {
    #[serde(default)]
    pub(super) last_operation: Option<ReportedOperation>,
}

#[derive(Deserialize)]
pub(super) struct AppBinding {
    app_guid: AppGuid,
    #[serde(default)]
    last_operation: Option<WireOperation>,
}

/// Something of which only the id is needed.
#[derive(Deserialize)]
pub(super) struct WireThing {}

impl From<Resource<BindingGuid, AppBinding>> for CfBinding {
    fn from(wire: Resource<BindingGuid, AppBinding>) -> Self {
        Self {
            guid: wire.metadata.guid,
            kind: CfBindingKind::App(wire.entity.app_guid),
            last_operation: wire.entity.last_operation.and_then(WireOperation::known),
        }
    }
}
