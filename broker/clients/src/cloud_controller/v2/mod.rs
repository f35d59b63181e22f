//! Version 2, as far as old foundations require it (`spec/contracts/platform-apis.md`, section 4).

mod wire;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    hash::Hash,
};

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt, stream};
use secrecy::ExposeSecret;
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::{Value, json};
use url::Url;

use super::{
    BindingGuid, BrokerGuid, BrokerRegistration, CfBinding, CfBindingKind, CfBroker, CfInstance,
    CfLastOperation, CfOperationState, CfPlan, CfVersionedInstance, Deletion, InstanceGuid,
    InstanceQuery, LocationNames, OfferedPlan, OfferingGuid, OrganizationGuid, PlanGuid,
    PlanVisibility, SpaceGuid, Upgrading, WantedVisibility,
    api::{Api, IDS_PER_FILTER, MOST_PAGES},
    listing::{Filter, InstanceList, InstancePage, Locations, product},
    resources::{Found, PlanVersion, Status, WireOperation},
};
use crate::{
    connection::Connection,
    http::{Call, Method, Repeat, Request, StatusCode, cut},
    service_error::{FailureKind, Result},
};
use wire::{
    AppBinding, Broker, Instance, Named, Page, Plan, Resource, Service, Single, Visibility,
};

/// The first version of the Open Service Broker API with `maintenance_info`.
const OLDEST_OSBAPI: [u64; 2] = [2, 15];
const VISIBILITIES: &str = "service_plan_visibilities";
/// The Cloud Controller's code for a visibility that is there already.
const VISIBLE_ALREADY: u64 = 260_002;
/// `CF-ServiceInstanceNotFound`. Any other 404 says nothing of the instance.
const NO_SUCH_INSTANCE: u64 = 60_004;
/// The most entries that the Cloud Controller gives at once.
const LARGEST_PAGE: (&str, &str) = ("results-per-page", "100");
/// Without it the Cloud Controller waits for the broker.
const ASYNCHRONOUSLY: &[(&str, &str)] = &[("accepts_incomplete", "true")];
/// Concurrent requests if each instance needs its own request.
const INSTANCES_AT_ONCE: usize = 8;
/// Concurrent requests for spaces or organizations.
const LOCATIONS_AT_ONCE: usize = 4;

pub(super) struct V2(pub(super) Connection);

#[async_trait]
impl Api for V2 {
    fn connection(&self) -> &Connection {
        &self.0
    }

    fn address(&self, segments: &[&str], query: &[(&str, &str)]) -> Url {
        self.0.address(&[&["v2"], segments].concat(), query)
    }

    fn update(&self) -> Method {
        Method::PUT
    }

    fn registration(&self, broker: &BrokerRegistration) -> Value {
        json!({
            "name": broker.name,
            "broker_url": broker.url,
            "auth_username": broker.username,
            "auth_password": broker.password.expose_secret(),
        })
    }

    /// There is no filter by the id of the broker's catalog that every version 2 has, so that all offerings are looked
    /// through.
    async fn plans_of_offering(&self, call: &Call, catalog_id: &str) -> Result<Vec<CfPlan>> {
        let mut plans = Vec::new();
        for service in self.services(call).await? {
            if service.entity.unique_id.as_deref() == Some(catalog_id) {
                let offering = service.metadata.guid;
                let found = self.plans_of_service(call, &offering).await?;
                plans.extend(found.into_iter().map(|plan| CfPlan {
                    guid: plan.metadata.guid,
                    offering: offering.clone(),
                    name: plan.entity.name,
                    unique_id: plan.entity.unique_id,
                }));
            }
        }
        Ok(plans)
    }

    async fn plans_of_broker(&self, call: &Call, broker: &BrokerGuid) -> Result<Vec<OfferedPlan>> {
        let mut plans = Vec::new();
        for service in self.services(call).await? {
            let Some(offering) = service.entity.unique_id else {
                continue;
            };
            if service.entity.service_broker_guid.as_ref() != Some(broker) {
                continue;
            }
            let found = self.plans_of_service(call, &service.metadata.guid).await?;
            plans.extend(found.into_iter().map(|plan| OfferedPlan {
                guid: plan.metadata.guid,
                offering: offering.clone(),
                name: plan.entity.name,
                unique_id: plan.entity.unique_id,
                is_active: plan.entity.active.unwrap_or(true),
                maintenance_version: plan.entity.maintenance_info.and_then(|info| info.version),
            }));
        }
        Ok(plans)
    }

