//! `/v2/services` and their plans.

use serde::Deserialize;

use super::pages::{Resource, list};
use crate::{
    cloud_controller::{CfPlan, OfferingGuid, PlanGuid},
    connection::Connection,
    http::Call,
    service_error::ServiceError,
};

/// There is no filter by the id of the broker's catalog that every version 2 has, so that all
/// offerings are looked through.
pub(in crate::cloud_controller) async fn plans_of_offering(
    connection: &Connection,
    call: &Call,
    broker_catalog_id: &str,
) -> Result<Vec<CfPlan>, ServiceError> {
    let services: Vec<Resource<OfferingGuid, WireService>> =
        list(connection, call, &["v2", "services"]).await?;
    let mut plans = Vec::new();
    for service in services {
        if service.entity.unique_id.as_deref() != Some(broker_catalog_id) {
            continue;
        }
        let segments = [
            "v2",
            "services",
            service.metadata.guid.as_str(),
            "service_plans",
        ];
        let found: Vec<Resource<PlanGuid, WirePlan>> = list(connection, call, &segments).await?;
        plans.extend(found.into_iter().map(|plan| CfPlan {
            guid: plan.metadata.guid,
            offering: service.metadata.guid.clone(),
            name: plan.entity.name,
            unique_id: plan.entity.unique_id,
        }));
    }
    Ok(plans)
}

#[derive(Deserialize)]
struct WireService {
    unique_id: Option<String>,
}

#[derive(Deserialize)]
struct WirePlan {
    name: String,
    unique_id: String,
}
