//! The plans of a service offering.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    CloudController, CloudControllerError, PlanGuid,
    pages::{IDS_PER_FILTER, values},
};
use crate::http::Call;

/// A plan, as the Cloud Controller knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfPlan {
    /// The Cloud Controller's id.
    pub guid: PlanGuid,
    /// The plan's name.
    pub name: String,
    /// The plan's id in the broker's catalog.
    pub unique_id: String,
}

impl CloudController {
    /// The plans of a service offering, named by its id in the broker's catalog. Safe to repeat.
    ///
    /// A catalog id is unique within a broker only: if several brokers offer the same service, the
    /// plans of all of them are told, and a `unique_id` is there several times. An offering that is
    /// not there has no plans.
    #[tracing::instrument(name = "cloud_controller.plans_of_offering", skip_all)]
    pub async fn plans_of_offering(
        &self,
        call: &Call,
        broker_catalog_id: &str,
    ) -> Result<Vec<CfPlan>, CloudControllerError> {
        let ids = values([broker_catalog_id]);
        let offerings: Vec<WireOffering> = self
            .list(
                call,
                &["v3", "service_offerings"],
                ("broker_catalog_ids", &ids),
            )
            .await?;
        let mut plans = BTreeMap::new();
        for offerings in offerings.chunks(IDS_PER_FILTER) {
            let guids = values(offerings.iter().map(|offering| offering.guid.as_str()));
            let found: Vec<WirePlan> = self
                .list(
                    call,
                    &["v3", "service_plans"],
                    ("service_offering_guids", &guids),
                )
                .await?;
            plans.extend(
                found
                    .into_iter()
                    .map(|plan| (plan.guid.clone(), plan.into())),
            );
        }
        Ok(plans.into_values().collect())
    }
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
}

#[derive(Deserialize)]
struct WireCatalog {
    id: String,
}

impl From<WirePlan> for CfPlan {
    fn from(wire: WirePlan) -> Self {
        Self {
            guid: wire.guid,
            name: wire.name,
            unique_id: wire.broker_catalog.id,
        }
    }
}
