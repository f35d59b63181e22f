//! Version 3 (`spec/contracts/platform-apis.md`, section 3).
//!
//! | file | holds |
//! | --- | --- |
//! | `instances` | which lists of instances a query takes, and their JSON |
//! | `pages` | lists, page by page |
//! | `wire` | the rest of the JSON |

mod instances;
mod pages;
mod wire;

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::de::DeserializeOwned;

use super::{
    Accepted, BrokerGuid, BrokerRegistration, CfBinding, CfBindingKind, CfBroker, CfInstance,
    CfLastOperation, CfPlan, CfVersionedInstance, Deletion, InstanceGuid, InstanceQuery,
    LocationNames, OfferedPlan, OrganizationGuid, PlanGuid, PlanVisibility, SpaceGuid, Upgrading,
    WantedVisibility,
    api::Api,
    instances::{WireInstanceStatus, wanted},
    jobs::accepted,
    listing::{InstanceList, InstancePage},
};
use crate::{
    connection::Connection,
    http::{Call, Method, Repeat, Request, StatusCode},
    service_error::ServiceError,
};
use instances::{INSTANCES, Included, NAMES, OneInstance, WireInstance, one};
use pages::{IDS_PER_FILTER, Paged, list, values};
use wire::{
    Named, PlanVersion, Registration, VersionedInstance, Visibility, WireBinding, WireBroker,
    WireGuid, WireOfferedPlan, WireOffering, WirePlan, WireShares, WireVisibility,
};

const BROKERS: &[&str] = &["v3", "service_brokers"];
const OFFERINGS: &[&str] = &["v3", "service_offerings"];
const PLANS: &[&str] = &["v3", "service_plans"];
const CREDENTIAL_BINDINGS: [&str; 2] = ["v3", "service_credential_bindings"];
const ROUTE_BINDINGS: [&str; 2] = ["v3", "service_route_bindings"];
/// Of the 5,000 instances that the Cloud Controller would give: some hundred kilobytes.
const PER_PAGE: &str = "500";
/// `CF-ResourceNotFound`. Any other 404 says nothing of the instance.
const NO_SUCH_RESOURCE: u64 = 10_010;

pub(super) struct V3(pub(super) Connection);

#[async_trait]
impl Api for V3 {
    async fn plans_of_offering(
        &self,
        call: &Call,
        broker_catalog_id: &str,
    ) -> Result<Vec<CfPlan>, ServiceError> {
        let ids = values([broker_catalog_id]);
        let filter = ("broker_catalog_ids", ids.as_str());
        let offerings: Vec<WireGuid<String>> = list(&self.0, call, OFFERINGS, &[filter]).await?;
        let mut plans = Vec::new();
        for offerings in offerings.chunks(IDS_PER_FILTER) {
            let guids = values(offerings.iter().map(|offering| offering.guid.as_str()));
            let filter = ("service_offering_guids", guids.as_str());
            let found: Vec<WirePlan> = list(&self.0, call, PLANS, &[filter]).await?;
            plans.extend(found.into_iter().map(CfPlan::from));
        }
        Ok(plans)
    }

    async fn plans_of_broker(
        &self,
        call: &Call,
        broker: &BrokerGuid,
    ) -> Result<Vec<OfferedPlan>, ServiceError> {
        let guids = values([broker.as_str()]);
        let filter = ("service_broker_guids", guids.as_str());
        let offerings: Vec<WireOffering> = list(&self.0, call, OFFERINGS, &[filter]).await?;
        let catalog_ids: BTreeMap<String, String> = offerings
            .into_iter()
            .map(|offering| (offering.guid, offering.broker_catalog.id))
            .collect();
        if catalog_ids.is_empty() {
            return Ok(Vec::new());
        }
        let plans: Vec<WireOfferedPlan> = list(&self.0, call, PLANS, &[filter]).await?;
        // An offering that appears between the two questions is left to the next one.
        let offered = plans.into_iter().filter_map(|plan| {
            let offering = catalog_ids.get(plan.offering())?;
            Some(plan.offered(offering))
        });
        Ok(offered.collect())
    }

    async fn count_instances(&self, call: &Call, plans: &[PlanGuid]) -> Result<u64, ServiceError> {
        let mut total = 0;
        for plans in plans.chunks(IDS_PER_FILTER) {
            let guids = values(plans.iter().map(PlanGuid::as_str));
            let filter = ("service_plan_guids", guids.as_str());
            total += pages::count(&self.0, call, INSTANCES, filter).await?;
        }
        Ok(total)
    }

    fn instance_lists(&self, query: &InstanceQuery) -> Vec<InstanceList> {
        instances::lists(query)
    }

    async fn instance_page(
        &self,
        call: &Call,
        list: &InstanceList,
        number: usize,
    ) -> Result<InstancePage, ServiceError> {
        let number = number.to_string();
        let paging = [
            ("order_by", "-created_at"),
            ("per_page", PER_PAGE),
            ("page", &number),
        ];
        let url = list.address(&self.0, paging);
        let page: Paged<WireInstance, Included> = self.0.read_at(call, url).await?;
        let locations = page.included.locations();
        // Those of users, which have no plan, do not pass a filter by plans.
        let managed = page
            .resources
            .into_iter()
            .filter_map(|wire| wire.managed(&locations));
        Ok(InstancePage {
            total: page.pagination.total_results,
            pages: page.pagination.total_pages,
            instances: managed.collect(),
        })
    }

