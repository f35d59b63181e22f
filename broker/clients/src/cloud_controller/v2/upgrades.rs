//! Versions of instances and plans, and upgrades.

use serde::Deserialize;

use crate::{
    cloud_controller::{
        CfVersionedInstance, InstanceGuid, PlanGuid, Upgrading,
        upgrades::{MaintenanceInfo, ToldOperation, wish},
    },
    connection::Connection,
    http::{Call, Method, Repeat, Request, cut},
    service_error::ServiceError,
};

/// Empty where the Cloud Controller does not tell.
pub(in crate::cloud_controller) async fn osbapi_version(
    connection: &Connection,
    call: &Call,
) -> Result<String, ServiceError> {
    let url = connection.address(&["v2", "info"], &[]);
    let info: Info = connection.read_anonymously(call, url).await?;
    Ok(info.osbapi_version.unwrap_or_default())
}

pub(in crate::cloud_controller) async fn versioned_instance(
    connection: &Connection,
    call: &Call,
    instance: &InstanceGuid,
) -> Result<CfVersionedInstance, ServiceError> {
    let url = connection.address(&["v2", "service_instances", instance.as_str()], &[]);
    let Resource { entity } = connection
        .read_at::<Resource<WireInstance>>(call, url)
        .await?;
    Ok(CfVersionedInstance::of(
        entity.service_plan_guid,
        entity.maintenance_info,
        entity.last_operation,
    ))
}

pub(in crate::cloud_controller) async fn maintenance_info_of_plan(
    connection: &Connection,
    call: &Call,
    plan: &PlanGuid,
) -> Result<Option<MaintenanceInfo>, ServiceError> {
    let url = connection.address(&["v2", "service_plans", plan.as_str()], &[]);
    let Resource { entity } = connection.read_at::<Resource<WirePlan>>(call, url).await?;
    Ok(entity.maintenance_info)
}

/// The answer has the instance with its last operation, which is already over where the broker had nothing to do.
pub(in crate::cloud_controller) async fn upgrade_instance(
    connection: &Connection,
    call: &Call,
    instance: &InstanceGuid,
    version: &str,
) -> Result<Upgrading, ServiceError> {
    let url = connection.address(
        &["v2", "service_instances", instance.as_str()],
        &[("accepts_incomplete", "true")],
    );
    let request = Request::new(Method::PUT, url, Repeat::WhileUnsent).json(&wish(version));
    let written = connection.send(call, request).await?;
    let Resource { entity } = written.json::<Resource<Upgraded>>()?;
    let told = entity.last_operation.unwrap_or_default();
    Ok(match told.state.as_deref() {
        Some("in progress") => Upgrading::Begun,
        Some("succeeded") => Upgrading::UpToDate,
        Some("failed") => Upgrading::Failed {
            description: cut(&told.description.unwrap_or_default()),
        },
        state => Upgrading::Unknown {
            state: cut(state.unwrap_or_default()),
        },
    })
}

#[derive(Deserialize)]
struct Info {
    osbapi_version: Option<String>,
}

#[derive(Deserialize)]
struct Resource<Entity> {
    entity: Entity,
}

#[derive(Deserialize)]
struct WireInstance {
    service_plan_guid: PlanGuid,
    #[serde(default)]
    maintenance_info: Option<MaintenanceInfo>,
    #[serde(default)]
    last_operation: Option<ToldOperation>,
}

#[derive(Deserialize)]
struct WirePlan {
    #[serde(default)]
    maintenance_info: Option<MaintenanceInfo>,
}

#[derive(Deserialize)]
struct Upgraded {
    #[serde(default)]
    last_operation: Option<ToldOperation>,
}
