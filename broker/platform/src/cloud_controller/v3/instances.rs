//! `/v3/service_instances`.

use serde::Deserialize;

use super::pages::{IDS_PER_FILTER, ToOne, count, list, values};
use crate::{
    cloud_controller::{
        CfInstance, CloudControllerError, InstanceGuid, PlanGuid, SpaceGuid,
        connection::Connection, instances::WireOperation,
    },
    http::Call,
};

const INSTANCES: &[&str] = &["v3", "service_instances"];

pub(in crate::cloud_controller) async fn count_instances(
    connection: &Connection,
    call: &Call,
    plans: &[PlanGuid],
) -> Result<u64, CloudControllerError> {
    let mut total = 0;
    for plans in plans.chunks(IDS_PER_FILTER) {
        let guids = values(plans.iter().map(PlanGuid::as_str));
        let filter = ("service_plan_guids", guids.as_str());
        total += count(connection, call, INSTANCES, filter).await?;
    }
    Ok(total)
}

pub(in crate::cloud_controller) async fn instances(
    connection: &Connection,
    call: &Call,
    plans: &[PlanGuid],
) -> Result<Vec<CfInstance>, CloudControllerError> {
    let mut instances = Vec::new();
    for plans in plans.chunks(IDS_PER_FILTER) {
        let guids = values(plans.iter().map(PlanGuid::as_str));
        let filter = ("service_plan_guids", guids.as_str());
        let found: Vec<WireInstance> = list(connection, call, INSTANCES, filter).await?;
        instances.extend(found.into_iter().map(CfInstance::from));
    }
    Ok(instances)
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
