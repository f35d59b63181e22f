//! What one broker offers.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::pages::{ToOne, list, values};
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
    let guids = values([broker.as_str()]);
    let filter = ("service_broker_guids", guids.as_str());
    let offerings: Vec<WireOffering> =
        list(connection, call, &["v3", "service_offerings"], &[filter]).await?;
    let catalog_ids: BTreeMap<String, String> = offerings
        .into_iter()
        .map(|offering| (offering.guid, offering.broker_catalog.id))
        .collect();
    if catalog_ids.is_empty() {
        return Ok(Vec::new());
    }
    let plans: Vec<WirePlan> = list(connection, call, &["v3", "service_plans"], &[filter]).await?;
    // An offering that appears between the two questions is left to the next one.
    let offered = plans.into_iter().filter_map(|plan| {
        let offering = catalog_ids.get(&plan.relationships.service_offering.data.guid)?;
        Some(plan.of(offering))
    });
    Ok(offered.collect())
}

#[derive(Deserialize)]
struct WireOffering {
    guid: String,
    broker_catalog: WireCatalog,
}

#[derive(Deserialize)]
struct WirePlan {
    guid: PlanGuid,
    name: String,
    available: bool,
    #[serde(default)]
    maintenance_info: WireMaintenance,
    broker_catalog: WireCatalog,
    relationships: WireRelationships,
}

/// Empty where the plan has none.
#[derive(Default, Deserialize)]
struct WireMaintenance {
    version: Option<String>,
}

#[derive(Deserialize)]
struct WireCatalog {
    id: String,
}

#[derive(Deserialize)]
struct WireRelationships {
    service_offering: ToOne<String>,
}

impl WirePlan {
    fn of(self, offering: &str) -> OfferedPlan {
        OfferedPlan {
            guid: self.guid,
            offering: offering.to_owned(),
            name: self.name,
            unique_id: self.broker_catalog.id,
            is_active: self.available,
            maintenance_version: self.maintenance_info.version,
        }
    }
}
