//! What one broker offers.

use serde::Deserialize;

use super::pages::{Resource, list};
use crate::{
    cloud_controller::{BrokerGuid, OfferedPlan, PlanGuid},
    connection::Connection,
    http::Call,
    service_error::ServiceError,
};

pub(in crate::cloud_controller) async fn plans_of_broker(
    connection: &Connection,
    call: &Call,
    broker: &BrokerGuid,
) -> Result<Vec<OfferedPlan>, ServiceError> {
    let services: Vec<Resource<String, WireService>> =
        list(connection, call, &["v2", "services"]).await?;
    let mut plans = Vec::new();
    for service in services {
        let WireService {
            unique_id: Some(offering),
            service_broker_guid: Some(of),
        } = service.entity
        else {
            continue;
        };
        if of != *broker {
            continue;
        }
        let segments = ["v2", "services", &service.metadata.guid, "service_plans"];
        let found: Vec<Resource<PlanGuid, WirePlan>> = list(connection, call, &segments).await?;
        plans.extend(found.into_iter().map(|plan| offered(plan, &offering)));
    }
    Ok(plans)
}

#[derive(Deserialize)]
struct WireService {
    unique_id: Option<String>,
    service_broker_guid: Option<BrokerGuid>,
}

#[derive(Deserialize)]
struct WirePlan {
    name: String,
    unique_id: String,
    #[serde(default = "active")]
    active: bool,
    #[serde(default)]
    maintenance_info: Option<WireMaintenance>,
}

/// Empty, null or absent where the plan has none.
#[derive(Deserialize)]
struct WireMaintenance {
    version: Option<String>,
}

fn active() -> bool {
    true
}

fn offered(plan: Resource<PlanGuid, WirePlan>, offering: &str) -> OfferedPlan {
    OfferedPlan {
        guid: plan.metadata.guid,
        offering: offering.to_owned(),
        name: plan.entity.name,
        unique_id: plan.entity.unique_id,
        is_active: plan.entity.active,
        maintenance_version: plan.entity.maintenance_info.and_then(|info| info.version),
    }
}