    async fn instance(
        &self,
        call: &Call,
        guid: &InstanceGuid,
        names: LocationNames,
    ) -> Result<Option<CfInstance>, ServiceError> {
        let query = match names {
            LocationNames::Reported => &NAMES[..],
            LocationNames::Left => &[],
        };
        match self.0.read::<OneInstance>(call, &one(guid), query).await {
            Ok(found) => Ok(found.instance.managed(&found.included.locations())),
            Err(error)
                if error.status() == Some(StatusCode::NOT_FOUND)
                    && error.code() == Some(NO_SUCH_RESOURCE) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// User-provided ones included.
    async fn known_instances(
        &self,
        call: &Call,
        ids: &[InstanceGuid],
    ) -> Result<Vec<InstanceGuid>, ServiceError> {
        let mut known = Vec::new();
        for ids in ids.chunks(IDS_PER_FILTER) {
            let guids = values(ids.iter().map(InstanceGuid::as_str));
            let filter = ("guids", guids.as_str());
            let found: Vec<WireGuid<InstanceGuid>> =
                list(&self.0, call, INSTANCES, &[filter]).await?;
            known.extend(found.into_iter().map(|found| found.guid));
        }
        Ok(known)
    }

    async fn organization_named(
        &self,
        call: &Call,
        name: &str,
    ) -> Result<Option<OrganizationGuid>, ServiceError> {
        let name = values([name]);
        let query = [("names", name.as_str())];
        self.first(call, "organizations", &query).await
    }

    async fn organization_name(
        &self,
        call: &Call,
        guid: &OrganizationGuid,
    ) -> Result<String, ServiceError> {
        let segments = ["v3", "organizations", guid.as_str()];
        let found: Named = self.0.read(call, &segments, &[]).await?;
        Ok(found.name)
    }

    async fn space_named(
        &self,
        call: &Call,
        organization: &OrganizationGuid,
        name: &str,
    ) -> Result<Option<SpaceGuid>, ServiceError> {
        let (name, organization) = (values([name]), values([organization.as_str()]));
        let query = [
            ("names", name.as_str()),
            ("organization_guids", organization.as_str()),
        ];
        self.first(call, "spaces", &query).await
    }

    async fn broker_named(
        &self,
        call: &Call,
        name: &str,
    ) -> Result<Option<CfBroker>, ServiceError> {
        let names = values([name]);
        let filter = ("names", names.as_str());
        let found: Vec<WireBroker> = list(&self.0, call, BROKERS, &[filter]).await?;
        let broker = found.into_iter().find(|broker| broker.name == name);
        Ok(broker.map(|WireBroker { guid, name, url }| CfBroker { guid, name, url }))
    }

    async fn create_broker(
        &self,
        call: &Call,
        broker: &BrokerRegistration,
    ) -> Result<Accepted, ServiceError> {
        let url = self.0.address(BROKERS, &[]);
        let body = Registration::of(broker);
        let request = Request::new(Method::POST, url, Repeat::WhileUnsent).json(&body);
        accepted(&self.0, &self.0.send(call, request).await?)
    }

    async fn update_broker(
        &self,
        call: &Call,
        guid: &BrokerGuid,
        broker: &BrokerRegistration,
    ) -> Result<Accepted, ServiceError> {
        let segments = ["v3", "service_brokers", guid.as_str()];
        let url = self.0.address(&segments, &[]);
        let body = Registration::of(broker);
        let request = Request::new(Method::PATCH, url, Repeat::WhileUnsent).json(&body);
        accepted(&self.0, &self.0.send(call, request).await?)
    }

    async fn delete_broker(
        &self,
        call: &Call,
        guid: &BrokerGuid,
    ) -> Result<Accepted, ServiceError> {
        let segments = ["v3", "service_brokers", guid.as_str()];
        let url = self.0.address(&segments, &[]);
        let request = Request::new(Method::DELETE, url, Repeat::WhenTransient);
        accepted(&self.0, &self.0.send(call, request).await?)
    }

    async fn plan_visibility(
        &self,
        call: &Call,
        plan: &PlanGuid,
    ) -> Result<PlanVisibility, ServiceError> {
        let found: WireVisibility = self.0.read(call, &visibility_of(plan), &[]).await?;
        Ok(found.into())
    }

    async fn set_plan_visibility(
        &self,
        call: &Call,
        plan: &PlanGuid,
        wanted: &WantedVisibility,
    ) -> Result<(), ServiceError> {
        let url = self.0.address(&visibility_of(plan), &[]);
        let body = Visibility::from(wanted);
        let request = Request::new(Method::PATCH, url, Repeat::WhenTransient).json(&body);
        self.0.send(call, request).await.map(drop)
    }

    async fn last_operation(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<CfLastOperation, ServiceError> {
        let found: WireInstanceStatus = self.0.read(call, &one(instance), &[]).await?;
        Ok(found.into())
    }

    async fn bindings(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Vec<CfBinding>, ServiceError> {
        let guids = values([instance.as_str()]);
        let filter = ("service_instance_guids", guids.as_str());
        let credentials: Vec<WireBinding> =
            list(&self.0, call, &CREDENTIAL_BINDINGS, &[filter]).await?;
        let routes: Vec<WireBinding> = list(&self.0, call, &ROUTE_BINDINGS, &[filter]).await?;
        let (apps, keys): (Vec<_>, Vec<_>) = credentials
            .into_iter()
            .map(WireBinding::with_credentials)
            .partition(|binding| matches!(binding.kind, CfBindingKind::App(_)));
        let routes = routes.into_iter().map(WireBinding::of_route);
        Ok(apps.into_iter().chain(keys).chain(routes).collect())
    }

    async fn delete_binding(
        &self,
        call: &Call,
        _: &InstanceGuid,
        binding: &CfBinding,
    ) -> Result<Deletion, ServiceError> {
        let [api, kind] = match binding.kind {
            CfBindingKind::App(_) | CfBindingKind::Key => CREDENTIAL_BINDINGS,
            CfBindingKind::Route => ROUTE_BINDINGS,
        };
        let segments = [api, kind, binding.guid.as_str()];
        self.delete(call, &segments).await
    }

    async fn delete_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Deletion, ServiceError> {
        self.delete(call, &one(instance)).await
    }

    async fn purge_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<(), ServiceError> {
        let url = self.0.address(&one(instance), &[("purge", "true")]);
        let request = Request::new(Method::DELETE, url, Repeat::WhenTransient);
        self.0.send(call, request).await.map(drop)
    }

    /// Every supported version 3 does: it came with 3.86.
    async fn knows_maintenance_info(&self, _: &Call) -> Result<bool, ServiceError> {
        Ok(true)
    }

    async fn versioned_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<CfVersionedInstance, ServiceError> {
        let found: VersionedInstance = self.0.read(call, &one(instance), &[]).await?;
        Ok(CfVersionedInstance::of(
            found.relationships.service_plan.data.guid,
            found.maintenance_info,
            found.last_operation,
        ))
    }

    async fn version_of_plan(
        &self,
        call: &Call,
        plan: &PlanGuid,
    ) -> Result<Option<String>, ServiceError> {
        let segments = ["v3", "service_plans", plan.as_str()];
        let found: PlanVersion = self.0.read(call, &segments, &[]).await?;
        Ok(found.maintenance_info.and_then(|info| info.version))
    }

    /// Returns a job if the Cloud Controller must call the broker; otherwise the change is already complete. The job
    /// ends with the last operation of the instance, which contains more detail.
    async fn upgrade_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        version: &str,
    ) -> Result<Upgrading, ServiceError> {
        let url = self.0.address(&one(instance), &[]);
        let request = Request::new(Method::PATCH, url, Repeat::WhileUnsent).json(&wanted(version));
        let written = self.0.send(call, request).await?;
        Ok(if written.status() == StatusCode::ACCEPTED {
            Upgrading::Begun
        } else {
            Upgrading::UpToDate
        })
    }
}

impl V3 {
    pub(super) async fn shared_spaces(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Vec<SpaceGuid>, ServiceError> {
        let found: WireShares = self.0.read(call, &shares(instance), &[]).await?;
        Ok(found.data.into_iter().map(|space| space.guid).collect())
    }

    pub(super) async fn unshare(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        space: &SpaceGuid,
    ) -> Result<(), ServiceError> {
        let segments = [&shares(instance)[..], &[space.as_str()]].concat();
        let url = self.0.address(&segments, &[]);
        let request = Request::new(Method::DELETE, url, Repeat::WhenTransient);
        self.0.send(call, request).await.map(drop)
    }

    /// Names are unique within the searched scope.
    async fn first<Guid: DeserializeOwned>(
        &self,
        call: &Call,
        kind: &str,
        query: &[(&str, &str)],
    ) -> Result<Option<Guid>, ServiceError> {
        let found: Vec<WireGuid<Guid>> = list(&self.0, call, &["v3", kind], query).await?;
        Ok(found.into_iter().next().map(|location| location.guid))
    }

    /// Sent once: a retry would conflict with the operation that the first request started.
    async fn delete(&self, call: &Call, segments: &[&str]) -> Result<Deletion, ServiceError> {
        let url = self.0.address(segments, &[]);
        let request = Request::new(Method::DELETE, url, Repeat::WhileUnsent);
        let written = self.0.send(call, request).await?;
        Ok(accepted(&self.0, &written)?.into())
    }
}

fn visibility_of(plan: &PlanGuid) -> [&str; 4] {
    ["v3", "service_plans", plan.as_str(), "visibility"]
}

fn shares(instance: &InstanceGuid) -> [&str; 5] {
    let [api, kind, guid] = one(instance);
    [api, kind, guid, "relationships", "shared_spaces"]
}