    async fn version_of_plan(&self, call: &Call, plan: &PlanGuid) -> Result<Option<String>> {
        let found: PlanVersion = self.read(call, &["service_plans", plan.as_str()]).await?;
        Ok(found.maintenance_info.and_then(|info| info.version))
    }

    async fn plan_visibility(&self, call: &Call, plan: &PlanGuid) -> Result<PlanVisibility> {
        if self.is_public(call, plan).await? {
            return Ok(PlanVisibility::Public);
        }
        let organizations = self.visibilities(call, plan).await?.into_iter();
        let organizations: BTreeMap<_, _> = organizations
            .map(|visibility| (visibility.entity.organization_guid, None))
            .collect();
        Ok(if organizations.is_empty() {
            PlanVisibility::Admin
        } else {
            PlanVisibility::Organizations(organizations)
        })
    }

    /// Missing organizations are added before others are removed, so that no organization temporarily loses access.
    async fn set_plan_visibility(
        &self,
        call: &Call,
        plan: &PlanGuid,
        wanted: &WantedVisibility,
    ) -> Result<()> {
        let is_wanted_public = *wanted == WantedVisibility::Public;
        if self.is_public(call, plan).await? != is_wanted_public {
            let url = self.address(&["service_plans", plan.as_str()], &[]);
            let body = json!({ "public": is_wanted_public });
            let request = Request::new(Method::PUT, url, Repeat::WhenTransient).json(&body);
            self.0.send(call, request).await?;
        }
        let no_organization = BTreeSet::new();
        let wanted = match wanted {
            WantedVisibility::Organizations(wanted) => wanted,
            WantedVisibility::Public | WantedVisibility::Admin => &no_organization,
        };
        let there = self.visibilities(call, plan).await?;
        let seen_by: BTreeSet<_> = there
            .iter()
            .map(|visibility| &visibility.entity.organization_guid)
            .collect();
        for organization in wanted {
            if !seen_by.contains(organization) {
                self.add_visibility(call, plan, organization).await?;
            }
        }
        for visibility in &there {
            if !wanted.contains(&visibility.entity.organization_guid) {
                let url = self.address(&[VISIBILITIES, &visibility.metadata.guid], &[]);
                let request = Request::new(Method::DELETE, url, Repeat::WhenTransient);
                super::there(self.0.send(call, request).await)?;
            }
        }
        Ok(())
    }

    async fn organization_named(
        &self,
        call: &Call,
        name: &str,
    ) -> Result<Option<OrganizationGuid>> {
        self.named(call, &["organizations"], name).await
    }

    async fn organization_name(&self, call: &Call, guid: &OrganizationGuid) -> Result<String> {
        let found: Named = self.read(call, &["organizations", guid.as_str()]).await?;
        Ok(found.name)
    }

    async fn space_named(
        &self,
        call: &Call,
        organization: &OrganizationGuid,
        name: &str,
    ) -> Result<Option<SpaceGuid>> {
        let segments = ["organizations", organization.as_str(), "spaces"];
        self.named(call, &segments, name).await
    }

    /// All brokers are looked through: the filter by name takes semicolons apart and knows no way to write them.
    async fn broker_named(&self, call: &Call, name: &str) -> Result<Option<CfBroker>> {
        let found: Vec<Resource<_, Broker>> = self.list(call, &["service_brokers"], &[]).await?;
        let broker = found.into_iter().find(|broker| broker.entity.name == name);
        Ok(broker.map(|broker| CfBroker {
            guid: broker.metadata.guid,
            name: broker.entity.name,
            url: broker.entity.broker_url,
        }))
    }

