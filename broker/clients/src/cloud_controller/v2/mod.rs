//! Version 2, as far as old foundations require it (`spec/contracts/platform-apis.md`, section 4).
//!
//! | file | holds |
//! | --- | --- |
//! | `instances` | which lists of instances a query needs |
//! | `pages` | lists, page by page |
//! | `locations` | the names of spaces and organizations, which need one request each |
//! | `visibility` | who sees a plan, which needs several requests here |
//! | `wire` | the JSON |

mod instances;
mod locations;
mod pages;
mod visibility;
mod wire;

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::de::DeserializeOwned;

use super::{
    Accepted, BindingGuid, BrokerGuid, BrokerRegistration, CfBinding, CfBindingKind, CfBroker,
    CfInstance, CfLastOperation, CfPlan, CfVersionedInstance, Deletion, InstanceGuid,
    InstanceQuery, LocationNames, OfferedPlan, OfferingGuid, OrganizationGuid, PlanGuid,
    PlanVisibility, SpaceGuid, Upgrading, WantedVisibility,
    api::Api,
    instances::{WireInstanceStatus, wanted},
    jobs::accepted,
    listing::{InstanceList, InstancePage},
    locations::Locations,
};
use crate::{
    connection::Connection,
    http::{Call, Method, Repeat, Request, StatusCode, cut},
    service_error::ServiceError,
};
use instances::{instances_of, one};
use pages::{Page, filtered, list};
use wire::{
    AppBinding, Info, Named, PlanVersion, Registration, Resource, Single, UpgradedInstance,
    VersionedInstance, WireBroker, WireInstance, WirePlan, WireService, WireThing,
};

/// The first version of the Open Service Broker API with `maintenance_info`.
const OLDEST_OSBAPI: [u64; 2] = [2, 15];
const BROKERS: &[&str] = &["v2", "service_brokers"];
/// The most instances that the Cloud Controller gives at once.
const PER_PAGE: &str = "100";
/// `CF-ServiceInstanceNotFound`. Any other 404 says nothing of the instance.
const NO_SUCH_INSTANCE: u64 = 60_004;
/// Concurrent requests if each instance needs its own request.
const INSTANCES_AT_ONCE: usize = 8;

pub(super) struct V2(pub(super) Connection);

#[async_trait]
impl Api for V2 {
    /// There is no filter by the id of the broker's catalog that every version 2 has, so that all offerings are looked
    /// through.
    async fn plans_of_offering(
        &self,
        call: &Call,
        broker_catalog_id: &str,
    ) -> Result<Vec<CfPlan>, ServiceError> {
        let mut plans = Vec::new();
        for service in self.services(call).await? {
            if service.entity.unique_id.as_deref() != Some(broker_catalog_id) {
                continue;
            }
            let offering = service.metadata.guid;
            let found = self.plans_of_service(call, &offering).await?;
            plans.extend(found.into_iter().map(|plan| CfPlan {
                guid: plan.metadata.guid,
                offering: offering.clone(),
                name: plan.entity.name,
                unique_id: plan.entity.unique_id,
            }));
        }
        Ok(plans)
    }

    async fn plans_of_broker(
        &self,
        call: &Call,
        broker: &BrokerGuid,
    ) -> Result<Vec<OfferedPlan>, ServiceError> {
        let mut plans = Vec::new();
        for service in self.services(call).await? {
            let WireService {
                unique_id: Some(offering),
                service_broker_guid: Some(of),
            } = service.entity
            else {
                continue;
            };
            if of == *broker {
                let found = self.plans_of_service(call, &service.metadata.guid).await?;
                plans.extend(found.into_iter().map(|plan| plan.offered(&offering)));
            }
        }
        Ok(plans)
    }

    async fn count_instances(&self, call: &Call, plans: &[PlanGuid]) -> Result<u64, ServiceError> {
        let mut total = 0;
        for plan in plans {
            total += pages::count(&self.0, call, &instances_of(plan)).await?;
        }
        Ok(total)
    }

