//! Service offerings and their plans (`spec/contracts/platform-apis.md`, section 3.6).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    ApiVersion, BrokerGuid, CloudController, OfferingGuid, PlanGuid,
    api::{Api, IDS_PER_FILTER, Resource, ToOne, WithGuid, values},
};
use crate::{http::Call, service_error::Result};

const PLANS: &[&str] = &["service_plans"];
const OFFERINGS: &[&str] = &["service_offerings"];

/// A plan, as the Cloud Controller knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfPlan {
    pub guid: PlanGuid,
    /// The offering of one broker.
    pub offering: OfferingGuid,
    pub name: String,
    /// The plan's id in the broker's catalog.
    pub unique_id: String,
}

/// A plan of one broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedPlan {
    pub guid: PlanGuid,
    /// The id of its service offering in the broker's catalog. Several brokers may offer the same.
    pub offering: String,
    pub name: String,
    /// The plan's id in the broker's catalog.
    pub unique_id: String,
    /// Whether the catalog still contains it. A removed plan remains while it has service instances.
    pub is_active: bool,
    /// The version of its `maintenance_info`, where it has one.
    pub maintenance_version: Option<String>,
}

impl CloudController {
    /// The plans of a service offering, by its id in the broker's catalog. Safe to repeat.
    ///
    /// A catalog id is unique within a broker only: if several brokers offer the same service, the plans of all of them
    /// are returned, and a `unique_id` occurs several times. A missing offering has no plans.
    #[tracing::instrument(name = "cloud_controller.plans_of_offering", skip_all)]
    pub async fn plans_of_offering(
        &self,
        call: &Call,
        broker_catalog_id: &str,
    ) -> Result<Vec<CfPlan>> {
        let api = self.api(call).await?;
        // A list that changes while it is read may show an entry on two pages.
        let mut plans = BTreeMap::new();
        match api.version {
            ApiVersion::V3 => {
                let ids = values([broker_catalog_id]);
                let filter = ("broker_catalog_ids", ids.as_str());
                let offerings: Vec<WithGuid<String>> = api.list(call, OFFERINGS, &[filter]).await?;
                for offerings in offerings.chunks(IDS_PER_FILTER) {
                    let guids = values(offerings.iter().map(|offering| offering.guid.as_str()));
                    let filter = ("service_offering_guids", guids.as_str());
                    let found: Vec<PlanV3> = api.list(call, PLANS, &[filter]).await?;
                    plans.extend(found.into_iter().map(PlanV3::keyed));
                }
            }
            // No filter by the id of the catalog exists in every version 2, so that all offerings are looked through.
            ApiVersion::V2 => {
                for service in api.services(call).await? {
                    if service.entity.unique_id.as_deref() == Some(broker_catalog_id) {
                        let offering = service.metadata.guid;
                        for plan in api.plans_of_service(call, &offering).await? {
                            let plan = CfPlan {
                                guid: plan.metadata.guid,
                                offering: offering.clone(),
                                name: plan.entity.name,
                                unique_id: plan.entity.unique_id,
                            };
                            plans.insert(plan.guid.clone(), plan);
                        }
                    }
                }
            }
        }
        Ok(plans.into_values().collect())
    }

    /// The plans of this very broker, those included that its catalog has no more. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.plans_of_broker", skip_all, fields(%broker))]
    pub async fn plans_of_broker(
        &self,
        call: &Call,
        broker: &BrokerGuid,
    ) -> Result<Vec<OfferedPlan>> {
        let api = self.api(call).await?;
        match api.version {
            ApiVersion::V3 => api.plans_of_broker_v3(call, broker).await,
            ApiVersion::V2 => api.plans_of_broker_v2(call, broker).await,
        }
    }

    /// The version of a plan, if it has one. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.version_of_plan", skip_all, fields(%plan))]
    pub async fn version_of_plan(&self, call: &Call, plan: &PlanGuid) -> Result<Option<String>> {
        #[derive(Deserialize)]
        struct Version {
            maintenance_info: Option<MaintenanceInfo>,
        }
        let api = self.api(call).await?;
        let found: Version = api
            .read(call, &["service_plans", plan.as_str()], &[])
            .await?;
        Ok(found.maintenance_info.and_then(|info| info.version))
    }
}

