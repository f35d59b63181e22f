//! Version 3 (`spec/contracts/platform-apis.md`, section 3).

mod wire;

use std::collections::BTreeMap;

use async_trait::async_trait;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::ExposeSecret;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use url::Url;

use super::{
    Accepted, BrokerGuid, BrokerRegistration, CfBinding, CfBindingKind, CfBroker, CfInstance,
    CfLastOperation, CfPlan, CfVersionedInstance, Deletion, InstanceGuid, InstanceQuery,
    LocationNames, OfferedPlan, OfferingGuid, OrganizationGuid, PlanGuid, PlanVisibility,
    SpaceGuid, Upgrading, WantedVisibility,
    api::{Api, IDS_PER_FILTER, MOST_PAGES},
    jobs::accepted,
    listing::{Filter, InstanceList, InstancePage, Locations, product},
    resources::{PlanVersion, Status},
};
use crate::{
    connection::Connection,
    http::{Call, Method, Repeat, Request, StatusCode},
    service_error::{FailureKind, Result},
};
use wire::{
    Binding, Included, Instance, Named, Offering, One, Page, Plan, Related, Visibility, WithGuid,
};

const OFFERINGS: &[&str] = &["service_offerings"];
const PLANS: &[&str] = &["service_plans"];
const INSTANCES: &[&str] = &["service_instances"];
const CREDENTIAL_BINDINGS: &str = "service_credential_bindings";
const ROUTE_BINDINGS: &str = "service_route_bindings";
/// `CF-ResourceNotFound`. Any other 404 says nothing of the instance.
const NO_SUCH_RESOURCE: u64 = 10_010;

/// The query that includes the names of spaces and organizations.
const NAMES: [(&str, &str); 2] = [
    ("fields[space]", "guid,name,relationships.organization"),
    ("fields[space.organization]", "guid,name"),
];

const UNRESERVED: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

pub(super) struct V3(pub(super) Connection);

#[async_trait]
impl Api for V3 {
    fn connection(&self) -> &Connection {
        &self.0
    }

    fn address(&self, segments: &[&str], query: &[(&str, &str)]) -> Url {
        self.0.address(&[&["v3"], segments].concat(), query)
    }

    fn update(&self) -> Method {
        Method::PATCH
    }

    fn registration(&self, broker: &BrokerRegistration) -> Value {
        let (username, password) = (&broker.username, broker.password.expose_secret());
        json!({
            "name": broker.name,
            "url": broker.url,
            "authentication": {
                "type": "basic",
                "credentials": { "username": username, "password": password },
            },
        })
    }

    async fn plans_of_offering(&self, call: &Call, catalog_id: &str) -> Result<Vec<CfPlan>> {
        let ids = values([catalog_id]);
        let filter = ("broker_catalog_ids", ids.as_str());
        let offerings: Vec<WithGuid<String>> = self.list(call, OFFERINGS, &[filter]).await?;
        let mut plans = Vec::new();
        for offerings in offerings.chunks(IDS_PER_FILTER) {
            let guids = values(offerings.iter().map(|offering| offering.guid.as_str()));
            let filter = ("service_offering_guids", guids.as_str());
            let found: Vec<Plan> = self.list(call, PLANS, &[filter]).await?;
            plans.extend(found.into_iter().map(|plan| CfPlan {
                guid: plan.guid,
                offering: plan.relationships.service_offering.data.guid,
                name: plan.name,
                unique_id: plan.broker_catalog.id,
            }));
        }
        Ok(plans)
    }

    async fn plans_of_broker(&self, call: &Call, broker: &BrokerGuid) -> Result<Vec<OfferedPlan>> {
        let guids = values([broker.as_str()]);
        let filter = ("service_broker_guids", guids.as_str());
        let offerings: Vec<Offering> = self.list(call, OFFERINGS, &[filter]).await?;
        let catalog_ids: BTreeMap<OfferingGuid, String> = offerings
            .into_iter()
            .map(|offering| (offering.guid, offering.broker_catalog.id))
            .collect();
        if catalog_ids.is_empty() {
            return Ok(Vec::new());
        }
        let plans: Vec<Plan> = self.list(call, PLANS, &[filter]).await?;
        // An offering that appears between the two requests is left to the next one.
        let offered = plans.into_iter().filter_map(|plan| {
            let offering = catalog_ids.get(&plan.relationships.service_offering.data.guid)?;
            Some(OfferedPlan {
                guid: plan.guid,
                offering: offering.clone(),
                name: plan.name,
                unique_id: plan.broker_catalog.id,
                is_active: plan.available.unwrap_or(true),
                maintenance_version: plan.maintenance_info.and_then(|info| info.version),
            })
        });
        Ok(offered.collect())
    }

