//! The service instances of a plan.

use serde::Deserialize;

use super::pages::{Resource, count, list};
use crate::{
    cloud_controller::{
        CfInstance, CloudControllerError, InstanceGuid, PlanGuid, SpaceGuid,
        connection::Connection, instances::WireOperation,
    },
    http::Call,
};

pub(in crate::cloud_controller) async fn count_instances(
    connection: &Connection,
    call: &Call,
    plan: &PlanGuid,
) -> Result<u64, CloudControllerError> {
    count(connection, call, &instances_of(plan)).await
}

pub(in crate::cloud_controller) async fn instances(
    connection: &Connection,
    call: &Call,
    plan: &PlanGuid,
) -> Result<Vec<CfInstance>, CloudControllerError> {
    let found: Vec<Resource<InstanceGuid, WireInstance>> =
        list(connection, call, &instances_of(plan)).await?;
    Ok(found.into_iter().map(CfInstance::from).collect())
}

fn instances_of(plan: &PlanGuid) -> [&str; 4] {
    ["v2", "service_plans", plan.as_str(), "service_instances"]
}

#[derive(Deserialize)]
struct WireInstance {
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
        }
    }
}
