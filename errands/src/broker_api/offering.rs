//! The offering of the catalog, with its plans.

use anyhow::Context;
use odb_api_types::ids::PlanId;
use serde::Deserialize;

use super::BrokerApi;

/// The service offering of a broker.
#[derive(Clone, Debug, Deserialize)]
pub struct Offering {
    /// Its id in the catalog.
    pub id: String,
    /// Its name in the marketplace.
    pub name: String,
    /// Its plans, in the order of the catalog.
    pub plans: Vec<OfferingPlan>,
}

/// A plan of the offering.
#[derive(Clone, Debug, Deserialize)]
pub struct OfferingPlan {
    /// Its id in the catalog.
    pub id: PlanId,
    /// Its name in the marketplace.
    pub name: String,
    /// What its users read.
    #[serde(default)]
    pub description: String,
    /// Whether it costs nothing; so it is where the catalog does not say.
    #[serde(default = "costs_nothing")]
    pub free: bool,
}

fn costs_nothing() -> bool {
    true
}

impl BrokerApi {
    /// The broker's offering, from its catalog.
    pub async fn offering(&self) -> anyhow::Result<Offering> {
        #[derive(Deserialize)]
        struct Catalog {
            services: Vec<Offering>,
        }
        let catalog: Catalog = self.look_up(&["v2", "catalog"], &[]).await?;
        let first = catalog.services.into_iter().next();
        first.context("the catalog has no service offering")
    }
}