    async fn version_of_plan(&self, call: &Call, plan: &PlanGuid) -> Result<Option<String>> {
        let segments = ["service_plans", plan.as_str()];
        let found: PlanVersion = self.read(call, &segments, &[]).await?;
        Ok(found.maintenance_info.and_then(|info| info.version))
    }

    async fn plan_visibility(&self, call: &Call, plan: &PlanGuid) -> Result<PlanVisibility> {
        let found: Visibility = self.read(call, &visibility_of(plan), &[]).await?;
        Ok(match found.kind.as_str() {
            "public" => PlanVisibility::Public,
            "admin" => PlanVisibility::Admin,
            "organization" => {
                let organizations = found.organizations.into_iter();
                let named = organizations.map(|found| (found.guid, found.name));
                PlanVisibility::Organizations(named.collect())
            }
            "space" => PlanVisibility::Space,
            _ => PlanVisibility::Unknown(found.kind),
        })
    }

    async fn set_plan_visibility(
        &self,
        call: &Call,
        plan: &PlanGuid,
        wanted: &WantedVisibility,
    ) -> Result<()> {
        let body = match wanted {
            WantedVisibility::Public => json!({ "type": "public" }),
            WantedVisibility::Admin => json!({ "type": "admin" }),
            WantedVisibility::Organizations(guids) => {
                let guids: Vec<_> = guids.iter().map(|guid| json!({ "guid": guid })).collect();
                json!({ "type": "organization", "organizations": guids })
            }
        };
        let url = self.address(&visibility_of(plan), &[]);
        let request = Request::new(Method::PATCH, url, Repeat::WhenTransient).json(&body);
        self.0.send(call, request).await.map(drop)
    }

    async fn organization_named(
        &self,
        call: &Call,
        name: &str,
    ) -> Result<Option<OrganizationGuid>> {
        let names = values([name]);
        let filter = ("names", names.as_str());
        self.first(call, "organizations", &[filter]).await
    }

    async fn organization_name(&self, call: &Call, guid: &OrganizationGuid) -> Result<String> {
        let segments = ["organizations", guid.as_str()];
        let found: Named = self.read(call, &segments, &[]).await?;
        Ok(found.name)
    }

    async fn space_named(
        &self,
        call: &Call,
        organization: &OrganizationGuid,
        name: &str,
    ) -> Result<Option<SpaceGuid>> {
        let (names, organizations) = (values([name]), values([organization.as_str()]));
        let filters = [
            ("names", names.as_str()),
            ("organization_guids", organizations.as_str()),
        ];
        self.first(call, "spaces", &filters).await
    }

    async fn broker_named(&self, call: &Call, name: &str) -> Result<Option<CfBroker>> {
        let names = values([name]);
        let filter = ("names", names.as_str());
        let found: Vec<CfBroker> = self.list(call, &["service_brokers"], &[filter]).await?;
        Ok(found.into_iter().find(|broker| broker.name == name))
    }

    async fn count_instances(&self, call: &Call, plans: &[PlanGuid]) -> Result<u64> {
        let mut total = 0;
        for plans in plans.chunks(IDS_PER_FILTER) {
            let guids = values(plans.iter().map(PlanGuid::as_str));
            let query = [("service_plan_guids", guids.as_str()), ("per_page", "1")];
            let url = self.address(INSTANCES, &query);
            let page: Page<IgnoredAny> = self.0.read_at(call, url).await?;
            total += page.pagination.total_results;
        }
        Ok(total)
    }

    fn instance_lists(&self, query: &InstanceQuery) -> Vec<InstanceList> {
        let plans = filters(
            "service_plan_guids",
            query.plans.iter().map(PlanGuid::as_str),
        );
        let spaces = filters("space_guids", query.spaces.iter().map(SpaceGuid::as_str));
        let organizations = query.organizations.iter().map(OrganizationGuid::as_str);
        let organizations = filters("organization_guids", organizations);
        let names = match query.names {
            LocationNames::Reported => &NAMES[..],
            LocationNames::Left => &[],
        };
        let names = names
            .iter()
            .map(|(name, fields)| (*name, (*fields).to_owned()));
        let names: Vec<Filter> = names.collect();
        product([&plans, &spaces, &organizations])
            .map(|filters| InstanceList {
                segments: vec!["service_instances".to_owned()],
                filters: [filters, names.clone()].concat(),
            })
            .collect()
    }