    /// One for each plan at least.
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
            ("order-direction", "desc"),
            ("results-per-page", PER_PAGE),
            ("page", &number),
        ];
        let url = list.address(&self.0, paging);
        let page: Page<Resource<InstanceGuid, WireInstance>> = self.0.read_at(call, url).await?;
        Ok(InstancePage {
            total: page.total_results,
            pages: page.total_pages,
            instances: page.resources.into_iter().map(CfInstance::from).collect(),
        })
    }

    async fn name_locations(
        &self,
        call: &Call,
        known: &mut Locations,
        instances: &mut [CfInstance],
    ) -> Result<(), ServiceError> {
        locations::name(&self.0, call, known, instances).await
    }

    async fn instance(
        &self,
        call: &Call,
        guid: &InstanceGuid,
        names: LocationNames,
    ) -> Result<Option<CfInstance>, ServiceError> {
        let url = self.0.address(&one(guid), &[]);
        let found = self
            .0
            .read_at::<Resource<InstanceGuid, WireInstance>>(call, url);
        let mut found = match found.await {
            Ok(found) => [CfInstance::from(found)],
            Err(error)
                if error.status() == Some(StatusCode::NOT_FOUND)
                    && error.code() == Some(NO_SUCH_INSTANCE) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        if names == LocationNames::Reported {
            self.name_locations(call, &mut Locations::default(), &mut found)
                .await?;
        }
        let [found] = found;
        Ok(Some(found))
    }

    async fn known_instances(
        &self,
        call: &Call,
        ids: &[InstanceGuid],
    ) -> Result<Vec<InstanceGuid>, ServiceError> {
        let look = |id: InstanceGuid| async move {
            let found = self.instance(call, &id, LocationNames::Left).await?;
            Ok(found.map(|found| found.guid))
        };
        let ids = ids.to_vec();
        let known: Vec<Option<InstanceGuid>> = stream::iter(ids.into_iter().map(look))
            .buffer_unordered(INSTANCES_AT_ONCE)
            .try_collect()
            .await?;
        Ok(known.into_iter().flatten().collect())
    }

    async fn organization_named(
        &self,
        call: &Call,
        name: &str,
    ) -> Result<Option<OrganizationGuid>, ServiceError> {
        self.named(call, &["v2", "organizations"], name).await
    }

    async fn organization_name(
        &self,
        call: &Call,
        guid: &OrganizationGuid,
    ) -> Result<String, ServiceError> {
        let segments = ["v2", "organizations", guid.as_str()];
        let found: Single<Named> = self.0.read(call, &segments, &[]).await?;
        Ok(found.entity.name)
    }

    async fn space_named(
        &self,
        call: &Call,
        organization: &OrganizationGuid,
        name: &str,
    ) -> Result<Option<SpaceGuid>, ServiceError> {
        let segments = ["v2", "organizations", organization.as_str(), "spaces"];
        self.named(call, &segments, name).await
    }

    /// All brokers are looked through: the filter by name takes semicolons apart and knows no way to write them.
    async fn broker_named(
        &self,
        call: &Call,
        name: &str,
    ) -> Result<Option<CfBroker>, ServiceError> {
        let found: Vec<Resource<BrokerGuid, WireBroker>> = list(&self.0, call, BROKERS).await?;
        let broker = found.into_iter().find(|broker| broker.entity.name == name);
        Ok(broker.map(|broker| CfBroker {
            guid: broker.metadata.guid,
            name: broker.entity.name,
            url: broker.entity.broker_url,
        }))
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
        let segments = ["v2", "service_brokers", guid.as_str()];
        let url = self.0.address(&segments, &[]);
        let body = Registration::of(broker);
        let request = Request::new(Method::PUT, url, Repeat::WhileUnsent).json(&body);
        accepted(&self.0, &self.0.send(call, request).await?)
    }

    async fn delete_broker(
        &self,
        call: &Call,
        guid: &BrokerGuid,
    ) -> Result<Accepted, ServiceError> {
        let segments = ["v2", "service_brokers", guid.as_str()];
        let url = self.0.address(&segments, &[]);
        let request = Request::new(Method::DELETE, url, Repeat::WhenTransient);
        accepted(&self.0, &self.0.send(call, request).await?)
    }

    async fn plan_visibility(
        &self,
        call: &Call,
        plan: &PlanGuid,
    ) -> Result<PlanVisibility, ServiceError> {
        visibility::read(&self.0, call, plan).await
    }

    async fn set_plan_visibility(
        &self,
        call: &Call,
        plan: &PlanGuid,
        wanted: &WantedVisibility,
    ) -> Result<(), ServiceError> {
        visibility::write(&self.0, call, plan, wanted).await
    }

    async fn last_operation(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<CfLastOperation, ServiceError> {
        let wire: Resource<InstanceGuid, WireInstanceStatus> =
            self.0.read(call, &one(instance), &[]).await?;
        Ok(wire.entity.into())
    }

    async fn bindings(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Vec<CfBinding>, ServiceError> {
        let below = |what| {
            let [api, kind, guid] = one(instance);
            [api, kind, guid, what]
        };
        let connection = &self.0;
        let apps: Vec<Resource<BindingGuid, AppBinding>> =
            list(connection, call, &below("service_bindings")).await?;
        let keys: Vec<Resource<BindingGuid, WireThing>> =
            list(connection, call, &below("service_keys")).await?;
        let routes: Vec<Resource<BindingGuid, WireThing>> =
            list(connection, call, &below("routes")).await?;
        let others = |found: Vec<Resource<BindingGuid, WireThing>>, kind: CfBindingKind| {
            found.into_iter().map(move |found| CfBinding {
                guid: found.metadata.guid,
                kind: kind.clone(),
                last_operation: None,
            })
        };
        let apps = apps.into_iter().map(CfBinding::from);
        Ok(apps
            .chain(others(keys, CfBindingKind::Key))
            .chain(others(routes, CfBindingKind::Route))
            .collect())
    }

    async fn delete_binding(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        binding: &CfBinding,
    ) -> Result<Deletion, ServiceError> {
        let guid = binding.guid.as_str();
        match &binding.kind {
            CfBindingKind::App(app) => {
                let segments = ["v2", "apps", app.as_str(), "service_bindings", guid];
                self.delete(call, &segments, &[]).await
            }
            CfBindingKind::Key => {
                let segments = ["v2", "service_keys", guid];
                self.delete(call, &segments, &[]).await
            }
            CfBindingKind::Route => {
                let [api, kind, instance] = one(instance);
                let segments = [api, kind, instance, "routes", guid];
                self.delete(call, &segments, &[]).await
            }
        }
    }

    async fn delete_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Deletion, ServiceError> {
        let query = [("accepts_incomplete", "true")];
        self.delete(call, &one(instance), &query).await
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

    async fn knows_maintenance_info(&self, call: &Call) -> Result<bool, ServiceError> {
        let url = self.0.address(&["v2", "info"], &[]);
        let info: Info = self.0.read_anonymously(call, url).await?;
        Ok(is_enough(&info.osbapi_version.unwrap_or_default()))
    }

    async fn versioned_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<CfVersionedInstance, ServiceError> {
        let found: Single<VersionedInstance> = self.0.read(call, &one(instance), &[]).await?;
        let found = found.entity;
        Ok(CfVersionedInstance::of(
            found.service_plan_guid,
            found.maintenance_info,
            found.last_operation,
        ))
    }

    async fn version_of_plan(
        &self,
        call: &Call,
        plan: &PlanGuid,
    ) -> Result<Option<String>, ServiceError> {
        let segments = ["v2", "service_plans", plan.as_str()];
        let found: Single<PlanVersion> = self.0.read(call, &segments, &[]).await?;
        Ok(found.entity.maintenance_info.and_then(|info| info.version))
    }

    /// The answer has the instance with its last operation, which is already over where the broker had nothing to do.
    async fn upgrade_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        version: &str,
    ) -> Result<Upgrading, ServiceError> {
        let query = [("accepts_incomplete", "true")];
        let url = self.0.address(&one(instance), &query);
        let request = Request::new(Method::PUT, url, Repeat::WhileUnsent).json(&wanted(version));
        let written = self.0.send(call, request).await?;
        let upgraded: Single<UpgradedInstance> = written.json()?;
        let operation = upgraded.entity.last_operation.unwrap_or_default();
        Ok(match operation.state.as_deref() {
            Some("in progress") => Upgrading::Begun,
            Some("succeeded") => Upgrading::UpToDate,
            Some("failed") => Upgrading::Failed {
                description: cut(&operation.description.unwrap_or_default()),
            },
            state => Upgrading::Unknown {
                state: cut(state.unwrap_or_default()),
            },
        })
    }
}

impl V2 {
    async fn services(
        &self,
        call: &Call,
    ) -> Result<Vec<Resource<OfferingGuid, WireService>>, ServiceError> {
        list(&self.0, call, &["v2", "services"]).await
    }

    async fn plans_of_service(
        &self,
        call: &Call,
        service: &OfferingGuid,
    ) -> Result<Vec<Resource<PlanGuid, WirePlan>>, ServiceError> {
        let segments = ["v2", "services", service.as_str(), "service_plans"];
        list(&self.0, call, &segments).await
    }

    /// A name with a semicolon ends the condition there, so that it lets others through.
    async fn named<Guid: DeserializeOwned>(
        &self,
        call: &Call,
        segments: &[&str],
        name: &str,
    ) -> Result<Option<Guid>, ServiceError> {
        let condition = format!("name:{name}");
        let found: Vec<Resource<Guid, Named>> =
            filtered(&self.0, call, segments, &condition).await?;
        let found = found
            .into_iter()
            .find(|location| location.entity.name == name);
        Ok(found.map(|location| location.metadata.guid))
    }

    /// Sent once: the Cloud Controller calls the broker during the request.
    async fn delete(
        &self,
        call: &Call,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Deletion, ServiceError> {
        let url = self.0.address(segments, query);
        let request = Request::new(Method::DELETE, url, Repeat::WhileUnsent);
        let written = self.0.send(call, request).await?;
        Ok(if written.status() == StatusCode::ACCEPTED {
            Deletion::UnderWay
        } else {
            Deletion::Done
        })
    }
}

fn is_enough(osbapi_version: &str) -> bool {
    let mut parts = osbapi_version.split('.').map(str::parse::<u64>);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => [major, minor] >= OLDEST_OSBAPI,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_parts_of_the_version_of_the_broker_api_are_enough() {
        for (version, enough) in [
            ("2.15", true),
            ("2.15.0", true),
            ("2.16", true),
            ("3.0", true),
            ("2.14", false),
            ("2", false),
            ("", false),
            ("two.fifteen", false),
        ] {
            assert_eq!(is_enough(version), enough, "{version}");
        }
    }
}