    async fn count_instances(&self, call: &Call, plans: &[PlanGuid]) -> Result<u64> {
        let mut total = 0;
        for plan in plans {
            let url = self.address(&of_plan(plan), &[("results-per-page", "1")]);
            let page: Page<IgnoredAny> = self.0.read_at(call, url).await?;
            total += page.total_results;
        }
        Ok(total)
    }

    /// One for each plan at least.
    fn instance_lists(&self, query: &InstanceQuery) -> Vec<InstanceList> {
        let spaces = conditions("space_guid", query.spaces.iter().map(SpaceGuid::as_str));
        let organizations = query.organizations.iter().map(OrganizationGuid::as_str);
        let organizations = conditions("organization_guid", organizations);
        let plans = query.plans.iter().flat_map(|plan| {
            product([&[None], &spaces, &organizations]).map(|filters| InstanceList {
                segments: of_plan(plan).map(str::to_owned).to_vec(),
                filters,
            })
        });
        plans.collect()
    }

    async fn instance_page(
        &self,
        call: &Call,
        list: &InstanceList,
        number: usize,
    ) -> Result<InstancePage> {
        let url = list.address(self, [("order-direction", "desc"), LARGEST_PAGE], number);
        let page: Page<Instance> = self.0.read_at(call, url).await?;
        let found = page.resources.into_iter().map(Found::from);
        Ok(InstancePage {
            total: page.total_results,
            pages: page.total_pages,
            instances: found.map(|found| found.instance).collect(),
        })
    }

    /// One request for each space and organization that is not known yet.
    async fn name_locations(
        &self,
        call: &Call,
        known: &mut Locations,
        instances: &mut [CfInstance],
    ) -> Result<()> {
        let spaces = instances.iter().map(|instance| instance.space.clone());
        let spaces = self.look_up(call, "spaces", spaces, &known.spaces).await?;
        known.spaces.extend(spaces);
        let organizations = instances.iter().filter_map(|instance| {
            let space = known.spaces.get(&instance.space)?.as_ref()?;
            Some(space.organization_guid.clone())
        });
        let organizations: Vec<_> = organizations.collect();
        let organizations = organizations.into_iter();
        let found: Vec<(_, Option<Named>)> = self
            .look_up(call, "organizations", organizations, &known.organizations)
            .await?;
        let named = |(guid, found): (_, Option<Named>)| (guid, found.map(|found| found.name));
        known.organizations.extend(found.into_iter().map(named));
        for instance in instances {
            known.write_into(instance);
        }
        Ok(())
    }

