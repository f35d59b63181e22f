//! `/v3/service_offerings` and `/v3/service_plans`.

use serde::Deserialize;

use super::pages::{IDS_PER_FILTER, ToOne, list, values};
use crate::{
    cloud_controller::{CfPlan, OfferingGuid, PlanGuid},
    connection::Connection,
    http::Call,
    service_error::ServiceError,
};

pub(in crate::cloud_controller) async fn plans_of_offering(
    connection: &Connection,
    call: &Call,
    broker_catalog_id: &str,
) -> Result<Vec<CfPlan>, ServiceError> {
    let ids = values([broker_catalog_id]);
    let filter = ("broker_catalog_ids", ids.as_str());
    let offerings: Vec<WireOffering> =
        list(connection, call, &["v3", "service_offerings"], &[filter]).await?;
    let mut plans = Vec::new();
    for offerings in offerings.chunks(IDS_PER_FILTER) {
        let guids = values(offerings.iter().map(|offering| offering.guid.as_str()));
        let filter = ("service_offering_guids", guids.as_str());
        let found: Vec<WirePlan> =
            list(connection, call, &["v3", "service_plans"], &[filter]).await?;
        plans.extend(found.into_iter().map(CfPlan::from));
    }
    Ok(plans)
}

#[derive(Deserialize)]
struct WireOffering {
    guid: String,
}

#[derive(Deserialize)]
struct WirePlan {
    guid: PlanGuid,
    name: String,
    broker_catalog: WireCatalog,
    relationships: WireRelationships,
}

#[derive(Deserialize)]
struct WireRelationships {
    service_offering: ToOne<OfferingGuid>,
}

#[derive(Deserialize)]
struct WireCatalog {
    id: String,
}

impl From<WirePlan> for CfPlan {
    fn from(wire: WirePlan) -> Self {
        Self {
            guid: wire.guid,
            offering: wire.relationships.service_offering.data.guid,
            name: wire.name,
            unique_id: wire.broker_catalog.id,
        }
    }
}