impl Api<'_> {
    async fn plans_of_broker_v3(
        &self,
        call: &Call,
        broker: &BrokerGuid,
    ) -> Result<Vec<OfferedPlan>> {
        let guids = values([broker.as_str()]);
        let filter = ("service_broker_guids", guids.as_str());
        let offerings: Vec<OfferingV3> = self.list(call, OFFERINGS, &[filter]).await?;
        let catalog_ids: BTreeMap<OfferingGuid, String> = offerings
            .into_iter()
            .map(|offering| (offering.guid, offering.broker_catalog.id))
            .collect();
        if catalog_ids.is_empty() {
            return Ok(Vec::new());
        }
        let plans: Vec<PlanV3> = self.list(call, PLANS, &[filter]).await?;
        // An offering that appears between the two requests is left to the next one.
        let offered = plans.into_iter().filter_map(|plan| {
            let offering = catalog_ids.get(&plan.relationships.service_offering.data.guid)?;
            Some(OfferedPlan {
                guid: plan.guid,
                offering: offering.clone(),
                name: plan.name,
                unique_id: plan.broker_catalog.id,
                is_active: plan.available.unwrap_or(true),
                maintenance_version: plan.maintenance_info.version,
            })
        });
        Ok(offered.collect())
    }

    async fn plans_of_broker_v2(
        &self,
        call: &Call,
        broker: &BrokerGuid,
    ) -> Result<Vec<OfferedPlan>> {
        let mut plans = Vec::new();
        for service in self.services(call).await? {
            let Some(offering) = service.entity.unique_id else {
                continue;
            };
            if service.entity.service_broker_guid.as_ref() != Some(broker) {
                continue;
            }
            for plan in self.plans_of_service(call, &service.metadata.guid).await? {
                let info = plan.entity.maintenance_info;
                plans.push(OfferedPlan {
                    guid: plan.metadata.guid,
                    offering: offering.clone(),
                    name: plan.entity.name,
                    unique_id: plan.entity.unique_id,
                    is_active: plan.entity.active.unwrap_or(true),
                    maintenance_version: info.and_then(|info| info.version),
                });
            }
        }
        Ok(plans)
    }

    async fn services(&self, call: &Call) -> Result<Vec<Resource<OfferingGuid, ServiceV2>>> {
        self.list(call, &["services"], &[]).await
    }

    async fn plans_of_service(
        &self,
        call: &Call,
        service: &OfferingGuid,
    ) -> Result<Vec<Resource<PlanGuid, PlanV2>>> {
        let segments = ["services", service.as_str(), "service_plans"];
        self.list(call, &segments, &[]).await
    }
}

/// `{}` where there is none.
#[derive(Default, Deserialize)]
pub(super) struct MaintenanceInfo {
    pub(super) version: Option<String>,
}

#[derive(Deserialize)]
struct OfferingV3 {
    guid: OfferingGuid,
    broker_catalog: Catalog,
}

#[derive(Deserialize)]
struct Catalog {
    id: String,
}

#[derive(Deserialize)]
struct PlanV3 {
    guid: PlanGuid,
    name: String,
    available: Option<bool>,
    #[serde(default)]
    maintenance_info: MaintenanceInfo,
    broker_catalog: Catalog,
    relationships: OfPlan,
}

#[derive(Deserialize)]
struct OfPlan {
    service_offering: ToOne<OfferingGuid>,
}

impl PlanV3 {
    fn keyed(self) -> (PlanGuid, CfPlan) {
        let plan = CfPlan {
            guid: self.guid.clone(),
            offering: self.relationships.service_offering.data.guid,
            name: self.name,
            unique_id: self.broker_catalog.id,
        };
        (self.guid, plan)
    }
}

#[derive(Deserialize)]
struct ServiceV2 {
    unique_id: Option<String>,
    service_broker_guid: Option<BrokerGuid>,
}

#[derive(Deserialize)]
struct PlanV2 {
    name: String,
    unique_id: String,
    /// The oldest foundations have neither this nor versions.
    active: Option<bool>,
    maintenance_info: Option<MaintenanceInfo>,
}
