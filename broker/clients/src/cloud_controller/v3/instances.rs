//! `/v3/service_instances` (`spec/contracts/platform-apis.md`, section 3.8).

use std::collections::HashMap;

use serde::Deserialize;

use super::pages::{IDS_PER_FILTER, Paged, ToOne, count, list, values};
use crate::{
    cloud_controller::{
        CfInstance, InstanceGuid, InstanceQuery, OrganizationGuid, PlaceNames, PlanGuid, SpaceGuid,
        instances::WireOperation, listing::InstancePage,
    },
    connection::Connection,
    http::{Call, StatusCode},
    service_error::ServiceError,
};

const INSTANCES: &[&str] = &["v3", "service_instances"];
/// Of the 5,000 that the Cloud Controller would give: some hundred kilobytes.
const PER_PAGE: &str = "500";
/// `CF-ResourceNotFound`. Any other 404 says nothing of the instance.
const NO_SUCH_RESOURCE: u64 = 10_010;

/// What names come with.
const NAMES: [(&str, &str); 2] = [
    ("fields[space]", "guid,name,relationships.organization"),
    ("fields[space.organization]", "guid,name"),
];

pub(in crate::cloud_controller) async fn count_instances(
    connection: &Connection,
    call: &Call,
    plans: &[PlanGuid],
) -> Result<u64, ServiceError> {
    let mut total = 0;
    for plans in plans.chunks(IDS_PER_FILTER) {
        let guids = values(plans.iter().map(PlanGuid::as_str));
        let filter = ("service_plan_guids", guids.as_str());
        total += count(connection, call, INSTANCES, filter).await?;
    }
    Ok(total)
}

/// A list that the Cloud Controller has pages of.
pub(in crate::cloud_controller) struct InstanceList {
    filters: Vec<(&'static str, String)>,
}

/// The lists that a query takes: one, unless it names more ids than one address has place for.
pub(in crate::cloud_controller) fn instance_lists(
    query: &InstanceQuery,
) -> impl Iterator<Item = InstanceList> {
    let plans = filters(
        "service_plan_guids",
        query.plans.iter().map(PlanGuid::as_str),
    );
    let spaces = filters("space_guids", query.spaces.iter().map(SpaceGuid::as_str));
    let organizations = filters(
        "organization_guids",
        query.organizations.iter().map(OrganizationGuid::as_str),
    );
    let mut lists = Vec::new();
    for plans in &plans {
        for spaces in &spaces {
            for organizations in &organizations {
                let filters = [plans, spaces, organizations].into_iter().flatten();
                let names = NAMES.map(|(name, fields)| (name, fields.to_owned()));
                let names = names
                    .into_iter()
                    .filter(|_| query.names == PlaceNames::Told);
                lists.push(InstanceList {
                    filters: filters.cloned().chain(names).collect(),
                });
            }
        }
    }
    lists.into_iter()
}

/// The filter by some ids, in as many parts as it takes; a single absent one where there are no ids.
fn filters<'a>(
    name: &'static str,
    ids: impl Iterator<Item = &'a str>,
) -> Vec<Option<(&'static str, String)>> {
    let ids: Vec<&str> = ids.collect();
    if ids.is_empty() {
        return vec![None];
    }
    ids.chunks(IDS_PER_FILTER)
        .map(|ids| Some((name, values(ids.iter().copied()))))
        .collect()
}

impl InstanceList {
    pub(in crate::cloud_controller) const PATH: &str = "/v3/service_instances";

    /// A page of it, from 1. The newest instances are on the first.
    pub(in crate::cloud_controller) async fn page(
        &self,
        connection: &Connection,
        call: &Call,
        number: usize,
    ) -> Result<InstancePage, ServiceError> {
        let number = number.to_string();
        let filters = self
            .filters
            .iter()
            .map(|(name, value)| (*name, value.as_str()));
        let query: Vec<_> = filters
            .chain([
                ("order_by", "-created_at"),
                ("per_page", PER_PAGE),
                ("page", &number),
            ])
            .collect();
        let page: Paged<WireInstance, WireIncluded> = connection
            .read_at(call, connection.address(INSTANCES, &query))
            .await?;
        let places = Places::of(page.included);
        // Those of users, which have no plan, do not pass a filter by plans.
        let managed = page
            .resources
            .into_iter()
            .filter_map(|wire| wire.managed(&places));
        Ok(InstancePage {
            total: page.pagination.total_results,
            pages: page.pagination.total_pages,
            instances: managed.collect(),
        })
    }
}