    async fn instance(
        &self,
        call: &Call,
        guid: &InstanceGuid,
        names: LocationNames,
    ) -> Result<Option<CfInstance>> {
        let mut found = match self.found(call, guid).await {
            Ok(found) => [found.instance],
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
    ) -> Result<Vec<InstanceGuid>> {
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

    async fn last_operation(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<CfLastOperation> {
        let found: Status = self.read(call, &one(instance)).await?;
        Ok(found.into())
    }

    async fn versioned_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<CfVersionedInstance> {
        Ok(self.found(call, instance).await?.into())
    }

    async fn knows_maintenance_info(&self, call: &Call) -> Result<bool> {
        #[derive(Deserialize)]
        struct Info {
            osbapi_version: Option<String>,
        }
        let url = self.address(&["info"], &[]);
        let info: Info = self.0.read_anonymously(call, url).await?;
        Ok(is_enough(&info.osbapi_version.unwrap_or_default()))
    }

    /// The answer has the instance with its last operation, which is already over where the broker had nothing to do.
    async fn upgrade_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        version: &str,
    ) -> Result<Upgrading> {
        #[derive(Deserialize)]
        struct Upgraded {
            last_operation: Option<WireOperation>,
        }
        let url = self.address(&one(instance), ASYNCHRONOUSLY);
        let body = json!({ "maintenance_info": { "version": version } });
        let request = Request::new(Method::PUT, url, Repeat::WhileUnsent).json(&body);
        let upgraded: Single<Upgraded> = self.0.send(call, request).await?.json()?;
        let reported = upgraded.entity.last_operation.unwrap_or_default();
        Ok(match &reported.state {
            Some(CfOperationState::InProgress) => Upgrading::Begun,
            Some(CfOperationState::Succeeded) => Upgrading::UpToDate,
            Some(CfOperationState::Failed) => Upgrading::Failed {
                description: reported.description(),
            },
            Some(CfOperationState::Unknown(state)) => Upgrading::Unknown { state: cut(state) },
            Some(CfOperationState::Initial) => Upgrading::Unknown {
                state: "initial".to_owned(),
            },
            None => Upgrading::Unknown {
                state: String::new(),
            },
        })
    }

    async fn delete_instance(&self, call: &Call, instance: &InstanceGuid) -> Result<Deletion> {
        self.delete(call, &one(instance), ASYNCHRONOUSLY).await
    }

    async fn bindings(&self, call: &Call, instance: &InstanceGuid) -> Result<Vec<CfBinding>> {
        let [kind, guid] = one(instance);
        let apps: Vec<Resource<_, AppBinding>> = self
            .list(call, &[kind, guid, "service_bindings"], &[])
            .await?;
        let apps = apps.into_iter().map(|binding| CfBinding {
            guid: binding.metadata.guid,
            kind: CfBindingKind::App(binding.entity.app_guid),
            last_operation: binding.entity.last_operation.and_then(WireOperation::known),
        });
        let mut bindings: Vec<_> = apps.collect();
        for (consumers, consumer) in [
            ("service_keys", CfBindingKind::Key),
            ("routes", CfBindingKind::Route),
        ] {
            let found: Vec<Resource<BindingGuid, IgnoredAny>> =
                self.list(call, &[kind, guid, consumers], &[]).await?;
            bindings.extend(found.into_iter().map(|found| CfBinding {
                guid: found.metadata.guid,
                kind: consumer.clone(),
                last_operation: None,
            }));
        }
        Ok(bindings)
    }

    async fn delete_binding(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        binding: &CfBinding,
    ) -> Result<Deletion> {
        let (guid, [kind, instance]) = (binding.guid.as_str(), one(instance));
        let segments = match &binding.kind {
            CfBindingKind::App(app) => vec!["apps", app.as_str(), "service_bindings", guid],
            CfBindingKind::Key => vec!["service_keys", guid],
            CfBindingKind::Route => vec![kind, instance, "routes", guid],
        };
        self.delete(call, &segments, &[]).await
    }
}

impl V2 {
    async fn read<T: DeserializeOwned>(&self, call: &Call, segments: &[&str]) -> Result<T> {
        let found: Single<T> = self.0.read_at(call, self.address(segments, &[])).await?;
        Ok(found.entity)
    }

    async fn found(&self, call: &Call, guid: &InstanceGuid) -> Result<Found> {
        let url = self.address(&one(guid), &[]);
        let found: Instance = self.0.read_at(call, url).await?;
        Ok(found.into())
    }

    async fn services(&self, call: &Call) -> Result<Vec<Resource<OfferingGuid, Service>>> {
        self.list(call, &["services"], &[]).await
    }

    async fn plans_of_service(
        &self,
        call: &Call,
        service: &OfferingGuid,
    ) -> Result<Vec<Resource<PlanGuid, Plan>>> {
        let segments = ["services", service.as_str(), "service_plans"];
        self.list(call, &segments, &[]).await
    }

    async fn is_public(&self, call: &Call, plan: &PlanGuid) -> Result<bool> {
        #[derive(Deserialize)]
        struct Publicity {
            public: bool,
        }
        let plan: Publicity = self.read(call, &["service_plans", plan.as_str()]).await?;
        Ok(plan.public)
    }

    async fn visibilities(
        &self,
        call: &Call,
        plan: &PlanGuid,
    ) -> Result<Vec<Resource<String, Visibility>>> {
        let condition = format!("service_plan_guid:{plan}");
        self.list(call, &[VISIBILITIES], &[("q", &condition)]).await
    }

    /// Each organization has one at most, so that a second one is refused and adding is safe to repeat.
    async fn add_visibility(
        &self,
        call: &Call,
        plan: &PlanGuid,
        organization: &OrganizationGuid,
    ) -> Result<()> {
        let body = json!({ "service_plan_guid": plan, "organization_guid": organization });
        let url = self.address(&[VISIBILITIES], &[]);
        let request = Request::new(Method::POST, url, Repeat::WhenTransient).json(&body);
        match self.0.send(call, request).await {
            Err(error) if error.code() == Some(VISIBLE_ALREADY) => Ok(()),
            other => other.map(drop),
        }
    }

    /// A name with a semicolon ends the condition there, so that it lets others through.
    async fn named<Guid: DeserializeOwned>(
        &self,
        call: &Call,
        segments: &[&str],
        name: &str,
    ) -> Result<Option<Guid>> {
        let condition = format!("name:{name}");
        let found: Vec<Resource<Guid, Named>> =
            self.list(call, segments, &[("q", &condition)]).await?;
        let found = found.into_iter().find(|found| found.entity.name == name);
        Ok(found.map(|found| found.metadata.guid))
    }

    /// Those of the wanted ones that are not known yet.
    async fn look_up<Guid, Known, Found>(
        &self,
        call: &Call,
        kind: &str,
        wanted: impl Iterator<Item = Guid>,
        known: &HashMap<Guid, Option<Known>>,
    ) -> Result<Vec<(Guid, Option<Found>)>>
    where
        Guid: fmt::Display + Ord + Hash + Send,
        Found: DeserializeOwned + Send,
    {
        let unknown: BTreeSet<_> = wanted.filter(|guid| !known.contains_key(guid)).collect();
        let ask = |guid: Guid| async move {
            match self.read(call, &[kind, &guid.to_string()]).await {
                Ok(found) => Ok((guid, Some(found))),
                Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => Ok((guid, None)),
                Err(error) => Err(error),
            }
        };
        stream::iter(unknown.into_iter().map(ask))
            .buffer_unordered(LOCATIONS_AT_ONCE)
            .try_collect()
            .await
    }

    /// Sent once: the Cloud Controller calls the broker during the request.
    async fn delete(
        &self,
        call: &Call,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Deletion> {
        let url = self.address(segments, query);
        let request = Request::new(Method::DELETE, url, Repeat::WhileUnsent);
        let written = self.0.send(call, request).await?;
        Ok(if written.status() == StatusCode::ACCEPTED {
            Deletion::UnderWay
        } else {
            Deletion::Done
        })
    }

    /// All entries of a list that pass the filters (section 4.1).
    async fn list<T: DeserializeOwned>(
        &self,
        call: &Call,
        segments: &[&str],
        filters: &[(&str, &str)],
    ) -> Result<Vec<T>> {
        let first = self.address(segments, &[filters, &[LARGEST_PAGE]].concat());
        let path = first.path().to_owned();
        let mut next = Some(first);
        let mut entries = Vec::new();
        for _ in 0..MOST_PAGES {
            let Some(url) = next else { return Ok(entries) };
            let page: Page<T> = self.0.read_at(call, url).await?;
            entries.extend(page.resources);
            next = page.next_url.and_then(|link| self.0.page(&link));
        }
        Err(self.0.failure(path, FailureKind::EndlessList))
    }
}

fn one(instance: &InstanceGuid) -> [&str; 2] {
    ["service_instances", instance.as_str()]
}

fn of_plan(plan: &PlanGuid) -> [&str; 3] {
    ["service_plans", plan.as_str(), "service_instances"]
}

/// The condition that a field has one of some ids, in as many parts as it takes; a single absent one where there are no
/// ids.
fn conditions<'a>(field: &str, ids: impl Iterator<Item = &'a str>) -> Vec<Option<Filter>> {
    let ids: Vec<&str> = ids.collect();
    if ids.is_empty() {
        return vec![None];
    }
    let condition = |ids: &[&str]| match ids {
        [id] => format!("{field}:{id}"),
        _ => format!("{field} IN {}", ids.join(",")),
    };
    let parts = ids.chunks(IDS_PER_FILTER);
    parts.map(|ids| Some(("q", condition(ids)))).collect()
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
