//! Versions of instances and plans, and upgrades.

use serde::Deserialize;

use super::pages::ToOne;
use crate::{
    cloud_controller::{
        CfVersionedInstance, InstanceGuid, PlanGuid, Upgrading,
        upgrades::{MaintenanceInfo, ToldOperation, wish},
    },
    connection::Connection,
    http::{Call, Method, Repeat, Request, StatusCode},
    service_error::ServiceError,
};

pub(in crate::cloud_controller) async fn versioned_instance(
    connection: &Connection,
    call: &Call,
    instance: &InstanceGuid,
) -> Result<CfVersionedInstance, ServiceError> {
    let url = connection.address(&["v3", "service_instances", instance.as_str()], &[]);
    let wire: WireInstance = connection.read_at(call, url).await?;
    let plan = wire.relationships.service_plan.data.guid;
    Ok(CfVersionedInstance::of(
        plan,
        wire.maintenance_info,
        wire.last_operation,
    ))
}

pub(in crate::cloud_controller) async fn maintenance_info_of_plan(
    connection: &Connection,
    call: &Call,
    plan: &PlanGuid,
) -> Result<Option<MaintenanceInfo>, ServiceError> {
    let url = connection.address(&["v3", "service_plans", plan.as_str()], &[]);
    let wire: WirePlan = connection.read_at(call, url).await?;
    Ok(wire.maintenance_info)
}

/// The request is taken, with a job, when the broker has to be asked, and done otherwise. The job ends when the last
/// operation of the instance does, which says more.
pub(in crate::cloud_controller) async fn upgrade_instance(
    connection: &Connection,
    call: &Call,
    instance: &InstanceGuid,
    version: &str,
) -> Result<Upgrading, ServiceError> {
    let url = connection.address(&["v3", "service_instances", instance.as_str()], &[]);
    let request = Request::new(Method::PATCH, url, Repeat::WhileUnsent).json(&wish(version));
    let written = connection.send(call, request).await?;
    Ok(if written.status() == StatusCode::ACCEPTED {
        Upgrading::Begun
    } else {
        Upgrading::UpToDate
    })
}

#[derive(Deserialize)]
struct WireInstance {
    relationships: WireRelationships,
    #[serde(default)]
    maintenance_info: Option<MaintenanceInfo>,
    #[serde(default)]
    last_operation: Option<ToldOperation>,
}

#[derive(Deserialize)]
struct WireRelationships {
    service_plan: ToOne<PlanGuid>,
}

#[derive(Deserialize)]
struct WirePlan {
    #[serde(default)]
    maintenance_info: Option<MaintenanceInfo>,
}