pub(in crate::cloud_controller) async fn instance(
    connection: &Connection,
    call: &Call,
    guid: &InstanceGuid,
    names: PlaceNames,
) -> Result<Option<CfInstance>, ServiceError> {
    let query = match names {
        PlaceNames::Told => &NAMES[..],
        PlaceNames::Left => &[],
    };
    let segments = ["v3", "service_instances", guid.as_str()];
    let url = connection.address(&segments, query);
    match connection.read_at::<OneInstance>(call, url).await {
        Ok(found) => Ok(found.instance.managed(&Places::of(found.included))),
        Err(error)
            if error.status() == Some(StatusCode::NOT_FOUND)
                && error.code() == Some(NO_SUCH_RESOURCE) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[derive(Deserialize)]
struct OneInstance {
    #[serde(flatten)]
    instance: WireInstance,
    #[serde(default)]
    included: WireIncluded,
}

/// Those of the ids that are instances, of whatever plan, user-provided ones included.
pub(in crate::cloud_controller) async fn known_instances(
    connection: &Connection,
    call: &Call,
    ids: &[InstanceGuid],
) -> Result<Vec<InstanceGuid>, ServiceError> {
    let mut known = Vec::new();
    for ids in ids.chunks(IDS_PER_FILTER) {
        let guids = values(ids.iter().map(InstanceGuid::as_str));
        let filter = ("guids", guids.as_str());
        let found: Vec<WireGuid> = list(connection, call, INSTANCES, &[filter]).await?;
        known.extend(found.into_iter().map(|found| found.guid));
    }
    Ok(known)
}

#[derive(Deserialize)]
struct WireGuid {
    guid: InstanceGuid,
}

#[derive(Deserialize)]
struct WireInstance {
    guid: InstanceGuid,
    relationships: WireRelationships,
    #[serde(default)]
    last_operation: Option<WireOperation>,
}

#[derive(Deserialize)]
struct WireRelationships {
    space: ToOne<SpaceGuid>,
    /// Not of those that users provide.
    #[serde(default)]
    service_plan: Option<ToOne<PlanGuid>>,
}

/// What comes along, each space and organization once.
#[derive(Default, Deserialize)]
struct WireIncluded {
    #[serde(default)]
    spaces: Vec<WireSpace>,
    #[serde(default)]
    organizations: Vec<WireOrganization>,
}

#[derive(Deserialize)]
struct WireSpace {
    guid: SpaceGuid,
    name: String,
    relationships: WireSpaceRelationships,
}

#[derive(Deserialize)]
struct WireSpaceRelationships {
    organization: ToOne<OrganizationGuid>,
}

#[derive(Deserialize)]
struct WireOrganization {
    guid: OrganizationGuid,
    name: String,
}

struct Places {
    spaces: HashMap<SpaceGuid, (String, OrganizationGuid)>,
    organizations: HashMap<OrganizationGuid, String>,
}

impl Places {
    fn of(included: WireIncluded) -> Self {
        let spaces = included.spaces.into_iter().map(|space| {
            let organization = space.relationships.organization.data.guid;
            (space.guid, (space.name, organization))
        });
        let organizations = included.organizations.into_iter();
        Self {
            spaces: spaces.collect(),
            organizations: organizations.map(|of| (of.guid, of.name)).collect(),
        }
    }
}

impl WireInstance {
    fn managed(self, places: &Places) -> Option<CfInstance> {
        let plan = self.relationships.service_plan?.data.guid;
        let space = self.relationships.space.data.guid;
        let place = places.spaces.get(&space);
        let organization = place.map(|(_, organization)| organization);
        Some(CfInstance {
            guid: self.guid,
            plan,
            space_name: place.map(|(name, _)| name.clone()),
            organization: organization.cloned(),
            organization_name: organization.and_then(|of| places.organizations.get(of).cloned()),
            space,
            last_operation: self.last_operation.and_then(WireOperation::known),
        })
    }
}