    async fn instance_page(
        &self,
        call: &Call,
        list: &InstanceList,
        number: usize,
    ) -> Result<InstancePage> {
        // Of the 5,000 instances that the Cloud Controller would give: some hundred kilobytes.
        let paging = [("order_by", "-created_at"), ("per_page", "500")];
        let url = list.address(self, paging, number);
        let page: Page<Instance, Included> = self.0.read_at(call, url).await?;
        let locations = Locations::from(page.included);
        // Those of users, which have no plan, do not pass a filter by plans.
        let found = page.resources.into_iter();
        let found = found.filter_map(|instance| instance.managed(&locations));
        Ok(InstancePage {
            total: page.pagination.total_results,
            pages: page.pagination.total_pages,
            instances: found.map(|found| found.instance).collect(),
        })
    }

    async fn instance(
        &self,
        call: &Call,
        guid: &InstanceGuid,
        names: LocationNames,
    ) -> Result<Option<CfInstance>> {
        let query = match names {
            LocationNames::Reported => &NAMES[..],
            LocationNames::Left => &[],
        };
        match self.read::<One>(call, &one(guid), query).await {
            Ok(found) => {
                let found = found.instance.managed(&found.included.into());
                Ok(found.map(|found| found.instance))
            }
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
    ) -> Result<Vec<InstanceGuid>> {
        let mut known = Vec::new();
        for ids in ids.chunks(IDS_PER_FILTER) {
            let guids = values(ids.iter().map(InstanceGuid::as_str));
            let filter = ("guids", guids.as_str());
            let found: Vec<WithGuid<_>> = self.list(call, INSTANCES, &[filter]).await?;
            known.extend(found.into_iter().map(|found| found.guid));
        }
        Ok(known)
    }

    async fn last_operation(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<CfLastOperation> {
        let found: Status = self.read(call, &one(instance), &[]).await?;
        Ok(found.into())
    }

    async fn versioned_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<CfVersionedInstance> {
        let answer = self
            .0
            .send(call, Request::get(self.address(&one(instance), &[])));
        let answer = answer.await?;
        let found: Instance = answer.json()?;
        match found.managed(&Locations::default()) {
            Some(found) => Ok(found.into()),
            None => Err(answer.lacks("plan")),
        }
    }

    /// Every supported version 3 does: it came with 3.86.
    async fn knows_maintenance_info(&self, _: &Call) -> Result<bool> {
        Ok(true)
    }

    /// Returns a job if the Cloud Controller must call the broker; otherwise the change is already complete. The job
    /// ends with the last operation of the instance, which contains more detail.
    async fn upgrade_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        version: &str,
    ) -> Result<Upgrading> {
        let url = self.address(&one(instance), &[]);
        let body = json!({ "maintenance_info": { "version": version } });
        let request = Request::new(Method::PATCH, url, Repeat::WhileUnsent).json(&body);
        let written = self.0.send(call, request).await?;
        Ok(if written.status() == StatusCode::ACCEPTED {
            Upgrading::Begun
        } else {
            Upgrading::UpToDate
        })
    }

    async fn delete_instance(&self, call: &Call, instance: &InstanceGuid) -> Result<Deletion> {
        self.delete(call, &one(instance)).await
    }

    async fn bindings(&self, call: &Call, instance: &InstanceGuid) -> Result<Vec<CfBinding>> {
        let guids = values([instance.as_str()]);
        let filter = ("service_instance_guids", guids.as_str());
        let credentials: Vec<Binding> = self.list(call, &[CREDENTIAL_BINDINGS], &[filter]).await?;
        let routes: Vec<Binding> = self.list(call, &[ROUTE_BINDINGS], &[filter]).await?;
        let (apps, keys): (Vec<_>, Vec<_>) = credentials
            .into_iter()
            .partition(|binding| binding.relationships.app.is_some());
        let credentials = apps.into_iter().chain(keys).map(|mut binding| {
            let app = binding.relationships.app.take();
            binding.of(app.map_or(CfBindingKind::Key, |app| CfBindingKind::App(app.data.guid)))
        });
        let routes = routes
            .into_iter()
            .map(|route| route.of(CfBindingKind::Route));
        Ok(credentials.chain(routes).collect())
    }

    async fn delete_binding(
        &self,
        call: &Call,
        _: &InstanceGuid,
        binding: &CfBinding,
    ) -> Result<Deletion> {
        let kind = match binding.kind {
            CfBindingKind::App(_) | CfBindingKind::Key => CREDENTIAL_BINDINGS,
            CfBindingKind::Route => ROUTE_BINDINGS,
        };
        self.delete(call, &[kind, binding.guid.as_str()]).await
    }
}

impl V3 {
    pub(super) async fn shared_spaces(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Vec<SpaceGuid>> {
        let found: Related<Vec<WithGuid<SpaceGuid>>> =
            self.read(call, &shares(instance), &[]).await?;
        Ok(found.data.into_iter().map(|space| space.guid).collect())
    }

    pub(super) async fn unshare(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        space: &SpaceGuid,
    ) -> Result<()> {
        let url = self.address(&[&shares(instance)[..], &[space.as_str()]].concat(), &[]);
        let request = Request::new(Method::DELETE, url, Repeat::WhenTransient);
        self.0.send(call, request).await.map(drop)
    }

    async fn read<T: DeserializeOwned>(
        &self,
        call: &Call,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T> {
        self.0.read_at(call, self.address(segments, query)).await
    }

    /// Names are unique within the searched scope.
    async fn first<Guid: DeserializeOwned>(
        &self,
        call: &Call,
        kind: &str,
        filters: &[(&str, &str)],
    ) -> Result<Option<Guid>> {
        let found: Vec<WithGuid<Guid>> = self.list(call, &[kind], filters).await?;
        Ok(found.into_iter().next().map(|location| location.guid))
    }

    /// Sent once: a retry would conflict with the operation that the first request started.
    async fn delete(&self, call: &Call, segments: &[&str]) -> Result<Deletion> {
        let url = self.address(segments, &[]);
        let request = Request::new(Method::DELETE, url, Repeat::WhileUnsent);
        let written = self.0.send(call, request).await?;
        Ok(match accepted(&self.0, &written)? {
            Accepted::Done { .. } => Deletion::Done,
            Accepted::Job(job) => Deletion::Job(job),
        })
    }

    /// All entries of a list, in the largest pages that the Cloud Controller gives (section 3.3).
    async fn list<T: DeserializeOwned>(
        &self,
        call: &Call,
        segments: &[&str],
        filters: &[(&str, &str)],
    ) -> Result<Vec<T>> {
        let first = self.address(segments, &[filters, &[("per_page", "5000")]].concat());
        let path = first.path().to_owned();
        let mut next = Some(first);
        let mut entries = Vec::new();
        for _ in 0..MOST_PAGES {
            let Some(url) = next else { return Ok(entries) };
            let page: Page<T> = self.0.read_at(call, url).await?;
            entries.extend(page.resources);
            let link = page.pagination.next;
            next = link.and_then(|link| self.0.page(&link.href));
        }
        Err(self.0.failure(path, FailureKind::EndlessList))
    }
}

fn one(instance: &InstanceGuid) -> [&str; 2] {
    ["service_instances", instance.as_str()]
}

fn shares(instance: &InstanceGuid) -> [&str; 4] {
    let [kind, guid] = one(instance);
    [kind, guid, "relationships", "shared_spaces"]
}

fn visibility_of(plan: &PlanGuid) -> [&str; 3] {
    ["service_plans", plan.as_str(), "visibility"]
}

/// A filter's value. The Cloud Controller takes the commas apart and decodes each value once more.
fn values<'a>(values: impl IntoIterator<Item = &'a str>) -> String {
    let values = values.into_iter();
    let encoded: Vec<_> = values
        .map(|value| utf8_percent_encode(value, &UNRESERVED).to_string())
        .collect();
    encoded.join(",")
}

/// The filter by some ids, in as many parts as it takes; a single absent one where there are no ids.
fn filters<'a>(name: &'static str, ids: impl Iterator<Item = &'a str>) -> Vec<Option<Filter>> {
    let ids: Vec<&str> = ids.collect();
    if ids.is_empty() {
        return vec![None];
    }
    let parts = ids.chunks(IDS_PER_FILTER);
    parts
        .map(|ids| Some((name, values(ids.iter().copied()))))
        .collect()
}
